package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
)

// Converse asks a panel the question of the command line, the piped text, or the lines that a person types. Doubt
// says why a question of one word may be meant for a command, empty if it cannot be.
func Converse(ctx context.Context, p *program.Program, words []string, doubt string) error {
	if err := p.Options.Check(); err != nil {
		return err
	}
	if p.Options.Logs.Stream {
		p.Options.Display.Automation = true
	}
	p.Console.IsQuiet = p.Options.Display.Quiet
	p.Console.IsSpoken = p.Console.IsSpoken || p.Options.Display.Spoken
	in := &input{env: p.Env, console: p.Console, flags: &p.Options.Session, automation: p.Options.Display.Automation}
	in.prompt = func() (string, error) { return promptOf(p) }
	question, given, err := in.question(ctx, words)
	if err != nil {
		return err
	}
	if isBare := given && len(words) > 0 && question == words[0] && len(p.Options.Attach.Files) == 0; isBare && doubt != "" {
		if err := confirm(p.Kept, question, doubt); err != nil {
			return err
		}
	}
	if given && len(words) > 0 && words[0] != "-" && !p.Options.Mode.PlainAt {
		question = showReferences(p, words[0], question)
	}
	talks, isFull := p.Options.Session.Lines || cmdline.IsTerminal(p.Env.Stdin), !p.Console.IsSpoken && p.Options.OpensScreen(p.Env, given)
	if !given && !talks && !p.Options.Session.GoOn {
		return errors.New(`question: there is none, and standard input is empty: massgen "question"`)
	}
	p.Log = p.Logger()
	said, show := &cmdline.Held{}, func() {}
	if isFull { // what is said before the screen is there would be behind it
		said, show = p.Console.Hold()
	}
	defer show()
	s, err := openSession(ctx, p, "")
	if err != nil {
		return err
	}
	if isFull = isFull && s.engine == nil && (!p.Options.Session.GoOn || s.chat.unfinished == nil); !isFull {
		show()
	}
	switch err = s.checkDetach(given); {
	case err != nil:
	case isFull:
		err = showFullScreen(ctx, s, said, question)
	case given:
		err = s.once(ctx, question)
	case p.Options.Session.Fresh:
		err = s.startOver(ctx)
	case p.Options.Session.GoOn && s.chat.unfinished != nil:
		err = s.resume(ctx)
	case s.engine != nil && (!talks || s.options.Display.Automation && !s.options.Session.Lines):
		err = s.showLast(ctx)
	case p.Options.Display.Automation && !p.Options.Session.Lines:
		err = fmt.Errorf("--continue: no turn of session %s was interrupted: --automation needs a question; %s has what was answered", plain.Line(s.chat.id), p.Kept.Command("sessions", "show", s.chat.id))
	case s.engine != nil && s.options.Session.GoOn && !s.options.Session.Lines:
		if err = s.showLast(ctx); cmdline.Status(err) != cmdline.ExitFailed {
			err = (&dialogue{s: s}).interact(ctx)
		}
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

// promptOf returns the question in the config that the flags name, empty for none. The config is read again for
// the session.
func promptOf(p *program.Program) (string, error) {
	if p.Options.Panel.Config == "" {
		return "", nil
	}
	config, err := p.Panels.Load(cmdline.NewWorld(p.Env, func(string) {}))
	if err != nil {
		return "", err
	}
	return config.Prompt, nil
}

// confirm asks a person whether one word is a question. It returns an error if the answer is no, or nobody can
// answer.
func confirm(by *archive.Archive, word, doubt string) error {
	if !by.CanAsk() {
		return errors.New(wording.OrAsk(doubt, word))
	}
	yes, err := by.Asks(doubt + "\nAsk it as a question?")
	if err == nil && !yes {
		err = errors.New(wording.OrAsk("nothing was asked", word))
	}
	return err
}

// showReferences shows the agents the paths that a question of the command line names as @path. What is piped
// beside it names none.
func showReferences(p *program.Program, typed, question string) string {
	text, paths := cmdline.Referenced(typed)
	for _, path := range paths {
		access := "read"
		if path.Write {
			access = "change"
		}
		p.Console.Say("massgen: @%s: the agents may %s it; --no-parse-at-references takes it as plain text", plain.Line(path.Path), access)
	}
	p.Options.Mode.References = paths
	return text + strings.TrimPrefix(question, typed)
}

// question returns the question of the command line with the piped text, or the piped text alone.
func (p *input) question(ctx context.Context, words []string) (question string, given bool, err error) {
	switch {
	case len(words) > 0 && p.flags.Lines:
		return "", false, errors.New("--lines: the questions are the lines of standard input: leave out the one of the command line, or --lines")
	case len(words) == 0 && p.flags.Lines:
		return "", false, nil
	case len(words) == 0:
		if question, err = p.inPlace(ctx); err == nil && question == "" && !p.flags.GoOn {
			question, err = p.prompt()
		}
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

// pipePatience is how long a question waits for the first byte of a pipe. A pipe that the program only
// inherited stays silent for good.
const pipePatience = 2 * time.Second

// input reads the question of a command line, and what is piped to the program.
type input struct {
	env        *cmdline.Env
	console    *cmdline.Console
	flags      *cmdline.SessionFlags
	automation bool // nobody is there
	// prompt returns the question of the config, empty for none.
	prompt func() (string, error)
}

// besides returns a question with the piped text behind it. waits waits for the text, however late it
// begins.
func (p *input) besides(ctx context.Context, question string, waits bool) (string, error) {
	if _, isPiped := pipedInput(p.env.Stdin); !isPiped {
		return question, nil
	}
	silence := "the question is asked without it: a - behind the question waits"
	if waits {
		silence = ""
	}
	text, err := p.readInput(ctx, silence)
	if err != nil || strings.TrimSpace(text) == "" {
		return question, err
	}
	if len(question)+len(text) > coordinator.MaxQuestion {
		return "", tooLong()
	}
	return question + "\n\n<stdin>\n" + text + "\n</stdin>", nil
}

// inPlace returns the piped text as the question, "" without one. With --continue, which needs no
// question, nobody waits for a pipe that stays silent.
func (p *input) inPlace(ctx context.Context) (string, error) {
	if cmdline.IsTerminal(p.env.Stdin) {
		return "", nil
	}
	silence := ""
	if p.flags.GoOn {
		silence = "--continue goes on without a question: a - waits for one"
	}
	question, err := p.readInput(ctx, silence)
	switch {
	case err != nil || strings.TrimSpace(question) == "":
		return "", err
	case isKnownCommand(strings.TrimSpace(question)):
		return "", fmt.Errorf("question: %s is a command of a conversation: --lines takes what is piped line by line, a - asks it as it is", wording.Shortened(plain.Line(question), 40))
	}
	return question, nil
}

// notTextError reports piped bytes that are no text: a model would get other characters.
type notTextError struct{ err *charset.Error }

func (e notTextError) Error() string {
	hint := ""
	if e.err.Encoding == "" {
		hint = ": give a PDF or picture to --attach"
	}
	return "question: standard input cannot be asked: " + e.err.Error() + hint
}

// decodePiped decodes piped bytes. The error is a notTextError.
func decodePiped(data []byte) (string, error) {
	text, err := charset.Decode(data)
	var of *charset.Error
	if errors.As(err, &of) {
		return "", notTextError{of}
	}
	return text, err
}

// mostPiped is how many bytes of a pipe are read. In UTF-16 a character takes twice the bytes.
const mostPiped = 2*coordinator.MaxQuestion + 4

// readInput reads standard input to its end, decodes it, and cuts off the last line's end. It returns an
// error if the input is no text, or has more than a question may have. For silence see piped.
func (p *input) readInput(ctx context.Context, silence string) (text string, err error) {
	var data []byte
	if in, isPiped := pipedInput(p.env.Stdin); isPiped {
		data, err = p.piped(ctx, in, silence)
	} else {
		data, err = readAll(p.env.Stdin)
	}
	if err != nil {
		return "", fmt.Errorf("question: cannot read standard input: %w", err)
	}
	if text, err = decodePiped(data); err != nil {
		return "", err
	}
	if len(text) > coordinator.MaxQuestion {
		return "", tooLong()
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// readAll reads to the end, or to more bytes than a question may have.
func readAll(in io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(in, mostPiped)) }

func tooLong() error {
	return fmt.Errorf("question: it has more than %d bytes (1 MiB), the most that is taken: every agent is sent it in every round; shorten it", coordinator.MaxQuestion)
}

// pipedInput returns standard input if something may have been piped to it: it is a pipe, a
// socket or a file, and no device.
func pipedInput(in io.Reader) (*os.File, bool) {
	f, isFile := in.(*os.File)
	if !isFile {
		return nil, false
	}
	info, err := f.Stat()
	return f, err == nil && info.Mode()&(fs.ModeDevice|fs.ModeDir) == 0
}

// piped reads a pipe to its end, or to more bytes than a question may have.
// With a text for silence, nobody waits for a pipe that stays silent.
func (p *input) piped(ctx context.Context, in *os.File, silence string) ([]byte, error) {
	reader, err := cancelreader.NewReader(in)
	if err != nil { // a file, which is never silent
		return readAll(in)
	}
	defer func() { _ = reader.Close() }() // it does not close standard input
	began, ended := make(chan struct{}), make(chan struct{})
	var text bytes.Buffer
	go func() {
		defer close(ended)
		_, err = io.CopyN(&text, reader, 1)
		close(began)
		if err == nil {
			_, err = io.Copy(&text, io.LimitReader(reader, mostPiped-1))
		}
	}()
	stop := func() {
		if reader.Cancel() {
			<-ended
		}
	}
	var tooLate <-chan time.Time
	if silence != "" {
		tooLate = time.After(pipePatience)
	}
	select {
	case <-began:
	case <-tooLate:
		stop()
		p.console.Warn(fmt.Sprintf("nothing came on standard input for %s, so %s, </dev/null says that there is none", pipePatience, silence))
		return nil, nil
	case <-ctx.Done():
		stop()
		return nil, ctx.Err()
	}
	select {
	case <-ended:
	case <-ctx.Done():
		stop()
		return nil, ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text.Bytes(), err
}
