package mcp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of what the command leaves behind, even
// in a session of its own, and has the command die with this thread.
func adoptOrphans(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// reap waits for a command, and calls ended when it has ended and still has its number:
// until it is waited for, no other process or group can get that.
func reap(cmd *exec.Cmd, ended func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break // what else is wrong cmd.Wait says
		}
	}
	ended()
	return cmd.Wait()
}

// killOrphans kills this process's children until it has none that it may kill. A
// kernel that does not list them leaves those that had left the group.
func killOrphans() {
	for {
		pids := children()
		if len(pids) == 0 {
			return
		}
		ends := false
		for _, pid := range pids {
			err := syscall.Kill(pid, syscall.SIGKILL)
			ends = ends || err == nil || errors.Is(err, syscall.ESRCH) // it may have ended by itself
		}
		if !ends {
			return // to wait for those would be to wait for as long as they like
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// children are the processes that any thread of this one is the parent of.
func children() []int {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
