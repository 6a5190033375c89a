package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read of a stream, and the longest whole
// answer.
const maxLine = 16 << 20

// maxShown is how much is kept of a text that is no stream, to be shown.
const maxShown = 4 << 10

// errCut says that a stream ended before its answer did.
var errCut = errors.New("the stream was cut: it ended with neither a finish reason nor an end mark")

// eventStream turns a response body into the server-sent events that go-openai
// reads: one "data:" line for each piece of the answer and nothing else. Comments,
// other fields, blank lines and CRs are left out, an error object or a body that
// is no stream ends it with an error, and done tells whether the end mark came.
type eventStream struct {
	source io.ReadCloser
	lines  *bufio.Reader
	out    []byte // what go-openai has not read yet
	err    error
	done   bool

	started bool
	pieces  int
	event   string // the name of the present event
	stray   []byte // the start of what was no event
}

func newEventStream(source io.ReadCloser) *eventStream {
	return &eventStream{source: source, lines: bufio.NewReader(source)}
}

func (s *eventStream) Close() error { return s.source.Close() }

func (s *eventStream) Read(p []byte) (int, error) {
	for len(s.out) == 0 && s.err == nil {
		s.err = s.advance()
	}
	if len(s.out) > 0 {
		n := copy(p, s.out)
		s.out = s.out[n:]
		return n, nil
	}
	return 0, s.err
}

// advance reads until there is something to say.
func (s *eventStream) advance() error {
	if s.done {
		return io.EOF
	}
	if !s.started {
		s.started = true
		if whole, err := s.isOneObject(); err != nil || whole {
			return err
		}
	}
	line, err := s.readLine()
	if errors.Is(err, io.EOF) {
		return s.end(line)
	}
	if err != nil {
		return err
	}
	return s.take(bytes.TrimRight(line, "\r\n"))
}

func (s *eventStream) readLine() ([]byte, error) {
	var line []byte
	for {
		piece, err := s.lines.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("the stream has a line of more than %d bytes", maxLine)
		}
	}
}

func (s *eventStream) take(line []byte) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case len(line) == 0:
		s.event = ""
	case len(field) == 0, string(field) == "id", string(field) == "retry":
	case string(field) == "event":
		s.event = string(value)
	case string(field) == "data":
		return s.data(value)
	default:
		if err := errorObject(line); err != nil {
			return err
		}
		if len(s.stray) < maxShown {
			s.stray = append(append(s.stray, line...), '\n')
		}
	}
	return nil
}

func (s *eventStream) data(payload []byte) error {
	if len(payload) == 0 {
		return nil
	}
	if string(payload) == "[DONE]" {
		s.done = true
		s.pieces++
		s.out = append(s.out, "data: [DONE]\n"...)
		return nil
	}
	if err := errorObject(payload); err != nil {
		return err
	}
	if s.event == "error" {
		return &streamError{body: bytes.Clone(payload)}
	}
	s.pieces++
	s.out = append(s.out, "data: "...)
	if bytes.HasPrefix(payload, []byte("{")) {
		// go-openai takes any chunk that begins with {"error": for an error, also
		// when it is null; a space keeps it from that.
		s.out = append(s.out, "{ "...)
		payload = payload[1:]
	}
	s.out = append(append(s.out, payload...), '\n')
	return nil
}

// end handles the end of the body. A last line without its newline counts if it
// is whole.
func (s *eventStream) end(last []byte) error {
	last = bytes.TrimRight(last, "\r\n")
	payload := bytes.TrimSpace(bytes.TrimPrefix(last, []byte("data:")))
	if len(last) > 0 && (!bytes.HasPrefix(last, []byte("data:")) || string(payload) == "[DONE]" || json.Valid(payload)) {
		if err := s.take(last); err != nil {
			return err
		}
	}
	if s.pieces == 0 && len(bytes.TrimSpace(s.stray)) > 0 {
		return &notAStream{body: s.stray}
	}
	return io.EOF
}

// isOneObject handles a body that is one JSON object: an answer of a service
// that does not stream, or an error that came with status 200.
func (s *eventStream) isOneObject() (bool, error) {
	first, err := s.firstByte()
	if err != nil || first != '{' {
		return false, err
	}
	body, err := io.ReadAll(io.LimitReader(s.lines, maxLine))
	if err != nil {
		return true, err
	}
	if err := errorObject(body); err != nil {
		return true, err
	}
	var whole struct {
		Choices []json.RawMessage `json:"choices"`
	}
	var compact bytes.Buffer
	if json.Unmarshal(body, &whole) != nil || whole.Choices == nil || json.Compact(&compact, body) != nil {
		return true, &notAStream{body: body[:min(len(body), maxShown)]}
	}
	if err := s.data(compact.Bytes()); err != nil {
		return true, err
	}
	return true, s.data([]byte("[DONE]"))
}

// firstByte returns the first byte that is not white space or part of a byte
// order mark, and leaves it to be read. At the end of the body it is 0.
func (s *eventStream) firstByte() (byte, error) {
	for {
		c, err := s.lines.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			continue
		}
		return c, s.lines.UnreadByte()
	}
}

// errorObject returns the error that a JSON object carries, or nil.
func errorObject(body []byte) error {
	if !bytes.Contains(body, []byte(`"error"`)) {
		return nil
	}
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &object) != nil || len(object.Error) == 0 || string(object.Error) == "null" {
		return nil //nolint:nilerr // a body that is not an object of JSON carries no error
	}
	return &streamError{body: bytes.Clone(body)}
}
