package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// guardWord is the first argument of a program that is a guard.
const guardWord = "__mcp-guard"

// lifelineFD is where a guard finds the pipe that its parent holds.
const lifelineFD = 3

// pleaseEnd is what a parent writes to the lifeline to have the server asked to end.
// The end of the lifeline kills it.
const pleaseEnd = 't'

// The exit statuses of a guard whose server did not start, or whose status is
// unknown, as a shell has them.
const (
	statusCannotStart = 126
	statusUnknown     = 125
)

// Launcher returns the command that runs a server under a guard, for a program that
// calls RunGuard: the program itself and a word.
func Launcher() ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program's own file: %w", err)
	}
	return []string{program, guardWord}, nil
}

// RunGuard runs the command that args have, if they are a guard's, until it ends or
// the guard's parent does, and returns its exit status. A program calls it with its
// arguments before it does anything else, and exits with the status if the arguments
// were handled.
//
// The guard starts the command in a process group of its own, and kills the group
// when its parent is gone. On Linux it also kills what has left the group, and the
// command dies with the guard.
func RunGuard(args []string) (status int, handled bool) {
	if len(args) < 2 || args[0] != guardWord || !needsGuard {
		return 0, false
	}
	// The command is told of the death of the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lifeline := inheritLifeline()
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := adoptOrphans(cmd)
	if err != nil {
		fmt.Fprintln(os.Stderr, "massgen:", err)
		return statusCannotStart, true
	}
	group, err := startGroup(cmd)
	if err != nil {
		fmt.Fprintf(os.Stderr, "massgen: error: %v\n", err)
		return statusCannotStart, true
	}
	// The other ends shall see when the command closes its own.
	os.Stdin.Close()
	os.Stdout.Close()
	err = group.supervise(lifeline)
	killOrphans()
	return exitStatus(err), true
}

func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	return statusUnknown
}

// group is a command that runs in a process group of its own.
type group struct {
	cmd   *exec.Cmd
	leash leash

	mu   sync.Mutex
	over bool // the command has ended, and its number may soon be another's
}

// startGroup starts a command.
func startGroup(cmd *exec.Cmd) (*group, error) {
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l, err := leashTo(cmd.Process)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep hold of %s: %w", cmd.Path, err), killed(cmd))
	}
	return &group{cmd: cmd, leash: l}, nil
}

// killed ends a command that was started for nothing.
func killed(cmd *exec.Cmd) error {
	err := cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	var exit *exec.ExitError // which is how it is to end
	if waited := cmd.Wait(); waited != nil && !errors.As(waited, &exit) {
		err = errors.Join(err, waited)
	}
	if err != nil {
		return fmt.Errorf("end %s: %w", cmd.Path, err)
	}
	return nil
}

// wait waits until the command has ended, and kills what it left behind in its group.
func (g *group) wait() error {
	err := reap(g.cmd, g.finish)
	g.leash.release()
	return err
}

// finish kills the group, for the last time.
func (g *group) finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	g.leash.kill()
}

// supervise is wait for a command that has to do what the lifeline says. It closes
// the lifeline when that is closed at its other end.
func (g *group) supervise(lifeline io.ReadCloser) error {
	go g.obey(lifeline)
	return g.wait()
}

func (g *group) obey(lifeline io.ReadCloser) {
	defer lifeline.Close()
	word := make([]byte, 1)
	for {
		if _, err := lifeline.Read(word); err != nil {
			g.do(leash.kill)
			return
		}
		g.do(leash.terminate)
	}
}

func (g *group) do(what func(leash)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		what(g.leash)
	}
}
