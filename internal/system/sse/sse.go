// Package sse reads server-sent events by WHATWG's rules: HTML, section "Parsing an event
// stream". A Reader can be told to take what services get wrong around their events.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Event is one server-sent event. A browser calls an event without a Name "message".
type Event struct {
	Name string
	// ID is the last id that the stream has named, up to this event.
	ID   string
	Data []byte
}

// Reader reads the events of a stream. One goroutine uses it. The zero values of its fields
// are WHATWG's rules.
type Reader struct {
	// IsWhole reports whether one line of data is a whole event although no blank line follows
	// it: another line of data begins the next event then. At the end of the stream such an event
	// counts, and so does any single line of data that has its end. Nil means never.
	IsWhole func(data []byte) bool
	// Last is the data of an event that does not wait for its blank line, empty if there is none.
	Last string
	// Other receives each line that is no field of an event, and may end the stream with an error.
	// Nil ignores these lines.
	Other func(line []byte) error

	source         *bufio.Reader
	begun, afterCR bool
	ended          error // of the source
	open           bool  // whether the last line lacks its end

	data  []byte
	lines int // of data
	name  string
	// next is the name that came after the data: of this event if a blank line follows, else of the
	// next one.
	next    string
	renamed bool
	id      string
}

// NewReader returns a Reader of source, which limits how long a line may be.
func NewReader(source *bufio.Reader) *Reader { return &Reader{source: source} }

// Next returns the next event, or io.EOF at the end of the stream.
func (r *Reader) Next() (Event, error) {
	for r.ended == nil {
		if r.lines == 1 && r.Last != "" && string(bytes.TrimSpace(r.data)) == r.Last {
			return r.dispatch(r.name), nil
		}
		var line []byte
		line, r.ended = r.line()
		if r.ended != nil && !errors.Is(r.ended, io.EOF) {
			break
		}
		if r.ended != nil && len(line) == 0 {
			break
		}
		r.open = r.ended != nil
		ev, ok, err := r.take(line)
		if err != nil {
			return Event{}, err
		}
		if ok {
			return ev, nil
		}
	}
	if errors.Is(r.ended, io.EOF) && r.endsWhole() {
		ev, _ := r.blank()
		return ev, nil
	}
	return Event{}, r.ended
}

// endsWhole reports whether the data at the end of the stream is an event.
func (r *Reader) endsWhole() bool {
	return r.lines > 0 && r.IsWhole != nil && (r.lines == 1 && !r.open || r.IsWhole(r.data))
}

// line returns the next line without its end, which is CR LF, LF or CR. The error is for the end of
// the source; the line is what came before it.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		if _, err := r.source.Peek(1); err != nil {
			return r.withoutMark(line), err
		}
		read, _ := r.source.Peek(r.source.Buffered())
		if r.afterCR {
			r.afterCR = false
			if read[0] == '\n' {
				r.discard(1)
				continue
			}
		}
		end := bytes.IndexAny(read, "\r\n")
		if end < 0 {
			line = append(line, read...)
			r.discard(len(read))
			continue
		}
		line = append(line, read[:end]...)
		r.afterCR = read[end] == '\r'
		r.discard(end + 1)
		return r.withoutMark(line), nil
	}
}

// discard skips bytes that are buffered, which cannot fail.
func (r *Reader) discard(n int) { _, _ = r.source.Discard(n) }

// withoutMark cuts the byte order mark off the first line.
func (r *Reader) withoutMark(line []byte) []byte {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line
}

// take interprets a line, and returns the event that it ends, if ok.
func (r *Reader) take(line []byte) (ev Event, ok bool, err error) {
	if len(line) == 0 {
		ev, ok = r.blank()
		return ev, ok, nil
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "", "retry":
	case "data":
		ev, ok = r.add(value)
		return ev, ok, nil
	case "event":
		if r.lines > 0 {
			r.next, r.renamed = string(value), true
		} else {
			r.name = string(value)
		}
	case "id":
		if !bytes.ContainsRune(value, 0) {
			r.id = string(value)
		}
	default:
		if r.Other != nil {
			return Event{}, false, r.Other(line)
		}
	}
	return Event{}, false, nil
}

// blank ends the event. An event without a line of data is dropped.
func (r *Reader) blank() (Event, bool) {
	if r.lines == 0 {
		r.name = ""
		return Event{}, false
	}
	name := r.name
	if r.renamed {
		name = r.next
	}
	ev := r.dispatch(name)
	r.name = ""
	return ev, true
}

// dispatch returns the event that has come, and begins the next one.
func (r *Reader) dispatch(name string) Event {
	ev := Event{Name: name, ID: r.id, Data: r.data}
	if r.renamed {
		r.name = r.next
	}
	r.data, r.lines, r.next, r.renamed = nil, 0, "", false
	return ev
}

// add takes a line of data, and returns the event before it if the blank line between them is
// missing.
func (r *Reader) add(value []byte) (ev Event, ok bool) {
	if r.lines == 1 && r.IsWhole != nil && r.IsWhole(r.data) {
		ev, ok = r.dispatch(r.name), true
	}
	if r.lines > 0 {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	r.lines++
	return ev, ok
}
