package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of the processes that the command leaves behind, even in
// sessions of their own, and makes the command die with this thread.
func AdoptOrphans(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// reap waits for a command, and calls ended when it has ended and still has its number: before Wait, no
// other process or group can get that number.
func reap(cmd *exec.Cmd, ended func()) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break // cmd.Wait reports other errors
		}
	}
	ended()
	return cmd.Wait()
}

// EndOrphans kills the descendants of this process, and waits for its children, until there are none that
// it may kill. It does not wait for others, which may run for as long as they like.
func EndOrphans() {
	for killDescendants() {
		time.Sleep(betweenLooks)
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if errors.Is(err, unix.ECHILD) {
				return
			}
			if err == nil && pid == 0 {
				break
			}
		}
	}
}

// KeepKilling kills the descendants of this process until it ends itself: they may start further ones
// meanwhile.
func KeepKilling() {
	for {
		killDescendants()
		time.Sleep(betweenLooks)
	}
}

const betweenLooks = 2 * time.Millisecond

// killDescendants kills the descendants of this process that it finds. It reports whether a child ends,
// or may end, because of that.
func killDescendants() (ends bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true // the caller looks again
	}
	children := map[int][]int{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			parent := parentOf(pid)
			children[parent] = append(children[parent], pid)
		}
	}
	found := children[os.Getpid()]
	own := len(found)
	for i := 0; i < len(found); i++ {
		err := unix.Kill(found[i], unix.SIGKILL)
		// It may have ended by itself.
		ends = ends || i < own && (err == nil || errors.Is(err, unix.ESRCH))
		found = append(found, children[found[i]]...)
	}
	return ends
}

// parentOf returns the parent of a process, or 0 if the process has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name before the last parenthesis may have blanks and parentheses in it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
