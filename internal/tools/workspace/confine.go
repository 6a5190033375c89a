package confine

import (
	"context"
	"fmt"
	"time"
)

// Fence says what a command reaches. All paths are absolute and without symbolic
// links. Beside these a command reads the system's own trees (SystemTrees).
type Fence struct {
	// Writes are trees in which it may do anything but make devices.
	Writes []string `json:"writes"`
	// Reads are trees and files that it may read, and execute if Programs is nil.
	Reads []string `json:"reads"`
	// Programs are the only files that may be executed, by it or by what it starts (see
	// WithLoaders); nil means every file that it may read.
	Programs []string `json:"programs"`
}

// Command is a program to run. It reads nothing from standard input.
type Command struct {
	// Path is the program's file; Argv, with the program's name first, what it is told.
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// Env is its whole environment, as NAME=VALUE.
	Env []string `json:"env"`
	// Fence is nil for a command that may do what its user may.
	Fence *Fence `json:"fence"`
	// Timeout ends it; 0 means never.
	Timeout time.Duration `json:"-"`
	// MaxOutput is how many bytes of output are kept, from its beginning and its end.
	MaxOutput int `json:"-"`
}

// Result is what became of a command.
type Result struct {
	// Exit is its exit status, 128 and the signal's number if a signal ended it.
	Exit int
	// Signal names the signal that ended it, if one did and its time was not up.
	Signal   string
	TimedOut bool
	// Output is what it wrote to standard output and standard error, in the order of
	// writing. Omitted is how many bytes of its middle are missing, which it says.
	Output  []byte
	Omitted int64
}

// report is what a launched process says of its command on its status pipe.
type report struct {
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Error is why there was no command.
	Error string `json:"error,omitempty"`
}

// Run runs a command until it and all that it started have ended. It fails if the
// command cannot be started or fenced in, or when ctx is done, after the command was
// killed; a command's own failure is in the result. Run is safe for concurrent use.
func Run(ctx context.Context, c Command) (Result, error) {
	if c.Fence != nil {
		if ok, reason := Available(); !ok {
			return Result{}, fmt.Errorf("run %s: it cannot be fenced in: %s", c.Argv[0], reason)
		}
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	out := &clip{most: c.MaxOutput}
	said, err := run(limited, c, out)
	result := Result{Exit: said.Exit, Signal: said.Signal, Output: out.text(), Omitted: out.omitted()}
	switch {
	case ctx.Err() != nil:
		return result, fmt.Errorf("run %s: %w", c.Argv[0], ctx.Err())
	case limited.Err() != nil:
		result.TimedOut, result.Signal = true, ""
		return result, nil
	case err != nil:
		return result, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	return result, nil
}
