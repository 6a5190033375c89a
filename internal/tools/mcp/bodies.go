package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// jsonBody is a response body that is one message, repaired.
type jsonBody struct {
	io.ReadCloser
	message *bytes.Reader // nil before the first Read
	admit   func(message []byte) error
}

// Read implements io.Reader.
func (b *jsonBody) Read(p []byte) (int, error) {
	if b.message == nil {
		text, err := io.ReadAll(b.ReadCloser)
		if err != nil {
			return 0, err
		}
		text = repaired(text)
		if err := b.admit(text); err != nil {
			return 0, err
		}
		b.message = bytes.NewReader(text)
	}
	return b.message.Read(p)
}

// eventBody is a response body of server-sent events whose messages are repaired. An event of more than
// mostMessage passes unchanged, and the SDK refuses it.
type eventBody struct {
	io.ReadCloser
	lines   *bufio.Reader
	begun   bool
	event   []byte // the lines of the present event
	passing bool   // the present event is too long
	whole   bool   // out is an event, from its first line to its end
	out     []byte // to be read
	err     error
	admit   func(message []byte) error
}

// newEventBody returns a body whose reader waits for admit before it passes on a message.
func newEventBody(body io.ReadCloser, admit func(message []byte) error) *eventBody {
	return &eventBody{ReadCloser: body, lines: bufio.NewReader(body), admit: admit}
}

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.fill()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// next returns the next event. It leaves out an event of more than mostMessage, and one without an end.
func (b *eventBody) next() ([]byte, error) {
	for b.err == nil {
		b.out, b.whole = nil, false
		if b.fill(); b.whole {
			return b.out, nil
		}
	}
	return nil, b.err
}

// fill reads until there is something to return, or the body ends.
func (b *eventBody) fill() {
	piece, err := b.lines.ReadSlice('\n')
	if !b.begun {
		b.begun = true
		piece = bytes.TrimPrefix(piece, []byte(byteOrderMark))
	}
	isFirst := len(b.event) == 0 || b.event[len(b.event)-1] == '\n'
	isEnd := err == nil && isFirst && len(bytes.TrimRight(piece, "\r\n")) == 0
	b.event = append(b.event, piece...)
	isLong := len(b.event) > mostMessage
	switch {
	case isEnd && !b.passing:
		event, message := repairedEvent(b.event)
		b.event = nil
		if err := b.admit(message); err != nil {
			b.err = err
			return
		}
		b.out, b.whole = event, true
	case isEnd, b.passing, isLong, err != nil && !errors.Is(err, bufio.ErrBufferFull):
		b.passing = !isEnd && (b.passing || isLong)
		b.out, b.event = b.event, nil
	}
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		b.err = err
	}
}

// repairedEvent returns an event with its message repaired, and the message.
func repairedEvent(event []byte) (whole, message []byte) {
	others, message := eventParts(event)
	fixed := repaired(message)
	if bytes.Equal(message, fixed) {
		return event, message
	}
	return eventOf(others, fixed), fixed
}

// eventParts returns the message of an event, and its other lines.
func eventParts(event []byte) (others [][]byte, message []byte) {
	var data [][]byte
	for line := range bytes.Lines(event) {
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		} else if len(line) > 0 {
			others = append(others, line)
		}
	}
	return others, bytes.Join(data, []byte("\n"))
}

// eventOf returns an event with a message.
func eventOf(others [][]byte, message []byte) []byte {
	var out bytes.Buffer
	for _, line := range others {
		out.Write(line)
		out.WriteByte('\n')
	}
	for line := range bytes.SplitSeq(message, []byte("\n")) {
		out.WriteString("data: ")
		out.Write(line)
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	return out.Bytes()
}

const jsonMessage = "application/json"

// isJSON reports whether a response without a content type, or with a wrong one, is a message: its first
// character is that of a JSON object.
func isJSON(req *http.Request, resp *http.Response) bool {
	if req.Method != http.MethodPost || resp.StatusCode != http.StatusOK || resp.Body == http.NoBody {
		return false
	}
	body := bufio.NewReader(resp.Body)
	resp.Body = readBefore{body, resp.Body}
	if mark, err := body.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		return true
	}
	for n := 1; n <= mostBlanks; n++ {
		begin, err := body.Peek(n)
		if err != nil {
			return false
		}
		switch begin[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return begin[n-1] == '{'
		}
	}
	return false
}

// mostBlanks is how many blanks before a message isJSON skips.
const mostBlanks = 1 << 10
