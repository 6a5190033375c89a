package sessions

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/system/blob"
)

// dumpFormat is the version of an exported session's JSONL: a line for the
// session, then for each turn the texts that it names, the turn and its events,
// and at the end a line with the count and the hash of the lines before it.
const dumpFormat = 1

// mostLine is the most bytes of a line that ReadDump accepts.
const mostLine = 256 << 20

// dumpLine is one line. Its type determines which fields it has.
type dumpLine struct {
	Type    string   `json:"type"`
	Format  int      `json:"format,omitempty"`
	Session *Session `json:"session,omitempty"`
	Turn    *Turn    `json:"turn,omitempty"`
	// Event is an event in JSON; other events are in Base64.
	Event  json.RawMessage `json:"event,omitempty"`
	Text   *string         `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
	Lines  int             `json:"lines,omitempty"`
	SHA256 string          `json:"sha256,omitempty"`
}

// The types of lines.
const (
	lineSession = "session"
	lineText    = "text"
	lineTurn    = "turn"
	lineEvent   = "event"
	lineEnd     = "end"
)

// Write writes the session as JSONL.
func (d *Dump) Write(w io.Writer) error {
	o := &dumpWriter{to: w, hash: sha256.New()}
	o.line(dumpLine{Type: lineSession, Format: dumpFormat, Session: &d.Session})
	done := map[blob.Ref]bool{}
	for i := range d.Turns {
		for _, ref := range append(d.Turns[i].told(), namedPage(d.Texts[d.Turns[i].Link])) {
			done[ref] = true
		}
	}
	for i := range d.Turns {
		for _, ref := range d.Names(i) {
			if !done[ref] {
				o.text(ref, d.Texts[ref])
				done[ref] = true
			}
		}
		o.line(dumpLine{Type: lineTurn, Turn: &d.Turns[i]})
		for _, event := range d.Journals[i] {
			o.event(event)
		}
	}
	o.line(dumpLine{Type: lineEnd, Lines: o.lines, SHA256: hex.EncodeToString(o.hash.Sum(nil))})
	return o.err
}

// dumpWriter writes lines until one fails; err is the failure.
type dumpWriter struct {
	to    io.Writer
	hash  hash.Hash
	lines int
	err   error
}

func (o *dumpWriter) line(l dumpLine) {
	if o.err != nil {
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		o.err = fmt.Errorf("export: %w", err)
		return
	}
	o.hash.Write(b.Bytes())
	o.lines++
	if _, err := o.to.Write(b.Bytes()); err != nil {
		o.err = fmt.Errorf("export: %w", err)
	}
}

func (o *dumpWriter) text(ref blob.Ref, data []byte) {
	l := dumpLine{Type: lineText, SHA256: ref.SHA256}
	if text := string(data); utf8.ValidString(text) {
		l.Text = &text
	} else {
		l.Base64 = data
	}
	o.line(l)
}

// event writes an event so that reading returns the same bytes.
func (o *dumpWriter) event(event []byte) {
	l := dumpLine{Type: lineEvent, Base64: event}
	var compact bytes.Buffer
	if err := json.Compact(&compact, event); err == nil && bytes.Equal(compact.Bytes(), event) && utf8.Valid(event) && !bytes.Equal(event, []byte("null")) {
		l.Event, l.Base64 = event, nil
	}
	o.line(l)
}

// ReadDump reads a session that Write wrote, or a Document of that. It returns a complete and consistent
// session; an error names the line or the turn at fault. In a list an item counts as a line.
func ReadDump(r io.Reader) (*Dump, error) {
	in := dumpReader{hash: sha256.New(), dump: &Dump{Texts: map[blob.Ref][]byte{}}}
	for line, err := range dumpLines(r) {
		if err != nil {
			return nil, fmt.Errorf("import: after line %d: %w", in.lines, err)
		}
		if err := in.line(line); err != nil {
			return nil, fmt.Errorf("import: line %d: %w", in.lines+1, err)
		}
		in.lines++
	}
	if !in.ended {
		return nil, fmt.Errorf("import: the end is missing after line %d: the file is no exported session, or was cut", in.lines)
	}
	if err := in.dump.check(); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return in.dump, nil
}

// dumpLines yields the lines of an exported session, or the items of a list of them.
func dumpLines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		text := bufio.NewReader(r)
		if first, err := text.Peek(1); err == nil && first[0] == '[' {
			readItems(text, yield)
			return
		}
		lines := bufio.NewScanner(text)
		lines.Buffer(nil, mostLine)
		for lines.Scan() {
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// readItems yields the items of a list as they would stand in a line each.
func readItems(text io.Reader, yield func([]byte, error) bool) {
	d := json.NewDecoder(text)
	_, err := d.Token()
	for err == nil && d.More() {
		var item json.RawMessage
		var line bytes.Buffer
		if err = d.Decode(&item); err == nil {
			err = json.Compact(&line, item)
		}
		if err == nil && !yield(line.Bytes(), nil) {
			return
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	if err == nil && d.More() {
		err = errors.New("there is data after the list")
	}
	if err != nil {
		yield(nil, err)
	}
}

type dumpReader struct {
	dump  *Dump
	hash  hash.Hash
	lines int
	ended bool
}

func (in *dumpReader) line(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		if in.ended { // an editor may add it
			return nil
		}
		return errors.New("it is empty, and an exported session has empty lines only after its end")
	}
	var l dumpLine
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		if bytes.HasPrefix(data, []byte("# ")) && in.lines == 0 {
			return errors.New("it is not of an exported session: it looks like Markdown, which nothing can be read from again: export to a file .jsonl")
		}
		return fmt.Errorf("it is not of an exported session: %w", err)
	}
	if d.More() || in.ended {
		return errors.New("there is data after the end line")
	}
	if (l.Type == lineSession) != (in.lines == 0) {
		return errors.New("an exported session begins with a line of type session, and has only one")
	}
	if l.Type == lineEnd {
		return in.end(l)
	}
	in.hash.Write(data)
	in.hash.Write([]byte("\n"))
	switch {
	case l.Type == lineSession && l.Session != nil:
		if l.Format != dumpFormat {
			return fmt.Errorf("it has format %d, and this program reads format %d: update it", l.Format, dumpFormat)
		}
		in.dump.Session = *l.Session
	case l.Type == lineText:
		return in.text(l)
	case l.Type == lineTurn && l.Turn != nil:
		in.dump.Turns = append(in.dump.Turns, *l.Turn)
		in.dump.Journals = append(in.dump.Journals, nil)
	case l.Type == lineEvent:
		return in.event(l)
	default:
		return fmt.Errorf("a line of type %q is unknown, or lacks what it is for", l.Type)
	}
	return nil
}

func (in *dumpReader) end(l dumpLine) error {
	if sum := hex.EncodeToString(in.hash.Sum(nil)); l.Lines != in.lines || l.SHA256 != sum {
		return errors.New("the lines before differ from the exported ones: some were changed or are missing")
	}
	in.ended = true
	return nil
}

func (in *dumpReader) text(l dumpLine) error {
	data := l.Base64
	if l.Text != nil {
		data = []byte(*l.Text)
	}
	ref := RefOf(data)
	if ref.SHA256 != l.SHA256 {
		return errors.New("the text is not the one that was exported: its hash differs")
	}
	in.dump.Texts[ref] = data
	return nil
}

func (in *dumpReader) event(l dumpLine) error {
	data := l.Base64
	if l.Event != nil {
		data = l.Event
	}
	last := len(in.dump.Journals) - 1
	if last < 0 || len(data) == 0 {
		return errors.New("an event is empty or stands before its turn")
	}
	in.dump.Journals[last] = append(in.dump.Journals[last], data)
	return nil
}
