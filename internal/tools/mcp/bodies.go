package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// jsonBody is a response body that is one message, repaired.
type jsonBody struct {
	io.ReadCloser
	message *bytes.Reader // nil before the first Read
}

// Read implements io.Reader.
func (b *jsonBody) Read(p []byte) (int, error) {
	if b.message == nil {
		text, err := io.ReadAll(b.ReadCloser)
		if err != nil {
			return 0, err
		}
		b.message = bytes.NewReader(repaired(text))
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
	out     []byte // to be read
	err     error
}

func newEventBody(body io.ReadCloser) *eventBody {
	return &eventBody{ReadCloser: body, lines: bufio.NewReader(body)}
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
		b.out, b.event = repairedEvent(b.event), nil
	case isEnd, b.passing, isLong, err != nil && !errors.Is(err, bufio.ErrBufferFull):
		b.passing = !isEnd && (b.passing || isLong)
		b.out, b.event = b.event, nil
	}
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		b.err = err
	}
}

// repairedEvent repairs the message of an event.
func repairedEvent(event []byte) []byte {
	var others, data [][]byte
	for line := range bytes.Lines(event) {
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		} else if len(line) > 0 {
			others = append(others, line)
		}
	}
	message := bytes.Join(data, []byte("\n"))
	fixed := repaired(message)
	if bytes.Equal(message, fixed) {
		return event
	}
	var out bytes.Buffer
	for _, line := range others {
		out.Write(line)
		out.WriteByte('\n')
	}
	for line := range bytes.SplitSeq(fixed, []byte("\n")) {
		out.WriteString("data: ")
		out.Write(line)
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	return out.Bytes()
}
