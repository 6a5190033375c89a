package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/massgen/massgen/internal/system/child"
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
	if len(args) < 2 || args[0] != guardWord || !child.OutlivesParent {
		return 0, false
	}
	// The system signals the command when the thread that started it dies.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lifeline := child.Inherited(lifelineFD, "lifeline")
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var group *child.Group
	err := child.AdoptOrphans(cmd)
	if err == nil {
		group, err = child.Start(cmd)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "massgen: error: %v\n", err)
		return statusCannotStart, true
	}
	// The other ends must see when the command closes its own.
	os.Stdin.Close()
	os.Stdout.Close()
	err = supervise(group, lifeline)
	child.EndOrphans()
	return exitStatus(err), true
}

func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return exit.ExitCode()
	}
	return statusUnknown
}

// supervise waits for a server, and ends it when the lifeline says so. It closes the lifeline when its
// other end is closed.
func supervise(group *child.Group, lifeline io.ReadCloser) error {
	go func() {
		defer lifeline.Close()
		word := make([]byte, 1)
		for {
			if _, err := lifeline.Read(word); err != nil {
				group.Kill()
				return
			}
			group.Terminate()
		}
	}()
	return group.Wait()
}
