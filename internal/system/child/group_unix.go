//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
)

// OutlivesParent reports whether a child outlives its parent here.
const OutlivesParent = true

// Inherited returns a file that the parent passed on, which this process's children do not inherit.
func Inherited(fd uintptr, name string) *os.File {
	syscall.CloseOnExec(int(fd))
	return os.NewFile(fd, name)
}

func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// leash holds a process group by its number.
type leash struct{ pgid int }

func leashTo(p *os.Process) (leash, error) { return leash{p.Pid}, nil }

// terminate ignores errors: a group that cannot be signalled has no process left.
func (l leash) terminate() { _ = syscall.Kill(-l.pgid, syscall.SIGTERM) }

// kill ignores errors as terminate does.
func (l leash) kill() { _ = syscall.Kill(-l.pgid, syscall.SIGKILL) }

func (leash) release() {}
