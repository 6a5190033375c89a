package workspace

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fence lists the files that a command reaches. All paths are absolute and without symbolic links.
// A fenced command may also read the system's own trees (systemTrees).
//
// On Linux the program that is running is started twice more in between. The first copy, the
// supervisor, becomes the parent of everything that its command leaves behind
// (PR_SET_CHILD_SUBREAPER), also of processes that began a session of their own. It kills them all
// when the command ends, and when its caller closes a pipe or dies. The second copy fences itself in
// and then becomes the command:
//
//   - Landlock (ABI 6, Linux 6.12) refuses to open, make, rename, remove or execute a file outside
//     of the given trees, to signal or trace a process outside, and to mount;
//   - in a mount namespace everything outside of the writable trees is read-only. That covers the
//     modes, owners, times and attributes that Landlock does not guard. Where the system gives no
//     namespace, the calls that change these are refused everywhere;
//   - namespaces of processes and of System V's shared memory, queues and locks keep these apart.
//     Where there are none, the filter refuses the calls that reach them, and the calls that set the
//     limits and the priority of another process;
//   - a seccomp filter refuses sockets (of the network and of services on this machine), keyrings,
//     set-user-id and set-group-id bits of files, and the ways around the others;
//   - the command has no capabilities, set-user-id programs give it none, and a crash leaves no dump,
//     which the system might hand to a program of its own.
//
// A fenced command still sees the names of files everywhere (stat), may read the system's trees, and
// may use up processor, memory and disk until its time is up. On other systems there is no fence, and
// a process that leaves its group is not caught.
type fence struct {
	// Writes lists trees in which the command may do anything except make devices.
	Writes []string `json:"writes"`
	// Reads lists trees and files that the command may read, and execute if Programs is nil.
	Reads []string `json:"reads"`
	// Lists lists folders whose names the command may list, with those of the folders below. It reads no file in
	// them that no other list has.
	Lists []string `json:"lists,omitempty"`
	// Network lets the command open sockets of the internet protocols, and no others.
	Network bool `json:"network,omitempty"`
	// Programs lists the only files that the command and its children may execute (see
	// withLoaders); nil allows every file that they may read.
	Programs []string `json:"programs"`
}

// process is a program to run.
type process struct {
	// Path is the program's file. Argv has its arguments, with the program's name first.
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// Stdin is the file of its standard input; empty means that it reads nothing.
	Stdin string `json:"stdin,omitempty"`
	// Env is its whole environment, as NAME=VALUE.
	Env []string `json:"env"`
	// Fence is nil for a command with all rights of its user.
	Fence *fence `json:"fence"`
	// HandsOn hands the standard input of the launching process on to the program, in place of Stdin.
	HandsOn bool `json:"hands_on,omitempty"`
	// Timeout ends it; 0 means never.
	Timeout time.Duration `json:"-"`
	// MaxOutput is how many bytes of output are kept, from its beginning and its end.
	MaxOutput int `json:"-"`
}

// outcome is the end of a process and its output.
type outcome struct {
	// Exit is its exit status, 128 and the signal's number if a signal ended it.
	Exit int
	// Signal names the signal that ended it, if one did and its time was not up.
	Signal   string
	TimedOut bool
	// Output has the standard output and standard error in the order of writing. Omitted counts
	// the bytes that are left out of its middle; a line in Output says so.
	Output  []byte
	Omitted int64
}

// report is the line that a launched process writes about its command to its status pipe.
type report struct {
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Error is why the command did not start.
	Error string `json:"error,omitempty"`
}

// runProcess runs a command until it and its children have ended. It fails if the command cannot be
// started or fenced in, and when ctx is done, after it killed the command. A command's own failure is
// no error: it is in the outcome. runProcess is safe for concurrent use.
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
	said, err := launch(limited, c, out, out)
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

// clip is a writer that keeps the beginning and the end of its input.
type clip struct {
	most  int
	kept  []byte
	total int64
}

// Write never fails: a command may write more than is kept.
func (c *clip) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	c.kept = append(c.kept, p...)
	if len(c.kept) > 2*c.most {
		c.drop()
	}
	return len(p), nil
}

// drop removes the bytes between the beginning and the end.
func (c *clip) drop() {
	first := c.most / 2
	c.kept = slices.Delete(c.kept, first, max(first, len(c.kept)-(c.most-first)))
}

// text returns the beginning and the end, with a line between them that counts the missing bytes.
func (c *clip) text() []byte {
	n := c.omitted()
	if n == 0 {
		return c.kept
	}
	c.drop()
	return slices.Insert(c.kept, c.most/2, fmt.Appendf(nil, "\n[%d bytes are left out here]\n", n)...)
}

func (c *clip) omitted() int64 { return max(0, c.total-int64(c.most)) }
