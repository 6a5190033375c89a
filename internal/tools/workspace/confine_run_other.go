//go:build !linux

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/massgen/massgen/internal/system/child"
)

// patience is how long a process that left the command's group may keep its output
// open after the command has ended.
const patience = time.Second

// Launcher does nothing here: no command is started through this program.
func Launcher() {}

// CanFence returns false: there are no fences here. reason says why.
func CanFence() (ok bool, reason string) {
	return false, "commands can be fenced in on Linux only, and this is " + runtime.GOOS
}

// launch runs a command, and kills its process group at the end: a process that left the group is
// not known here.
func launch(ctx context.Context, c process, out, errs io.Writer) (report, error) {
	if err := ctx.Err(); err != nil {
		return report{}, err
	}
	cmd := exec.Command(c.Path)
	cmd.Args, cmd.Dir, cmd.Env = c.Argv, c.Dir, c.Env
	cmd.Stdout, cmd.Stderr = out, errs
	if c.Stdin != "" {
		in, err := os.Open(c.Stdin)
		if err != nil {
			return report{}, fmt.Errorf("open the command's standard input: %w", err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	cmd.WaitDelay = patience
	group, err := child.Start(cmd)
	if err != nil {
		return report{}, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	defer context.AfterFunc(ctx, group.Kill)()
	err = group.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return report{}, fmt.Errorf("wait for %s: %w", c.Argv[0], err)
	}
	state := cmd.ProcessState
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return report{Exit: 128 + int(ws.Signal()), Signal: ws.Signal().String()}, nil
	}
	return report{Exit: state.ExitCode()}, nil
}
