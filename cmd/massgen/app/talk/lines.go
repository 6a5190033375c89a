package talk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// keyboard is where lines come from: a pipe, or a person at a terminal.
type keyboard struct {
	// lines yields each line, without a byte order mark. After an error other than errTooLong, such as
	// errNotText for a line of a pipe, it yields that error again for every further line.
	lines <-chan inputLine
	// isTyped reports whether a person types the lines.
	isTyped bool
	// prompt shows where a line is waited for.
	prompt func()
	// drop drops what a person has typed before.
	drop func() error
	// close lets go of it. A read of a pipe that has begun cannot be ended: it ends with the program.
	close func()
}

type inputLine struct {
	text string
	err  error
	at   time.Time // when its end was read
}

// errTooLong stands for a line whose end was skipped.
var errTooLong = tooLong()

// mostInRow is how many bytes of a row a terminal passes on that is not raw. It drops the rest silently
// (termios(3)).
const mostInRow = 4095

// cutLine stands for a line that may have lost its end.
type cutLine struct{}

func (cutLine) Error() string {
	return fmt.Sprintf("a line that is typed ends at %d characters: this one is not taken, since its end may be lost; type a shorter one, or paste it", mostInRow)
}

// Is implements errors.Is: such a line is too long.
func (cutLine) Is(target error) bool { return target == errTooLong }

// readLines begins to read lines in a goroutine of its own, so that an interrupt is seen
// while nothing is typed. What isTyped comes from a terminal.
func readLines(r io.Reader, isTyped bool) *keyboard {
	lines, done, ended := make(chan inputLine), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		buffered := bufio.NewReader(r)
		var text string
		var err error
		for first := true; ; first = false {
			if err == nil || errors.Is(err, errTooLong) {
				text, err = readLine(buffered)
			}
			if first {
				text = strings.TrimPrefix(text, plain.ByteOrderMark)
			}
			if err == nil && !isTyped && !attach.IsText([]byte(text)) {
				text, err = "", errNotText
			}
			if isTyped && len(text) >= mostInRow {
				text, err = "", cutLine{}
			}
			select {
			case lines <- inputLine{text, err, time.Now()}:
			case <-done:
				return
			}
		}
	}()
	return &keyboard{
		lines: lines, isTyped: isTyped, prompt: func() {}, drop: func() error { return nil },
		close: func() {
			close(done)
			if c, ok := r.(cancelreader.CancelReader); ok {
				if c.Cancel() {
					<-ended
				}
				_ = c.Close() // it does not close the terminal
			}
		},
	}
}

// readLine returns the next line without its end. The last line needs none.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > coordinator.MaxQuestion+len("\r\n") {
			line, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !(errors.Is(err, io.EOF) && (len(line) > 0 || long)):
			return "", err
		case long:
			return "", errTooLong
		}
		return strings.TrimRight(string(line), "\r\n"), nil
	}
}
