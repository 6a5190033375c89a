package talk

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// noteCommand is what a line begins with that adds to the question while a turn runs.
const noteCommand = "/note"

// The commands that pause the turn that runs, let it go on, and let it go on without an agent.
const (
	pauseCommand   = "/pause"
	resumeCommand  = "/resume"
	withoutCommand = "/without"
)

// whileRunning returns the command of a line that is for the turn that runs, and its text;
// the command is empty for any other line.
func whileRunning(line string) (command, text string) {
	line = strings.TrimSpace(line)
	end := strings.IndexFunc(line, unicode.IsSpace) // a pasted text may have lines
	if end < 0 {
		end = len(line)
	}
	text = strings.TrimSpace(line[end:])
	switch command = strings.ToLower(line[:end]); {
	case command == noteCommand, command == withoutCommand:
		return command, text
	case (command == pauseCommand || command == resumeCommand) && text == "":
		return command, ""
	}
	return "", ""
}

// attend begins to take what a person types while the turn runs. A question alone on the
// command line has no keyboard: what is typed then is for whatever comes after massgen.
// The lines of a pipe are for the prompt.
func (p *prompter) attend() {
	p.lines = nil
	if in := p.term.in; in != nil && in.isTyped && !p.term.given {
		p.lines = in.lines
	}
}

// hear takes a line that was typed while the turn runs: a note, or what is for the prompt.
// After an error, and the end, nothing more is heard in this turn.
func (p *prompter) hear(l inputLine) {
	command, text := whileRunning(l.text)
	switch {
	case l.err == nil && command != "":
		p.pass(command, text)
	case errors.Is(l.err, cutLine{}):
		p.term.console.Warn(l.err.Error())
	case l.err == nil, errors.Is(l.err, errTooLong):
		p.term.ahead = append(p.term.ahead, l)
	default:
		p.lines = nil
	}
}

// pass passes a command on to the turn, after those that were typed before.
func (p *prompter) pass(command, text string) {
	before, gone := p.lastNote, make(chan struct{})
	p.lastNote = gone
	p.notes.Go(func() {
		defer close(gone)
		if before != nil {
			<-before
		}
		var err error
		switch command {
		case noteCommand:
			err = p.turn.Note(p.ctx, text)
		case pauseCommand:
			err = p.turn.Pause(p.ctx)
		case resumeCommand:
			err = p.turn.Resume(p.ctx)
		case withoutCommand:
			err = p.turn.Dismiss(p.ctx, text)
		}
		if err != nil {
			p.term.console.Warn(fmt.Sprintf("%s: %v", command, err))
		}
	})
}

// notRunning is a command at the prompt that is for a turn which runs.
func notRunning(command string) func(*dialogue, string) error {
	return func(*dialogue, string) error {
		return fmt.Errorf("%s: no turn is running: type it while one is", command)
	}
}
