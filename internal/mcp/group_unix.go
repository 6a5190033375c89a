//go:build unix

package mcp

import (
	"os"
	"os/exec"
	"syscall"
)

// needsGuard says that a child outlives its parent here.
const needsGuard = true

// inheritLifeline takes the lifeline that the parent passed on, and keeps it from
// the command.
func inheritLifeline() *os.File {
	syscall.CloseOnExec(lifelineFD)
	return os.NewFile(lifelineFD, "lifeline")
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

// A group that cannot be signalled has no process left.
func (l leash) terminate() { _ = syscall.Kill(-l.pgid, syscall.SIGTERM) }

// As with terminate, an error says that nobody is there.
func (l leash) kill() { _ = syscall.Kill(-l.pgid, syscall.SIGKILL) }

func (leash) release() {}
