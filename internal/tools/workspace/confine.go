package workspace

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fence says what a command reaches. All paths are absolute and without symbolic
// links. Beside these a command reads the system's own trees (systemTrees).
type fence struct {
	// Writes are trees in which it may do anything but make devices.
	Writes []string `json:"writes"`
	// Reads are trees and files that it may read, and execute if Programs is nil.
	Reads []string `json:"reads"`
	// Programs are the only files that may be executed, by it or by what it starts (see
	// withLoaders); nil means every file that it may read.
	Programs []string `json:"programs"`
}

// process is a program to run. It reads nothing from standard input.
type process struct {
	// Path is the program's file; Argv, with the program's name first, what it is told.
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// Env is its whole environment, as NAME=VALUE.
	Env []string `json:"env"`
	// Fence is nil for a command that may do what its user may.
	Fence *fence `json:"fence"`
	// Timeout ends it; 0 means never.
	Timeout time.Duration `json:"-"`
	// MaxOutput is how many bytes of output are kept, from its beginning and its end.
	MaxOutput int `json:"-"`
}

// outcome is what became of a command.
type outcome struct {
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

// runProcess runs a command until it and all that it started have ended. It fails if the
// command cannot be started or fenced in, or when ctx is done, after the command was
// killed; a command's own failure is in the result. Run is safe for concurrent use.
func runProcess(ctx context.Context, c process) (outcome, error) {
	if c.Fence != nil {
		if ok, reason := CanFence(); !ok {
			return outcome{}, fmt.Errorf("run %s: it cannot be fenced in: %s", c.Argv[0], reason)
		}
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	out := &clip{most: c.MaxOutput}
	said, err := launch(limited, c, out)
	result := outcome{Exit: said.Exit, Signal: said.Signal, Output: out.text(), Omitted: out.omitted()}
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

// clip is a writer that keeps the beginning and the end of what it gets.
type clip struct {
	most  int
	kept  []byte
	total int64
}

// Write never fails: a command is not stopped by what it writes.
func (c *clip) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	c.kept = append(c.kept, p...)
	if len(c.kept) > 2*c.most {
		c.drop()
	}
	return len(p), nil
}

// drop leaves out what is between the beginning and the end.
func (c *clip) drop() {
	first := c.most / 2
	c.kept = slices.Delete(c.kept, first, max(first, len(c.kept)-(c.most-first)))
}

// text is the beginning and the end, with a word in between of what is missing.
func (c *clip) text() []byte {
	n := c.omitted()
	if n == 0 {
		return c.kept
	}
	c.drop()
	return slices.Insert(c.kept, c.most/2, fmt.Appendf(nil, "\n[%d bytes are left out here]\n", n)...)
}

func (c *clip) omitted() int64 { return max(0, c.total-int64(c.most)) }
