package app

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// interact takes a line for a turn until the lines end. On a terminal the exit
// status is 0; from a pipe it is that of the first turn that was not completed.
func (s *session) interact(ctx context.Context) error {
	onTerminal := isTerminal(s.env.Stdin)
	space := func() {
		if onTerminal {
			s.console.say("")
		}
	}
	signals := s.watch.take()
	defer s.watch.give(time.Time{})
	if onTerminal {
		s.console.say("Ask a question. /help lists the commands, /quit ends.")
	}
	in := s.keyboard()
	defer s.closeKeyboard()
	status := ExitCompleted
	for {
		space()
		line, err := s.nextLine(in, signals)
		switch {
		case errors.Is(err, io.EOF):
			space()
			return statusError(status)
		case errors.Is(err, errQuit):
			space()
			return exitError{code: ExitInterrupted}
		case err != nil && !errors.Is(err, errTooLong):
			return err
		}
		code := ExitUsage
		if err == nil {
			code, err = s.take(ctx, line, signals)
		}
		switch {
		case errors.Is(err, errLeave):
			return statusError(status)
		case errors.Is(err, errQuit):
			return exitError{code: ExitInterrupted}
		case err != nil:
			s.console.complain(err)
		}
		if status == ExitCompleted && !onTerminal {
			status = code
		}
	}
}

// errLeave ends the conversation.
var errLeave = errors.New("leave")

func statusError(code int) error {
	if code == ExitCompleted {
		return nil
	}
	return exitError{code: code}
}

// openKeyboard begins to read the program's standard input.
func (s *session) openKeyboard() *keyboard {
	if k, ok := openEditor(s.env, s.console); ok {
		return k
	}
	k := readLines(s.env.Stdin, isTerminal(s.env.Stdin))
	if k.isTyped {
		k.prompt = func() { s.console.write(prompt) }
		k.drop = func() error { return flushTyped(s.env.Stdin.(*os.File)) }
	}
	return k
}

// hurry is how soon after an interrupted turn an interrupt is still meant for it.
const hurry = time.Second

// deafUntil is until when an interrupt is meant for the last turn, if one ended that.
func (s *session) deafUntil() time.Time { return s.cut.Add(hurry + s.env.Slack) }

// nextLine waits for a line. An interrupt is answered with a hint, and the next
// one is errQuit.
func (s *session) nextLine(in *keyboard, signals <-chan os.Signal) (string, error) {
	if l, ok := s.nextAhead(); ok {
		return l.text, l.err
	}
	in.prompt()
	interrupted := false
	for {
		select {
		case l := <-in.lines:
			return l.text, l.err
		case signal := <-signals:
			if signal == syscall.SIGTERM {
				return "", errQuit
			}
			if key, isKey := signal.(keyInterrupt); isKey && key.fresh {
				interrupted = false
			}
		}
		if time.Now().Before(s.deafUntil()) {
			continue
		}
		if interrupted {
			return "", errQuit
		}
		interrupted = true
		s.console.say("massgen: interrupt again, or /quit, to leave")
	}
}

// take runs a line: a command, or a turn, whose exit status it returns.
func (s *session) take(ctx context.Context, line string, signals <-chan os.Signal) (int, error) {
	line = strings.TrimSpace(line)
	if line == "" {
		return ExitCompleted, nil
	}
	if isCommand(line) {
		if err := s.command(line); err != nil {
			return ExitUsage, err
		}
		if s.next == "" {
			return ExitCompleted, nil
		}
		line, s.next = s.next, ""
	}
	result, err := s.ask(ctx, line, signals)
	switch {
	case errors.Is(err, errQuit):
		return ExitInterrupted, err
	case err != nil:
		s.settle(ctx, signals) // the answer may be there, and a hook have failed
		return ExitFailed, err
	}
	s.watch.give(s.deafUntil()) // a screen that takes no answer must not keep anybody
	code, err := s.deliver(result)
	s.watch.take()
	s.settle(ctx, signals)
	if s.terminated {
		err = errQuit
	}
	return code, err
}
