package app

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/massgen/massgen/coordinator"
)

// TestRows: whatever a terminal gives at once, its rows are the same lines.
func TestRows(t *testing.T) {
	long := strings.Repeat("x", mostInRow)
	const row, torn, question = "!row", "!torn", "!question"
	for _, c := range []struct {
		typed string
		want  []string
		begun string
	}{
		{typed: "one\ntwo\r\nhalf", want: []string{"one", "two"}, begun: "half"},
		{typed: "\x1b[200~one\ntwo\x1b[201~\nthree\n", want: []string{"one\ntwo", "three"}},
		{typed: "/note \x1b[200~a\n\nb\n\x1b[201~\n", want: []string{"/note a\n\nb\n"}},
		{typed: "a\x1b[200~b\x1b[201~c\x1b[200~d\ne\x1b[201~\n", want: []string{"abcd\ne"}},
		{typed: "\x1b[200~one\ntwo\n", begun: "\x1b[200~one\ntwo\n"},
		{typed: long[1:] + "\n" + long + "\nnext\n", want: []string{long[1:], row, "next"}},
		// The paste's end is lost with the row's.
		{typed: "\x1b[200~" + long[6:] + "\ndropped\n/note kept\ndropped\n", want: []string{torn, "/note kept"}},
		{typed: "\x1b[200~one\n" + long + "\ndropped\x1b[201~\nnext\n", want: []string{torn, "next"}},
		{typed: "\x1b[200~" + strings.Repeat("x\n", coordinator.MaxQuestion/2) + "dropped\ndropped\x1b[201~\nnext\n", want: []string{question, "next"}},
	} {
		for _, most := range []int{1, 7, mostInRow + 1} {
			var r rows
			var got []string
			for piece := range slices.Chunk([]byte(c.typed), most) {
				for _, l := range r.take(piece) {
					var cut cutRow
					switch {
					case errors.As(l.err, &cut) && cut.torn:
						got = append(got, torn)
					case errors.As(l.err, &cut):
						got = append(got, row)
					case errors.Is(l.err, errTooLong):
						got = append(got, question)
					default:
						got = append(got, l.text)
					}
				}
			}
			if !slices.Equal(got, c.want) || string(r.line) != c.begun {
				t.Errorf("%.40q by %d: %.80q and %.40q, want %.80q", c.typed, most, got, r.line, c.want)
			}
		}
	}
}

// TestAPasteThatOutlastsTheTurn: it is the beginning of the prompt's line, and no line ends
// before it has.
func TestAPasteThatOutlastsTheTurn(t *testing.T) {
	e, p := typing(t)
	e.watch = func() (<-chan inputLine, func() ([]inputLine, []byte), error) {
		return make(chan inputLine), func() ([]inputLine, []byte) { return nil, []byte(pasteStart + "one\ntwo\n") }, nil
	}
	_, stop, err := e.typed()
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if shown := p.shown.String(); !strings.HasPrefix(shown, "\x1b[?2004h") || !strings.HasSuffix(shown, "\x1b[?2004l") {
		t.Errorf("pastes are not marked in a turn: %q", shown)
	}
	if got, err := p.edit(t, e, "three"+pasteEnd, "\r"); got != "one\ntwo\nthree" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestALineOfATerminalMayBeCut, also where lines are not edited.
func TestALineOfATerminalMayBeCut(t *testing.T) {
	for _, typed := range []bool{true, false} {
		in := readLines(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", mostInRow)+"\nnext\n")), typed)
		if l := <-in.lines; errors.As(l.err, new(cutRow)) != typed {
			t.Errorf("typed %v: %v", typed, l.err)
		}
		if l := <-in.lines; l.text != "next" || l.err != nil {
			t.Errorf("typed %v: %q, %v", typed, l.text, l.err)
		}
		in.close()
	}
}
