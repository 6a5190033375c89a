package app

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// typist is a terminal's other end: what is typed, what is on the screen, and
// whether the terminal is raw.
type typist struct {
	keyboard *io.PipeWriter
	screen   *maskingWriter
	shown    shownText
	raw      int
}

// shownText is what a screen shows. Both the editor and the program write to it.
type shownText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shownText) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *shownText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func typing(t *testing.T) (*editor, *typist) {
	in, keyboard := io.Pipe()
	p := &typist{keyboard: keyboard}
	p.screen = &maskingWriter{w: &p.shown, secrets: newConsole(Env{Stdout: io.Discard, Stderr: io.Discard, Lookup: func(string) (string, bool) { return "", false }}).secrets}
	t.Cleanup(func() { keyboard.Close() })
	return newEditor(in, &p.shown, p.screen, func(bool) (int, func() error, error) {
		p.raw++
		return 80, func() error { p.raw--; return nil }, nil
	}), p
}

func (p *typist) edit(t *testing.T, e *editor, typed ...string) (string, error) {
	t.Helper()
	lines, _, err := e.begin(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range typed {
		if _, err := io.WriteString(p.keyboard, part); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case l := <-lines:
		if p.raw != 1 {
			t.Errorf("the terminal was made raw %d times more than restored while the prompt was up", p.raw)
		}
		if err := e.end(); err != nil {
			t.Fatal(err)
		}
		if p.raw != 0 {
			t.Error("the terminal stayed raw")
		}
		return l.text, l.err
	case <-time.After(time.Minute):
		t.Fatalf("%q made no line", typed)
	}
	return "", nil
}

func TestLinesAreEdited(t *testing.T) {
	e, p := typing(t)
	cases := []struct {
		typed []string
		want  string
	}{
		{[]string{"frist\x1b[D\x1b[D\x1b[D\x1b[D\x1b[3~\x1b[Cr\r"}, "first"},
		{[]string{"\x1b[A again\r"}, "first again"},
		{[]string{"\x1b[A\x1b[A\x1b[B!\r"}, "first again!"},
		{[]string{"dropped\x03", "kept\r"}, "kept"},
		{[]string{"x\x1b", "\x03kept\r"}, "kept"},
		{[]string{"über\x7f\x7fer\r"}, "über"},
		{[]string{"see: ", "\x1b[200~one\rtwo\r\n\tthree\x03\x1b[A\x1b[201", "~ end\r"}, "see: one\ntwo\n\tthree[A end"},
		{[]string{"\x1b[A\r"}, "see: one\ntwo\n\tthree[A end"},
		{[]string{"\x1b[200~" + strings.Repeat("x", 10000) + "\x1b[201~\r"}, strings.Repeat("x", 10000)},
	}
	for _, c := range cases {
		if got, err := p.edit(t, e, c.typed...); got != c.want || err != nil {
			t.Errorf("%.60q: %.60q, %v; want %.60q", c.typed, got, err, c.want)
		}
	}
	if _, err := p.edit(t, e, "\x04"); !errors.Is(err, io.EOF) {
		t.Errorf("Ctrl+D on an empty line: %v", err)
	}
}

func TestCtrlCIsToldOfWhereItIsAKey(t *testing.T) {
	e, p := typing(t)
	lines, interrupts, err := e.begin(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typed string
		fresh bool
	}{{"\x03", false}, {"half a line\x03", true}, {"\x03", false}} {
		if _, err := io.WriteString(p.keyboard, c.typed); err != nil {
			t.Fatal(err)
		}
		if got := <-interrupts; got.fresh != c.fresh {
			t.Errorf("%q: fresh is %v", c.typed, got.fresh)
		}
	}
	if _, err := io.WriteString(p.keyboard, "whole\r"); err != nil {
		t.Fatal(err)
	}
	if l := <-lines; l.text != "whole" || l.err != nil {
		t.Errorf("after Ctrl+C the line is %q, %v", l.text, l.err)
	}
}

// What is said while a line is typed does not break it.
func TestLinesAboveThePrompt(t *testing.T) {
	e, p := typing(t)
	lines, _, err := e.begin(false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.keyboard, "half"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.screen, "said\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.keyboard, " whole\r"); err != nil {
		t.Fatal(err)
	}
	if l := <-lines; l.text != "half whole" {
		t.Errorf("the line is %q", l.text)
	}
	if err := e.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.screen, "after\n"); err != nil {
		t.Fatal(err)
	}
	shown := p.shown.String()
	if !strings.Contains(shown, "said\r\n> half") || !strings.HasSuffix(shown, "after\n") {
		t.Errorf("on the screen is %q", shown)
	}
}

// TestLineIsReadOnAfterItsQuestionIsGone: one reader at a time has the keys.
func TestLineIsReadOnAfterItsQuestionIsGone(t *testing.T) {
	e, p := typing(t)
	if _, _, err := e.begin(false); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.keyboard, "half"); err != nil {
		t.Fatal(err)
	}
	if err := e.end(); err != nil {
		t.Fatal(err)
	}
	if got, err := p.edit(t, e, " whole\r"); got != "half whole" || err != nil {
		t.Errorf("after a question that was taken back the line is %q, %v", got, err)
	}
	if got, err := p.edit(t, e, "next\r"); got != "next" || err != nil {
		t.Errorf("the next line is %q, %v", got, err)
	}
}

// TestWhatIsTypedBeforeAFreshLineIsDropped: half a line, whole ones that came with the one
// before, and a paste that has no end.
func TestWhatIsTypedBeforeAFreshLineIsDropped(t *testing.T) {
	fresh := func(e *editor, p *typist, typed string) string {
		t.Helper()
		lines, _, err := e.begin(true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(p.keyboard, typed); err != nil {
			t.Fatal(err)
		}
		l := <-lines
		if err := errors.Join(l.err, e.end()); err != nil {
			t.Fatal(err)
		}
		return l.text
	}
	for before, shown := range map[string]string{"half": "half", "half \x1b[200~a paste\ry": "a paste⏎y"} {
		e, p := typing(t)
		if _, _, err := e.begin(false); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(p.keyboard, before); err != nil {
			t.Fatal(err)
		}
		for !strings.Contains(p.shown.String(), shown) {
			runtime.Gosched()
		}
		if err := e.end(); err != nil {
			t.Fatal(err)
		}
		if got := fresh(e, p, "no\r"); got != "no" {
			t.Errorf("after %q the line is %q", before, got)
		}
	}
	e, p := typing(t)
	if got, err := p.edit(t, e, "first\ry\ry\r"); got != "first" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	if got := fresh(e, p, "no\r"); got != "no" {
		t.Errorf("after three lines at once the fourth is %q", got)
	}
}

// TestLineToNobodyIsDropped: it was typed for a question that was taken back.
func TestLineToNobodyIsDropped(t *testing.T) {
	e, p := typing(t)
	if _, _, err := e.begin(false); err != nil {
		t.Fatal(err)
	}
	if err := e.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.keyboard, "y\r"); err != nil {
		t.Fatal(err)
	}
	<-e.reading.ended
	if got, err := p.edit(t, e, "n\r"); got != "n" || err != nil {
		t.Errorf("the next line is %q, %v", got, err)
	}
}

// The marks of a paste may come in pieces.
func TestKeysInPieces(t *testing.T) {
	const typed = "a\x1b[200~b\nc\x1b[201~d\r"
	got, err := io.ReadAll(&keys{in: iotest.OneByteReader(strings.NewReader(typed)), interrupts: make(chan interrupt, 1)})
	if want := "a\x1b[200~b⏎c\x1b[201~d\r"; string(got) != want || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
