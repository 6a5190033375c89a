package app

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

	"github.com/massgen/massgen/coordinator"
)

// pipePatience is how long a question waits for the first byte of what is piped beside it. A
// pipe that the program only inherited stays silent for good.
const pipePatience = 2 * time.Second

// besides returns a question with what is piped to the program beside it. Who waits wants all
// of that, however late it begins.
func (p *program) besides(ctx context.Context, question string, waits bool) (string, error) {
	in, isPiped := pipedInput(p.env.Stdin)
	if !isPiped {
		return question, nil
	}
	text, err := p.piped(ctx, in, waits)
	if err != nil {
		return "", fmt.Errorf("question: cannot read standard input: %w", err)
	}
	if text = strings.TrimRight(text, "\r\n"); strings.TrimSpace(text) == "" {
		return question, nil
	}
	if len(question)+len(text) > coordinator.MaxQuestion {
		return "", tooLong()
	}
	return question + "\n\n<stdin>\n" + text + "\n</stdin>", nil
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

// piped reads what is piped to the program to its end, or to more than a question may have.
// Nobody waits for a pipe that stays silent, but who says so.
func (p *program) piped(ctx context.Context, in *os.File, waits bool) (string, error) {
	reader, err := cancelreader.NewReader(in)
	if err != nil { // a file, which is never silent
		data, err := io.ReadAll(io.LimitReader(in, coordinator.MaxQuestion+1))
		return string(data), err
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
	var silent <-chan time.Time
	if !waits {
		silent = time.After(pipePatience)
	}
	select {
	case <-began:
	case <-silent:
		stop()
		p.console.warn(fmt.Sprintf("nothing came on standard input for %s, so the question is asked without it: a - behind the question waits, </dev/null says that there is none", pipePatience))
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
