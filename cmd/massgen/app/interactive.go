package app

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
)

// interact takes a line for a turn until the lines end. On a terminal the exit
// status is 0; from a pipe it is that of the first turn that was not completed.
func (s *session) interact(ctx context.Context) error {
	in := readLines(s.env.Stdin)
	defer in.close()
	onTerminal := isTerminal(s.env.Stdin)
	if onTerminal {
		s.console.say("Ask a question. /help lists the commands, /quit ends.")
	}
	status := ExitCompleted
	for {
		if onTerminal {
			s.console.write("\n> ")
		}
		line, err := s.nextLine(in)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errLeave):
			return statusError(status)
		case errors.Is(err, errQuit):
			return exitError{code: ExitInterrupted}
		case err != nil && !errors.Is(err, errTooLong):
			return err
		}
		code := ExitUsage
		if err == nil {
			code, err = s.take(ctx, line)
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

// nextLine waits for a line. An interrupt is answered with a hint, and the next
// one, or one right after an interrupted turn, is errQuit.
func (s *session) nextLine(in *lineReader) (string, error) {
	for {
		select {
		case l := <-in.lines:
			s.interrupted = false
			return l.text, l.err
		case signal := <-s.env.Interrupts:
			if s.interrupted || signal == syscall.SIGTERM {
				return "", errQuit
			}
			s.interrupted = true
			s.console.say("massgen: interrupt again, or /quit, to leave")
		}
	}
}

// take runs a line: a command, or a turn, whose exit status it returns.
func (s *session) take(ctx context.Context, line string) (int, error) {
	line = strings.TrimSpace(line)
	if line == "" {
		return ExitCompleted, nil
	}
	if isCommand(line) {
		if err := s.command(line); err != nil {
			return ExitUsage, err
		}
		return ExitCompleted, nil
	}
	result, err := s.ask(ctx, line)
	switch {
	case errors.Is(err, errQuit):
		return ExitInterrupted, err
	case err != nil:
		return ExitFailed, err
	}
	code, err := s.deliver(result)
	if s.terminated {
		err = errQuit
	}
	return code, err
}
