package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// pipePatience is how long a question waits for the first byte of a pipe. A pipe that the program only
// inherited stays silent for good.
const pipePatience = 2 * time.Second

// input reads the question of a command line, and what is piped to the program.
type input struct {
	env        *cmdline.Env
	console    *cmdline.Console
	flags      *cmdline.SessionFlags
	automation bool // nobody is there
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

// errNotText reports piped bytes that are no UTF-8: a model would get other characters.
var errNotText = errors.New("question: standard input is no text in UTF-8: convert it, as with iconv -f UTF-16 -t UTF-8, or give a PDF or picture to --attach")

// readInput reads standard input to its end, without a byte order mark and the last line's end. It
// returns an error if the input is no text, or has more than a question may have. For silence see piped.
func (p *input) readInput(ctx context.Context, silence string) (text string, err error) {
	if in, isPiped := pipedInput(p.env.Stdin); isPiped {
		text, err = p.piped(ctx, in, silence)
	} else {
		text, err = readAll(p.env.Stdin)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("question: cannot read standard input: %w", err)
	case !attach.IsText([]byte(plain.CutBytes(text, coordinator.MaxQuestion))):
		return "", errNotText
	case len(text) > coordinator.MaxQuestion:
		return "", tooLong()
	}
	return strings.TrimRight(strings.TrimPrefix(text, plain.ByteOrderMark), "\r\n"), nil
}

// readAll reads to the end, or to more bytes than a question may have.
func readAll(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, coordinator.MaxQuestion+1))
	return string(data), err
}

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
func (p *input) piped(ctx context.Context, in *os.File, silence string) (string, error) {
	reader, err := cancelreader.NewReader(in)
	if err != nil { // a file, which is never silent
		return readAll(in)
	}
	defer func() { _ = reader.Close() }() // it does not close standard input
	began, ended := make(chan struct{}), make(chan struct{})
	var text strings.Builder
	go func() {
		defer close(ended)
		_, err = io.CopyN(&text, reader, 1)
		close(began)
		if err == nil {
			_, err = io.Copy(&text, io.LimitReader(reader, coordinator.MaxQuestion))
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
		return "", nil
	case <-ctx.Done():
		stop()
		return "", ctx.Err()
	}
	select {
	case <-ended:
	case <-ctx.Done():
		stop()
		return "", ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text.String(), err
}
