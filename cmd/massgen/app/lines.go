package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/massgen/massgen/coordinator"
)

// lineSource is where questions come from: a pipe, or a person at a terminal.
type lineSource interface {
	promptSource
	typedSource
	close()
}

// promptSource is where a line is waited for.
type promptSource interface {
	// begin returns the channel on which the next line comes, and one that tells of
	// Ctrl+C where it is a key and not a signal. With fresh, what a person has typed
	// before is dropped, but for a line that was read already. After each begin comes an
	// end.
	begin(fresh bool) (<-chan inputLine, <-chan interrupt, error)
	end() error
}

// typedSource is where a person types while a turn runs.
type typedSource interface {
	// typed returns the channel on which lines come between an end and a begin, and what
	// ends that and returns those that were not taken. The channel is nil where there is no
	// person, or no way.
	typed() (<-chan inputLine, func() []inputLine, error)
}

// lineReader reads lines in a goroutine of its own, so that an interrupt is seen
// while nothing is typed. A read that has begun cannot be ended: close lets the
// goroutine go as soon as its read returns.
type lineReader struct {
	lines  <-chan inputLine
	done   chan struct{}
	prompt func()
	// isTyped says that a person types the lines.
	isTyped bool
	// flush drops what the terminal holds, if it is one.
	flush func() error
}

type inputLine struct {
	text string
	err  error
	at   time.Time // when its end was read
}

// errTooLong stands for a line of which the rest was passed over.
var errTooLong = tooLong()

// readLines begins to read. An error other than errTooLong is the last that is read, and
// comes again to whoever wants another line. What isTyped comes from a terminal.
func readLines(r io.Reader, isTyped bool) *lineReader {
	lines := make(chan inputLine)
	in := &lineReader{lines: lines, isTyped: isTyped, done: make(chan struct{}), prompt: func() {}, flush: func() error { return nil }}
	go func() {
		buffered := bufio.NewReader(r)
		var text string
		var err error
		for {
			if err == nil || errors.Is(err, errTooLong) {
				text, err = readLine(buffered)
			}
			if isTyped && len(text) >= mostInRow {
				text, err = "", cutRow{}
			}
			select {
			case lines <- inputLine{text, err, time.Now()}:
			case <-in.done:
				return
			}
		}
	}()
	return in
}

func (in *lineReader) begin(fresh bool) (<-chan inputLine, <-chan interrupt, error) {
	if fresh {
		if err := in.flush(); err != nil {
			return nil, nil, fmt.Errorf("drop what was typed before: %w", err)
		}
	}
	in.prompt()
	return in.lines, nil, nil
}

func (in *lineReader) end() error { return nil }

func (in *lineReader) typed() (<-chan inputLine, func() []inputLine, error) {
	nothing := func() []inputLine { return nil }
	if !in.isTyped {
		return nil, nothing, nil
	}
	return in.lines, nothing, nil
}

func (in *lineReader) close() { close(in.done) }

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
