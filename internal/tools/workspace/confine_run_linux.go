package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The first argument tells a launched process its part. It reads the command as JSON from the
// descriptor commandFD, and writes its reports to statusFD. A supervisor keeps commandFD open, and
// ends the command when the other end is closed.
const (
	superviseArg = "__massgen_supervise"
	becomeArg    = "__massgen_become"

	commandFD = 3
	statusFD  = 4

	// self is the running program, even if its file was replaced.
	self = "/proc/self/exe"
)

// patience is how long a supervisor may take to kill its command's children.
const patience = 15 * time.Second

// Launcher turns this process into a supervisor or a command, if it was started as one, and then
// does not return. It must be the first call in main, before flags and files, and in TestMain of
// tests that run commands.
func Launcher() {
	if len(os.Args) == 3 && os.Args[1] == fencedArg {
		runFenced(os.Args[2])
	}
	if len(os.Args) != 2 {
		return
	}
	switch os.Args[1] {
	case superviseArg:
		supervise()
	case becomeArg:
		become()
	}
}

var errNoReport = errors.New("the supervisor ended without a word")

// launched is the message to a launched process.
type launched struct {
	process
	// OwnSpaces reports whether the process has namespaces of its own: of processes, of mounts,
	// and of System V's shared memory, queues and locks.
	OwnSpaces bool `json:"own_spaces"`
	// OwnUsers reports whether it has its own namespace of users.
	OwnUsers bool `json:"own_users"`
}

func launch(ctx context.Context, c process, out, errs io.Writer) (report, error) {
	leashEnd, leash, err := os.Pipe()
	if err != nil {
		return report{}, fmt.Errorf("make a pipe to the supervisor: %w", err)
	}
	defer leash.Close()
	status, statusEnd, err := os.Pipe()
	if err != nil {
		leashEnd.Close()
		return report{}, fmt.Errorf("make a pipe from the supervisor: %w", err)
	}
	defer status.Close()

	var cmd *exec.Cmd
	var spaces uintptr
	for _, spaces = range namespaces(c) {
		cmd = exec.CommandContext(ctx, self, superviseArg)
		cmd.Stdout, cmd.Stderr = out, errs
		if c.HandsOn {
			cmd.Stdin = os.Stdin
		}
		cmd.Env = []string{} // the supervisor needs none, and its command gets its own
		cmd.ExtraFiles = []*os.File{leashEnd, statusEnd}
		cmd.Cancel, cmd.WaitDelay = leash.Close, patience
		cmd.SysProcAttr = processAttributes(spaces)
		if err = cmd.Start(); err == nil {
			break
		}
	}
	leashEnd.Close()
	statusEnd.Close()
	if err != nil {
		return report{}, fmt.Errorf("start the supervisor: %w", err)
	}
	sent := json.NewEncoder(leash).Encode(launched{c, spaces != 0, spaces&syscall.CLONE_NEWUSER != 0})
	said, err := lastReport(json.NewDecoder(status))
	waited := cmd.Wait()
	switch {
	case err == nil:
		// The report tells more than how the supervisor itself ended.
		return said, nil
	case errors.Is(err, errNoReport):
		return said, errors.Join(err, sent, waited)
	}
	return said, err
}

// namespaces lists sets of namespaces to try, the best first: a namespace needs either the rights of
// root or a namespace of users around it.
func namespaces(c process) []uintptr {
	const own, users, none = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC, syscall.CLONE_NEWUSER, 0
	switch {
	case c.Fence == nil:
		return []uintptr{none}
	case os.Geteuid() == 0:
		return []uintptr{own, own | users, none}
	}
	return []uintptr{own | users, none}
}

func processAttributes(spaces uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: spaces, Setpgid: true} // Ctrl-C is for this process
	if spaces != 0 {
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	}
	if spaces&syscall.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// lastReport returns the first report with an error, or else the last report.
func lastReport(d *json.Decoder) (report, error) {
	var last report
	found := false
	for d.More() {
		if err := d.Decode(&last); err != nil {
			return last, fmt.Errorf("read the supervisor's report: %w", err)
		}
		found = true
		if last.Error != "" {
			return last, errors.New(last.Error)
		}
	}
	if !found {
		return last, errNoReport
	}
	return last, nil
}
