package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
)

// program is one run of massgen.
type program struct {
	env     Env
	console console
	options options
	// words are those of the command line that no flag takes: the question, or the arguments of
	// a command.
	words []string
	watch *watch
	log   *slog.Logger
}

func newProgram(env Env) *program {
	return &program{env: env, console: newConsole(env), log: slog.New(slog.DiscardHandler), watch: unwatched()}
}

// root is what massgen does when no command is named.
func (p *program) root(ctx context.Context, words []string) error {
	o := p.options.about
	switch {
	case o.listExamples:
		return p.listExamples()
	case o.listBackends:
		return p.listBackends(ctx, words)
	case o.example != "":
		return p.printExample(o.example)
	case o.validate != "":
		return validate(ctx, p, o.validate)
	}
	return p.converse(ctx, words)
}

// converse asks a panel: the question of the command line, what is piped in its place, or
// what a person types.
func (p *program) converse(ctx context.Context, words []string) error {
	if err := p.options.check(); err != nil {
		return err
	}
	*p.console.isQuiet = p.options.display.quiet
	*p.console.isSpoken = *p.console.isSpoken || p.options.display.spoken
	question, given, err := p.question(ctx, words)
	if err != nil {
		return err
	}
	talks, isFull := p.options.session.lines || isTerminal(p.env.Stdin), !*p.console.isSpoken && p.options.opensScreen(p.env, given)
	if !given && !talks && !p.options.session.goOn {
		return errors.New(`question: there is none, and standard input is empty: massgen "question"`)
	}
	p.log = p.logger()
	said, show := &bytes.Buffer{}, func() {}
	if isFull { // what is said before the screen is there would be behind it
		said, show = p.console.held()
	}
	defer show()
	s, err := p.openSession(ctx, "")
	if err != nil {
		return err
	}
	if isFull = isFull && s.engine == nil && (!p.options.session.goOn || s.unfinished == nil); !isFull {
		show()
	}
	switch {
	case isFull:
		err = showFullScreen(ctx, s, said, question)
	case given:
		err = s.once(ctx, question)
	case p.options.session.fresh:
		err = s.startOver(ctx)
	case p.options.session.goOn && s.unfinished != nil:
		err = s.resume(ctx)
	case p.options.display.automation && !p.options.session.lines:
		err = fmt.Errorf("--continue: no turn of session %s was interrupted: --automation needs a question; %s has what was answered", plain.Line(s.id), p.storage().command("sessions", "show", s.id))
	case talks:
		err = (&dialogue{s: s}).interact(ctx)
	default:
		s.console.say("Nothing is left to finish in session %s: %s has its answers.", plain.Line(s.id), p.storage().command("sessions", "show", s.id))
	}
	if closeErr := s.close(); err == nil && closeErr != nil {
		return exitError{ExitFailed, closeErr}
	}
	return err
}

// question returns the question of the command line with what is piped beside it, or what is
// piped in its place.
func (p *program) question(ctx context.Context, words []string) (question string, given bool, err error) {
	switch {
	case len(words) > 0 && p.options.session.lines:
		return "", false, errors.New("--lines: the questions are the lines of standard input: leave out the one of the command line, or --lines")
	case len(words) == 0 && p.options.session.lines:
		return "", false, nil
	case len(words) == 0:
		question, err = p.inPlace(ctx)
		if err == nil && question == "" && p.options.display.automation && !p.options.session.goOn {
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

// logger logs the steps for --debug and LOG_LEVEL=debug, else nothing.
func (p *program) logger() *slog.Logger {
	level, _ := p.env.Lookup("LOG_LEVEL")
	if !p.options.display.debug && !strings.EqualFold(level, "debug") {
		return p.log
	}
	return slog.New(slog.NewTextHandler(p.console.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (p *program) listExamples() error {
	var b strings.Builder
	for _, e := range configs.Examples() {
		fmt.Fprintf(&b, "@examples/%-24s%s\n", e.Name, e.Summary)
	}
	_, err := io.WriteString(p.console.out, b.String())
	return err
}

func (p *program) printExample(name string) error {
	data, ok := configs.ReadExample(strings.TrimPrefix(name, "@examples/"))
	if !ok {
		return fmt.Errorf("--example: there is no %s: --list-examples shows what there is", name)
	}
	_, err := p.console.out.Write(data)
	return err
}

// listBackends prints the table of providers and marks those that work on this machine. Given
// a type, it prints that type's details. It prints no key.
func (p *program) listBackends(ctx context.Context, words []string) error {
	r, err := resolverOf(p)
	if err != nil {
		return err
	}
	var text string
	switch len(words) {
	case 0:
		text = r.Table(ctx)
	case 1:
		text, err = r.Details(ctx, words[0])
	default:
		err = errors.New("--list-backends: it takes one type at most")
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.console.out, text)
	return err
}

// resolverOf returns what knows the services, and which of them are here.
func resolverOf(p *program) (*providers.Resolver, error) {
	return providers.New(providers.Settings{World: p.world(p.console.warn), Config: configs.Default(), Log: p.log, Secrets: p.console.secrets}, nil, nil)
}
