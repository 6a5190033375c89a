package talk

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// dialogue is a conversation at a prompt: each line is a question or a command.
type dialogue struct {
	s    *session
	next string // a question that a command asks
	// draft is a question that /undo has taken back, to be edited.
	draft string
	// discarded are the sessions that are deleted when the conversation ends, those last that
	// were deleted last.
	discarded []string
}

// interact runs each line until the lines end. On a terminal the exit status is 0; from a pipe it is that
// of the first turn that was not completed.
func (d *dialogue) interact(ctx context.Context) error {
	err := d.talk(ctx)
	if deleteErr := d.empty(ctx); deleteErr != nil && err == nil {
		err = cmdline.WithStatus(cmdline.ExitFailed, deleteErr)
	} else if deleteErr != nil {
		d.s.console.Complain(deleteErr)
	}
	return err
}

func (d *dialogue) talk(ctx context.Context) error {
	onTerminal := cmdline.IsTerminal(d.s.term.env.Stdin)
	space := func() {
		if onTerminal {
			d.s.console.Say("")
		}
	}
	signals := d.s.term.watch.Take()
	defer d.s.term.watch.Give(time.Time{})
	if onTerminal {
		d.s.console.Say("Ask a question. /help lists the commands, /quit ends.")
	}
	in := d.s.term.keyboard()
	defer d.s.term.closeKeyboard()
	status := cmdline.ExitCompleted
	for {
		space()
		line, err := d.s.term.nextLine(in, signals)
		switch {
		case errors.Is(err, io.EOF):
			space()
			return cmdline.WithStatus(status, nil)
		case errors.Is(err, cmdline.ErrQuit):
			space()
			return cmdline.WithStatus(cmdline.ExitInterrupted, nil)
		case errors.Is(err, errNotText):
			return cmdline.WithStatus(cmp.Or(status, cmdline.ExitUsage), err)
		case err != nil && !errors.Is(err, errTooLong):
			return err
		}
		code := cmdline.ExitUsage
		if err == nil {
			code, err = d.take(ctx, line, signals)
		}
		switch {
		case errors.Is(err, errLeave):
			return cmdline.WithStatus(status, nil)
		case errors.Is(err, cmdline.ErrQuit):
			return cmdline.WithStatus(cmdline.ExitInterrupted, nil)
		case errors.Is(err, errUnread):
			return cmdline.WithStatus(cmdline.ExitFailed, err)
		case err != nil:
			d.s.console.Complain(err)
		}
		if status == cmdline.ExitCompleted && !onTerminal {
			status = code
		}
	}
}

// errLeave ends the conversation.
var errLeave = errors.New("leave")

// take runs a line: a command, or a turn, whose exit status it returns.
func (d *dialogue) take(ctx context.Context, line string, signals <-chan os.Signal) (int, error) {
	line = strings.TrimSpace(line)
	if line == "" {
		return cmdline.ExitCompleted, nil
	}
	if isCommand(line) {
		if err := d.command(line); err != nil {
			return cmdline.ExitUsage, err
		}
		if d.draft != "" {
			d.s.console.Say("Its question was: %s", plain.Line(d.draft))
			d.draft = ""
		}
		if d.next == "" {
			return cmdline.ExitCompleted, nil
		}
		line, d.next = d.next, ""
	} else if cmdline.IsTerminal(d.s.term.env.Stdin) {
		typed, files, err := attach.Typed(line)
		if err != nil {
			return cmdline.ExitUsage, err
		}
		ctx, line = attach.With(ctx, files), typed
	}
	result, err := d.s.ask(ctx, line, signals)
	switch {
	case errors.Is(err, cmdline.ErrQuit):
		return cmdline.ExitInterrupted, err
	case err != nil:
		d.s.settle(ctx, signals) // the answer may be there, and a hook have failed
		return cmdline.ExitFailed, err
	}
	d.s.term.watch.Give(d.s.term.deafUntil()) // a screen that takes no answer must not keep anybody
	code, err := d.s.results.deliver(result)
	d.s.term.watch.Take()
	d.s.settle(ctx, signals)
	if d.s.term.terminated {
		err = cmdline.ErrQuit
	}
	return code, err
}
