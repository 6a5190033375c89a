// Package child runs programs in process groups of their own, and ends the processes that they leave
// behind.
package child

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
)

// Group is a command that runs in a process group of its own. It is safe for concurrent
// use.
type Group struct {
	cmd   *exec.Cmd
	leash leash

	mu   sync.Mutex
	over bool // the command has ended, and its number may soon be another's
}

// Start starts a command.
func Start(cmd *exec.Cmd) (*Group, error) {
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l, err := leashTo(cmd.Process)
	if err != nil {
		err = errors.Join(fmt.Errorf("keep hold of %s: %w", cmd.Path, err), cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		return nil, err
	}
	return &Group{cmd: cmd, leash: l}, nil
}

// Wait waits until the command has ended, and kills the processes that it left in its group. Its result
// is that of exec.Cmd.Wait.
func (g *Group) Wait() error {
	err := reap(g.cmd, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.over = true
		g.leash.kill()
	})
	g.leash.release()
	return err
}

// Kill kills the group.
func (g *Group) Kill() { g.do(leash.kill) }

// Terminate asks the group to end.
func (g *Group) Terminate() { g.do(leash.terminate) }

func (g *Group) do(what func(leash)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		what(g.leash)
	}
}
