package talk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
)

// typist is a terminal's other end: what is typed, and what is on the screen.
type typist struct {
	keyboard   *io.PipeWriter
	screen     *cmdline.MaskingWriter
	shown      shownText
	interrupts chan os.Signal
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
	p := &typist{keyboard: keyboard, interrupts: make(chan os.Signal, 10)}
	p.screen = cmdline.NewMaskingWriter(&p.shown, cmdline.NewConsole(&cmdline.Env{Stdout: io.Discard, Stderr: io.Discard, Lookup: func(string) (string, bool) { return "", false }}).Secrets)
	e := newEditor(&keys{in: in, interrupt: func(key os.Signal) { p.interrupts <- key }}, &p.shown)
	t.Cleanup(e.above(p.screen))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.read(func() {})
	}()
	t.Cleanup(func() {
		close(e.done)
		keyboard.Close()
		for len(e.lines) > 0 {
			<-e.lines
		}
		<-ended
	})
	return e, p
}

func (p *typist) types(t *testing.T, typed ...string) {
	t.Helper()
	for _, part := range typed {
		if _, err := io.WriteString(p.keyboard, part); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *typist) edit(t *testing.T, e *editor, typed ...string) (string, error) {
	t.Helper()
	p.types(t, typed...)
	select {
	case l := <-e.lines:
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
		{[]string{"one\rtwo\r\n\tthree\r"}, "one\ntwo\n\tthree"},
		{[]string{"one\ntwo", " is long\r"}, "one\ntwo is long"},
		{[]string{strings.Repeat("line\r", 1000) + "end\r"}, strings.Repeat("line\n", 1000) + "end"},
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

func TestCtrlCIsToldOf(t *testing.T) {
	e, p := typing(t)
	for _, c := range []struct {
		typed string
		fresh bool
	}{{"\x03", false}, {"half a line\x03", true}, {"\x03", false}} {
		p.types(t, c.typed)
		if got := <-p.interrupts; got != (keyInterrupt{c.fresh}) {
			t.Errorf("%q: %#v", c.typed, got)
		}
	}
	if got, err := p.edit(t, e, "whole\r"); got != "whole" || err != nil {
		t.Errorf("after Ctrl+C the line is %q, %v", got, err)
	}
}

// What is said while a line is typed does not break it.
func TestLinesAboveThePrompt(t *testing.T) {
	e, p := typing(t)
	p.types(t, "half")
	if _, err := io.WriteString(p.screen, "said\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.edit(t, e, " whole\r"); got != "half whole" || err != nil {
		t.Errorf("the line is %q, %v", got, err)
	}
	if shown := p.shown.String(); !strings.Contains(shown, "said\r\n> half") {
		t.Errorf("on the screen is %q", shown)
	}
}

// TestWhatIsTypedBeforeADropIsDropped: half a line, whole ones that came with the one
// before, and a paste that has no end.
func TestWhatIsTypedBeforeADropIsDropped(t *testing.T) {
	for before, shown := range map[string]string{"half": "half", "half \x1b[200~a paste\ry": "a paste⏎y", "first\ry\ry\r": "first⏎y⏎y"} {
		e, p := typing(t)
		p.types(t, before)
		for !strings.Contains(p.shown.String(), shown) {
			runtime.Gosched()
		}
		dropped := time.Now()
		e.drop()
		p.types(t, "no\r")
		l := <-e.lines
		for l.at.Before(dropped) { // it was read before
			l = <-e.lines
		}
		if l.text != "no" || l.err != nil {
			t.Errorf("after %q the line is %q, %v", before, l.text, l.err)
		}
	}
}

// TestALineThatIsTypedMayBeCut: the library drops what is too much, but not of a paste.
func TestALineThatIsTypedMayBeCut(t *testing.T) {
	e, p := typing(t)
	if got, err := p.edit(t, e, strings.Repeat("x", mostTyped+1)+"\r"); got != "" || !errors.Is(err, cutLine{}) {
		t.Errorf("%.40q, %v", got, err)
	}
	if got, err := p.edit(t, e, strings.Repeat("x", mostTyped-1)+"\r"); len(got) != mostTyped-1 || err != nil {
		t.Errorf("%.40q, %v", got, err)
	}
	for typed, want := range map[bool]error{true: cutLine{}, false: nil} { // and where lines are not edited
		in := readLines(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", mostInRow)+"\nnext\n")), typed)
		if l := <-in.lines; !errors.Is(l.err, want) {
			t.Errorf("typed %v: %v", typed, l.err)
		}
		if l := <-in.lines; l.text != "next" || l.err != nil {
			t.Errorf("typed %v: %q, %v", typed, l.text, l.err)
		}
		in.close()
	}
}

// The marks of a paste may come in pieces.
func TestKeysInPieces(t *testing.T) {
	const typed = "a\x1b[200~b\nc\x1b[201~d\r"
	got, err := io.ReadAll(&keys{in: iotest.OneByteReader(strings.NewReader(typed))})
	if want := "a\x1b[200~b⏎c\x1b[201~d\r"; string(got) != want || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestLinesTypedAhead: lines that come at once are a paste, unless they were typed before the prompt was there.
func TestLinesTypedAhead(t *testing.T) {
	for isAhead, want := range map[bool]string{true: "one\rtwo\r", false: pasteStart + "one⏎two" + pasteEnd + "\r"} {
		got, err := io.ReadAll(&keys{in: strings.NewReader("one\rtwo\r"), isAhead: isAhead})
		if string(got) != want || err != nil {
			t.Errorf("typed ahead, %v: %q, %v; want %q", isAhead, got, err, want)
		}
	}
}

// TestPasteInPieces: an unmarked paste that comes in several reads is one, also where a read ends with a line.
func TestPasteInPieces(t *testing.T) {
	pieces := []string{"one\r", "two\rth", "ree\r", "four\r"}
	in := &piecesReader{pieces: pieces}
	k := &keys{in: in, hasMore: func() bool { return len(in.pieces) > 1 }}
	got, err := io.ReadAll(k)
	if want := pasteStart + "one⏎two⏎three" + pasteEnd + "\rfour\r"; string(got) != want || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// piecesReader reads a piece at a time.
type piecesReader struct{ pieces []string }

func (r *piecesReader) Read(data []byte) (int, error) {
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(data, r.pieces[0])
	r.pieces = r.pieces[1:]
	return n, nil
}

// What would tell the terminal what to do, or turn a reader's direction, is not typed.
func TestKeysWithoutControls(t *testing.T) {
	const typed = "a\u009b2Jé\x1b[200~b\u202e\u009dü\x1b[201~€\r"
	for name, in := range map[string]io.Reader{
		"at once":   strings.NewReader(typed),
		"in pieces": iotest.OneByteReader(strings.NewReader(typed)),
	} {
		got, err := io.ReadAll(&keys{in: in})
		if want := "a2Jé\x1b[200~bü\x1b[201~€\r"; string(got) != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// The editor would wait for the end of what is no letter, and of a key that is none.
func TestKeysThatAreNone(t *testing.T) {
	long := strings.Repeat("9;", 150)
	for typed, want := range map[string]string{
		"a\xff\xfeb\r":                 "ab\r",
		"a\x1b[200~\xc3(b\x1b[201~\r":  "a\x1b[200~(b\x1b[201~\r",
		"a\x1b[" + long + "mb\r":       "ab\r",
		"a\x1b[1;5Cb\x1b[A\r":          "a\x1b[1;5Cb\x1b[A\r",
		"a\x1b[1;\r":                   "a\x1b[1;\r",
		"a\x1b[" + long + "\r":         "a\r",
		"a\x1b[" + long + "é" + "mb\r": "ab\r",
	} {
		for name, in := range map[string]io.Reader{
			"at once": strings.NewReader(typed), "in pieces": iotest.OneByteReader(strings.NewReader(typed)),
		} {
			got, err := io.ReadAll(&keys{in: in})
			if string(got) != want || err != nil {
				t.Errorf("%q, %s: %q, %v; want %q", typed, name, got, err, want)
			}
		}
	}
}

// TestPasteWithoutEnd: a Ctrl+C that comes alone ends a paste whose end never comes, and one within it does not.
func TestPasteWithoutEnd(t *testing.T) {
	in, typed := io.Pipe()
	interrupts := 0
	k := &keys{in: in, interrupt: func(os.Signal) { interrupts++ }}
	go func() {
		for _, text := range []string{"\x1b[200~one", "\x03\rtwo", "\x03", "\x03", "kept\r"} {
			if _, err := io.WriteString(typed, text); err != nil {
				t.Error(err)
			}
		}
		if err := typed.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := io.ReadAll(k)
	if want := pasteStart + "one⏎two" + pasteEnd + clearLine + clearLine + "kept\r"; string(got) != want || err != nil || interrupts != 2 {
		t.Errorf("%q, %v, %d interrupts; want %q and two", got, err, interrupts, want)
	}
}
