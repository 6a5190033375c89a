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

// A launched process knows what it is by its first argument. It gets the command as
// JSON on the descriptor commandFD, and writes its reports to statusFD. Supervisors
// hold on to commandFD: its end is the end of the command.
const (
	superviseArg = "__massgen_supervise"
	becomeArg    = "__massgen_become"

	commandFD = 3
	statusFD  = 4

	// self is the program that is running, also after its file was replaced.
	self = "/proc/self/exe"
)

// patience is how long a supervisor is given to kill what its command started.
const patience = 15 * time.Second

// Launcher turns this process into a supervisor or a command, if it was started as
// one, and does not return then. It is the first thing that main does, before flags
// and files; TestMain too, where tests run commands.
func Launcher() {
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

// launched is what a launched process is sent.
type launched struct {
	process
	// OwnSpaces says that the process is in namespaces of its own: of processes, of
	// mounts, and of what System V has processes share.
	OwnSpaces bool `json:"own_spaces"`
	// OwnUsers says that it is in a namespace of users.
	OwnUsers bool `json:"own_users"`
}

func launch(ctx context.Context, c process, out io.Writer) (report, error) {
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
		cmd.Stdout, cmd.Stderr = out, out
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

// namespaces lists what to try, from the best on: a namespace needs either the rights
// of root or a namespace of users around it.
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

// lastReport returns what decides among reports: an error, else the last one.
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
