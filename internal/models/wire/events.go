package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/massgen/massgen/internal/system/sse"
)

// maxShown is how much is kept of a text that is no stream, to be shown.
const maxShown = 4 << 10

// ErrCut is the error of a stream that ended before its answer did.
var ErrCut = errors.New("the stream was cut: it ended with neither a finish reason nor an end mark")

// eventReader reads the pieces of an answer: the data of server-sent events, or in their place a body
// of JSON, which is one object, an array of pieces, or one piece after the other.
type eventReader struct {
	source   *bufio.Reader
	events   *sse.Reader
	isAnswer func(data []byte) bool // Attempt.IsAnswer
	begun    bool
	count    int
	stray    []byte // the start of what was no event
	// pieces are those of a body of JSON that were not read yet.
	pieces []json.RawMessage
	isJSON bool
	// broken is the error at which a body of JSON breaks off, or nil.
	broken error
}

// newEventReader reads from source, which limits how long a line may be. A nil isAnswer takes no
// JSON in place of events.
func newEventReader(source io.Reader, isAnswer func(data []byte) bool) *eventReader {
	r := &eventReader{source: bufio.NewReader(source), isAnswer: isAnswer}
	r.events = sse.NewReader(r.source)
	r.events.Last = endMark
	r.events.IsWhole = func(data []byte) bool { return string(bytes.TrimSpace(data)) == endMark || json.Valid(data) }
	r.events.Other = r.other
	return r
}

// next returns the data of the next piece, or io.EOF at the end of the body. An error that the
// service reports is a *StreamError; a body without a single piece is a *NotAnAnswer, if it holds
// anything.
func (r *eventReader) next() ([]byte, error) {
	if !r.begun {
		r.begun = true
		if err := r.readJSON(); err != nil {
			return nil, err
		}
	}
	if r.isJSON {
		return r.nextOfJSON()
	}
	for {
		ev, err := r.events.Next()
		if errors.Is(err, io.EOF) && r.count == 0 && len(bytes.TrimSpace(r.stray)) > 0 {
			return nil, &NotAnAnswer{Body: r.stray}
		}
		if err != nil {
			return nil, err
		}
		data := bytes.TrimSpace(ev.Data)
		if len(data) == 0 {
			continue
		}
		r.count++
		if ev.Name == "error" && string(data) != endMark {
			return nil, r.reported(data)
		}
		return data, r.errorIn(data)
	}
}

// endsMarked reports whether the end of the body marks the end of the answer: a whole body of JSON does.
func (r *eventReader) endsMarked() bool { return r.isJSON && r.broken == nil }

// nextOfJSON returns the next piece of a body of JSON.
func (r *eventReader) nextOfJSON() ([]byte, error) {
	if len(r.pieces) == 0 {
		if r.broken != nil {
			return nil, r.broken
		}
		return nil, io.EOF
	}
	piece := r.pieces[0]
	r.pieces = r.pieces[1:]
	return piece, r.errorIn(piece)
}

// other keeps the start of a line that is no field of an event, and returns the error that it reports.
func (r *eventReader) other(line []byte) error {
	if err := errorObject(line); err != nil {
		return err
	}
	if len(r.stray) < maxShown {
		r.stray = append(append(r.stray, line...), '\n')
	}
	return nil
}

// reported returns the error of an event that is named so.
func (r *eventReader) reported(data []byte) error {
	if err := r.errorIn(data); err != nil {
		return err
	}
	return &StreamError{Body: bytes.Clone(data)}
}

// errorIn returns the error that a piece carries, or nil.
func (r *eventReader) errorIn(piece []byte) error {
	if err := errorObject(piece); err != nil {
		return err
	}
	if r.isAnswer != nil && mayReport(piece) && !r.isAnswer(piece) {
		return ownError(piece, false)
	}
	return nil
}

// mayReport reports whether a piece has a word that each error in a service's own form has. It spares
// most pieces of an answer a second reading.
func mayReport(piece []byte) bool {
	has := func(word string) bool { return bytes.Contains(piece, []byte(word)) }
	return has("essage") || has("msg") || has("Msg") || has("etail") || has("rror")
}

// readJSON reads a body that is JSON. A body that holds no piece of an answer is an error, perhaps
// one that the service reports.
func (r *eventReader) readJSON() error {
	first, err := r.firstByte()
	if err != nil || first != '{' && first != '[' {
		return err
	}
	body, err := io.ReadAll(r.source)
	if err != nil {
		return err
	}
	r.isJSON = true
	r.pieces, r.broken = piecesOf(body)
	reports := func(piece json.RawMessage) bool { return errorObject(piece) != nil }
	if r.isAnswer != nil && slices.ContainsFunc(r.pieces, func(p json.RawMessage) bool { return r.isAnswer(p) }) || slices.ContainsFunc(r.pieces, reports) {
		return nil
	}
	for _, piece := range r.pieces {
		if err := ownError(piece, true); err != nil {
			return err
		}
	}
	return notAnAnswer(body)
}

// piecesOf returns the values of a body of JSON, those of an array one by one. The error is for a
// body that breaks off.
func piecesOf(body []byte) (pieces []json.RawMessage, err error) {
	from := json.NewDecoder(bytes.NewReader(body))
	for {
		if !from.More() { // a closing bracket, or the end
			if _, err := from.Token(); errors.Is(err, io.EOF) {
				return pieces, nil
			} else if err != nil {
				return pieces, ErrCut
			}
			continue
		}
		if next := bytes.TrimLeft(body[from.InputOffset():], " \t\r\n,"); len(next) > 0 && next[0] == '[' {
			if _, err := from.Token(); err != nil {
				return pieces, ErrCut
			}
			continue
		}
		var piece json.RawMessage
		if err := from.Decode(&piece); err != nil {
			return pieces, ErrCut
		}
		pieces = append(pieces, piece)
	}
}

// firstByte returns the first byte that is not white space or part of a byte
// order mark, and leaves it to be read. At the end of the body it is 0.
func (r *eventReader) firstByte() (byte, error) {
	for {
		c, err := r.source.ReadByte()
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
		return c, r.source.UnreadByte()
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
	if saysNothing(object.Error) {
		return nil
	}
	return &StreamError{Body: bytes.Clone(body)}
}

// ErrorObject returns the error that a field of an answer holds, or nil if it says nothing.
func ErrorObject(field json.RawMessage) error {
	if saysNothing(field) {
		return nil
	}
	return &StreamError{Body: slices.Concat([]byte(`{"error":`), field, []byte(`}`))}
}

func saysNothing(field json.RawMessage) bool {
	return slices.Contains([]string{"", "null", "false", `""`, "{}", "[]", "0"}, string(bytes.TrimSpace(field)))
}
