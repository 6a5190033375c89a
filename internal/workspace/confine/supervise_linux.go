package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervise runs the command that it is sent, kills what is left of it, and exits. It
// does so by syscall.Exit: os.Exit takes a second in a program with the race detector.
func supervise() {
	// The command's death signal is tied to the thread that started it.
	runtime.LockOSThread()
	status := os.NewFile(statusFD, "status")
	said, err := superviseCommand(os.NewFile(commandFD, "command"), status)
	if err != nil {
		said.Error = err.Error()
	}
	if err := json.NewEncoder(status).Encode(said); err != nil {
		syscall.Exit(1) // nobody is there to be told
	}
	syscall.Exit(0)
}

func superviseCommand(leash, status *os.File) (report, error) {
	syscall.CloseOnExec(commandFD)
	syscall.CloseOnExec(statusFD)
	var c launched
	if err := json.NewDecoder(leash).Decode(&c); err != nil {
		return report{}, fmt.Errorf("read the command: %w", err)
	}
	own := c.OwnSpaces
	kill := sync.OnceFunc(func() { go killAll() })
	if own {
		kill = func() { syscall.Exit(0) } // the first process of a namespace takes all others with it
		var err error
		if c.OwnSpaces, err = ownView(c.Fence.Writes); err != nil {
			return report{}, err
		}
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report{}, fmt.Errorf("become the parent of orphans: %w", err)
	}
	pid, err := startBecoming(c, status)
	if err != nil {
		return report{}, err
	}
	go func() {
		// Whatever ends the reading, the caller has let go.
		_, _ = io.Copy(io.Discard, leash)
		kill()
	}()
	said, err := reap(pid)
	if own || err != nil {
		return said, err
	}
	kill()
	_, err = reap(everything)
	return said, err
}

// startBecoming starts the process that becomes the command.
func startBecoming(c launched, status *os.File) (pid int, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe to the command: %w", err)
	}
	defer out.Close()
	defer in.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("open the command's standard input: %w", err)
	}
	defer null.Close()
	pid, err = syscall.ForkExec(self, []string{os.Args[0], becomeArg}, &syscall.ProcAttr{
		Env:   []string{},
		Files: []uintptr{null.Fd(), 1, 2, in.Fd(), status.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("start the command's process: %w", err)
	}
	in.Close()
	if err := json.NewEncoder(out).Encode(c); err != nil {
		return pid, fmt.Errorf("send the command to its process: %w", err)
	}
	return pid, nil
}

// everything is no process's number: reap waits until no child is left.
const everything = 0

// reap waits for children until the one with the number has ended, and returns how.
func reap(number int) (report, error) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD) && number == everything:
			return report{}, nil
		case err != nil:
			return report{}, fmt.Errorf("wait for the command: %w", err)
		case pid == number:
			return ended(ws), nil
		}
	}
}

func ended(ws syscall.WaitStatus) report {
	if ws.Signaled() {
		return report{Exit: 128 + int(ws.Signal()), Signal: unix.SignalName(ws.Signal())}
	}
	return report{Exit: ws.ExitStatus()}
}

// killAll kills the descendants of this process, again and again: while it looks,
// there may come more.
func killAll() {
	for {
		for _, pid := range descendants(os.Getpid()) {
			// One that has ended meanwhile is what is wanted.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// descendants lists the processes below pid, as far as /proc shows them.
func descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil // the caller looks again
	}
	children := map[int][]int{}
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			parent := parentOf(child)
			children[parent] = append(children[parent], child)
		}
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// parentOf returns 0 for a process that is not there any more.
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
