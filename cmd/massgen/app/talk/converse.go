package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/plain"
)

// Converse asks a panel the question of the command line, the piped text, or the lines that a person types.
func Converse(ctx context.Context, p *program.Program, words []string) error {
	if err := p.Options.Check(); err != nil {
		return err
	}
	p.Console.IsQuiet = p.Options.Display.Quiet
	p.Console.IsSpoken = p.Console.IsSpoken || p.Options.Display.Spoken
	question, given, err := (&input{p.Env, p.Console, &p.Options.Session, p.Options.Display.Automation}).question(ctx, words)
	if err != nil {
		return err
	}
	talks, isFull := p.Options.Session.Lines || cmdline.IsTerminal(p.Env.Stdin), !p.Console.IsSpoken && p.Options.OpensScreen(p.Env, given)
	if !given && !talks && !p.Options.Session.GoOn {
		return errors.New(`question: there is none, and standard input is empty: massgen "question"`)
	}
	p.Log = p.Logger()
	said, show := &bytes.Buffer{}, func() {}
	if isFull { // what is said before the screen is there would be behind it
		said, show = p.Console.Held()
	}
	defer show()
	s, err := openSession(ctx, p, "")
	if err != nil {
		return err
	}
	if isFull = isFull && s.engine == nil && (!p.Options.Session.GoOn || s.chat.unfinished == nil); !isFull {
		show()
	}
	switch {
	case isFull:
		err = showFullScreen(ctx, s, said, question)
	case given:
		err = s.once(ctx, question)
	case p.Options.Session.Fresh:
		err = s.startOver(ctx)
	case p.Options.Session.GoOn && s.chat.unfinished != nil:
		err = s.resume(ctx)
	case p.Options.Display.Automation && !p.Options.Session.Lines:
		err = fmt.Errorf("--continue: no turn of session %s was interrupted: --automation needs a question; %s has what was answered", plain.Line(s.chat.id), p.Kept.Command("sessions", "show", s.chat.id))
	case talks:
		err = (&dialogue{s: s}).interact(ctx)
	default:
		s.console.Say("Nothing is left to finish in session %s: %s has its answers.", plain.Line(s.chat.id), p.Kept.Command("sessions", "show", s.chat.id))
	}
	if closeErr := s.close(); err == nil && closeErr != nil {
		return cmdline.WithStatus(cmdline.ExitFailed, closeErr)
	}
	return err
}

// question returns the question of the command line with the piped text, or the piped text alone.
func (p *input) question(ctx context.Context, words []string) (question string, given bool, err error) {
	switch {
	case len(words) > 0 && p.flags.Lines:
		return "", false, errors.New("--lines: the questions are the lines of standard input: leave out the one of the command line, or --lines")
	case len(words) == 0 && p.flags.Lines:
		return "", false, nil
	case len(words) == 0:
		question, err = p.inPlace(ctx)
		if err == nil && question == "" && p.automation && !p.flags.GoOn {
			err = errors.New("question: --automation needs one: massgen --automation \"question\"")
		}
		if err != nil || question == "" {
			return "", false, err
		}
		return question, true, checkQuestion(question)
	case len(words) > 2 || len(words) == 2 && words[1] != "-":
		return "", false, fmt.Errorf("question: it is %d words to the shell, and must be one: put it in quotes", len(words))
	case words[0] == "-":
		question, err = p.readInput(ctx, "")
	default:
		if err := checkQuestion(words[0]); err != nil { // before it waits for anything
			return "", false, err
		}
		question, err = p.besides(ctx, words[0], len(words) == 2)
	}
	if err != nil {
		return "", false, err
	}
	return question, true, checkQuestion(question)
}

func checkQuestion(question string) error {
	if err := coordinator.CheckQuestion(question); err != nil {
		return fmt.Errorf("question: %w", err)
	}
	return nil
}
