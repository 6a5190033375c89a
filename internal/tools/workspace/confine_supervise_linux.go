package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/massgen/massgen/internal/system/child"
)

// supervise reads a command, runs it, kills its children and exits. It calls syscall.Exit, because
// os.Exit takes a second in a program with the race detector.
func supervise() {
	// The command's death signal is tied to the thread that started it.
	runtime.LockOSThread()
	status := child.Inherited(statusFD, "status")
	said, err := superviseCommand(child.Inherited(commandFD, "command"), status)
	if err != nil {
		said.Error = err.Error()
	}
	if err := json.NewEncoder(status).Encode(said); err != nil {
		syscall.Exit(1) // nobody is there to be told
	}
	syscall.Exit(0)
}

func superviseCommand(leash, status *os.File) (report, error) {
	var c launched
	if err := json.NewDecoder(leash).Decode(&c); err != nil {
		return report{}, fmt.Errorf("read the command: %w", err)
	}
	own := c.OwnSpaces
	kill := child.KeepKilling
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
	child.EndOrphans()
	return said, nil
}

// startBecoming starts the process that becomes the command.
func startBecoming(c launched, status *os.File) (pid int, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe to the command: %w", err)
	}
	defer out.Close()
	defer in.Close()
	input := os.Stdin
	if !c.HandsOn {
		if input, err = os.Open(os.DevNull); err != nil {
			return 0, fmt.Errorf("open the command's standard input: %w", err)
		}
		defer input.Close()
	}
	pid, err = syscall.ForkExec(self, []string{os.Args[0], becomeArg}, &syscall.ProcAttr{
		Env:   []string{},
		Files: []uintptr{input.Fd(), 1, 2, in.Fd(), status.Fd()},
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

// reap waits for children until the one with the number has ended, and returns its report.
func reap(number int) (report, error) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return report{}, fmt.Errorf("wait for the command: %w", err)
		case pid == number:
			return reportOf(ws), nil
		}
	}
}

func reportOf(ws syscall.WaitStatus) report {
	if ws.Signaled() {
		return report{Exit: 128 + int(ws.Signal()), Signal: unix.SignalName(ws.Signal())}
	}
	return report{Exit: ws.ExitStatus()}
}

// ownView makes everything except the writable trees read-only for this process, which has its own
// namespaces, and shows it only its own processes in /proc. It returns false where the system gives
// namespaces but no rights in them.
func ownView(writable []string) (bool, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return false, nil //nolint:nilerr // it is the way to find out
	}
	// A container that hides parts of its /proc does not let it be mounted again. The
	// old one stays then, with the numbers that processes have outside.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	for _, tree := range writable {
		if err := unix.Mount(tree, tree, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return false, fmt.Errorf("mount %s: %w", tree, err)
		}
	}
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, readOnly); err != nil {
		return false, fmt.Errorf("make the files read-only: %w", err)
	}
	again := &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	for _, tree := range writable {
		if err := unix.MountSetattr(unix.AT_FDCWD, tree, 0, again); err != nil {
			return false, fmt.Errorf("make %s writable: %w", tree, err)
		}
	}
	return true, nil
}
