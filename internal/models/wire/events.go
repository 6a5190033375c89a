package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxShown is how much is kept of a text that is no stream, to be shown.
const maxShown = 4 << 10

// ErrCut is the error of a stream that ended before its answer did.
var ErrCut = errors.New("the stream was cut: it ended with neither a finish reason nor an end mark")

// event is the data of a server-sent event, or the whole of an answer that is one JSON
// object. Services write one line of data for each event, so each such line is one.
type event struct {
	data  []byte
	whole bool
}

// eventReader reads the events of a response body. It takes what services send
// around them: comments, other fields, blank lines or their absence, CRs, a byte order
// mark, a last line that never ends.
type eventReader struct {
	lines   *bufio.Reader
	started bool
	ended   bool
	events  int
	name    string // of the present event
	stray   []byte // the start of what was no event
}

// newEventReader reads from source, and never further than the last event needs.
// How long a line may be is for source to limit.
func newEventReader(source io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewReader(source)}
}

// next returns the next event, or io.EOF at the end of the body. An error that the
// service reports is a *StreamError; a body without a single event is a
// *NotAnAnswer, if it holds anything.
func (r *eventReader) next() (event, error) {
	if !r.started {
		r.started = true
		if whole, err := r.readObject(); err != nil || whole != nil {
			return event{data: whole, whole: true}, err
		}
	}
	for !r.ended {
		line, err := r.readLine()
		if r.ended = errors.Is(err, io.EOF); r.ended {
			line = withoutHalf(line)
		} else if err != nil {
			return event{}, err
		}
		data, err := r.take(bytes.TrimRight(line, "\r\n"))
		if err != nil {
			return event{}, err
		}
		if len(data) > 0 {
			r.events++
			return event{data: data}, nil
		}
	}
	if r.events == 0 && len(bytes.TrimSpace(r.stray)) > 0 {
		return event{}, &NotAnAnswer{Body: r.stray}
	}
	return event{}, io.EOF
}

func (r *eventReader) readLine() ([]byte, error) {
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take returns the data of a line, or nothing.
func (r *eventReader) take(line []byte) ([]byte, error) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case len(line) == 0:
		r.name = ""
	case len(field) == 0, string(field) == "id", string(field) == "retry":
	case string(field) == "event":
		r.name = string(value)
	case string(field) == "data":
		return value, r.reported(value)
	default:
		if err := errorObject(line); err != nil {
			return nil, err
		}
		if len(r.stray) < maxShown {
			r.stray = append(append(r.stray, line...), '\n')
		}
	}
	return nil, nil
}

// reported returns the error that the data of an event is, or nil.
func (r *eventReader) reported(data []byte) error {
	if len(data) > 0 && r.name == "error" {
		return &StreamError{Body: bytes.Clone(data)}
	}
	return errorObject(data)
}

// withoutHalf returns a last line that has no newline, or nothing if it is data of
// which only a part came.
func withoutHalf(line []byte) []byte {
	data, isData := bytes.CutPrefix(bytes.TrimRight(line, "\r"), []byte("data:"))
	data = bytes.TrimSpace(data)
	if isData && string(data) != "[DONE]" && !json.Valid(data) {
		return nil
	}
	return line
}

// readObject returns a body that is one JSON object: an answer of a service that
// does not stream, or an error that came with status 200.
func (r *eventReader) readObject() ([]byte, error) {
	first, err := r.firstByte()
	if err != nil || first != '{' {
		return nil, err
	}
	body, err := io.ReadAll(r.lines)
	if err != nil {
		return nil, err
	}
	if err := errorObject(body); err != nil {
		return nil, err
	}
	return body, nil
}

// firstByte returns the first byte that is not white space or part of a byte
// order mark, and leaves it to be read. At the end of the body it is 0.
func (r *eventReader) firstByte() (byte, error) {
	for {
		c, err := r.lines.ReadByte()
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
		return c, r.lines.UnreadByte()
	}
}

// notAnAnswer keeps the beginning of a body to be shown.
func notAnAnswer(body []byte) *NotAnAnswer {
	return &NotAnAnswer{Body: body[:min(len(body), maxShown)]}
}

// errorObject returns the error that a JSON object carries, or nil. Gateways that
// leave out no field write an error of nothing beside each piece of an answer.
func errorObject(body []byte) error {
	if !bytes.Contains(body, []byte(`"error"`)) {
		return nil
	}
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &object) != nil {
		return nil //nolint:nilerr // a body that is not an object of JSON carries no error
	}
	switch string(object.Error) {
	case "", "null", "false", `""`, "{}":
		return nil
	}
	return &StreamError{Body: bytes.Clone(body)}
}
