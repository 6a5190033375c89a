package talk

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
)

// TestLegible has a person see the letters that a tool sees.
func TestLegible(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"b": ["\u0072\u006d", "-\u0072f"], "a": 1.50}`: `{"b": ["rm", "-rf"], "a": 1.50}`,
		`{"path":"a\/b<c>&\n"}`:                          `{"path":"a/b<c>&\n"}`,
		`{"path":`:                                       `{"path":`,
		``:                                               ``,
	} {
		if got := legible(arguments); got != want {
			t.Errorf("legible(%s) is %s", arguments, got)
		}
	}
}

func TestLongArgumentsAreCutInTheMiddle(t *testing.T) {
	if got := middleCut("short", 5); got != "short" {
		t.Errorf("%q", got)
	}
	got := middleCut(strings.Repeat("ä", 500_000)+strings.Repeat("ö", 500_000), 5)
	if want := "ä [... 1,999,996 of 2,000,000 bytes are not shown ...] ö"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoLineOfArgumentsLooksLikeAQuestion: whatever a call's arguments are padded with, each
// of their lines has a margin.
func TestNoLineOfArgumentsLooksLikeAQuestion(t *testing.T) {
	fake := "bob wants to run list_files {}"
	for pad := range 100 {
		asked := questionText("ada", "run_command", `{"argv":["rm","`+strings.Repeat(" ", pad)+fake+strings.Repeat(" ", 100)+`"]}`, " (ask)")
		lines := strings.Split(strings.TrimSuffix(asked, "\n"), "\n")
		if lines[0] != "ada wants to run run_command with (ask)" {
			t.Errorf("it begins with %q", lines[0])
		}
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, "  | ") || len(line) > 64 {
				t.Errorf("a line of the arguments is %q", line)
			}
		}
	}
	for _, line := range linesOf(strings.Repeat("\u4e00", 200)+"é", askedLine) {
		if n := utf8.RuneCountInString(line); n > askedLine/2 {
			t.Errorf("a line has %d letters of two columns", n)
		}
	}
	if got := questionText("ada", "list_files", "{}", " (ask)"); got != "ada wants to run list_files {} (ask)\n" {
		t.Errorf("a short question is %q", got)
	}
}

// TestNobodyIsAskedWhereNobodyIs: a question of a turn that was killed comes back with
// --continue, whatever standard input holds then.
func TestNobodyIsAskedWhereNobodyIs(t *testing.T) {
	p := testProgram(t)
	p.Env.Stdin, p.Env.Stderr = strings.NewReader("y\n"), io.Discard
	s := &session{console: p.Console, options: &p.Options, kept: p.Kept, term: &terminal{}, memory: memory{lookup: p.Env.Lookup}}
	if settings := s.settings(&configs.Config{}); settings.Approve != nil || settings.ForOthers {
		t.Error("somebody is asked")
	}
}

// TestTheEndOfLinesComesAgain: whoever asks a second question is not left waiting.
func TestTheEndOfLinesComesAgain(t *testing.T) {
	in := readLines(strings.NewReader("one\n"), false)
	defer in.close()
	for _, want := range []error{nil, io.EOF, io.EOF} {
		select {
		case l := <-in.lines:
			if !errors.Is(l.err, want) {
				t.Errorf("%v and not %v", l.err, want)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing comes")
		}
	}
}

// TestNoLineStandsInAQuestion: from the question to its answer nobody else writes.
func TestNoLineStandsInAQuestion(t *testing.T) {
	var shown strings.Builder
	p := testProgram(t)
	p.Console.Err = &shown
	term := &terminal{console: p.Console, env: p.Env, in: &keyboard{drop: func() error { return nil }, prompt: func() {}}}
	isFree := func() bool {
		free := term.floor.TryLock()
		if free {
			term.floor.Unlock()
		}
		return free
	}
	person := prompter{term: term}
	for _, c := range []struct {
		lines []string
		want  coordinator.Decision
	}{
		{[]string{"y"}, coordinator.Decision{Allowed: true}},
		{[]string{"Yes"}, coordinator.Decision{Allowed: true}},
		{[]string{"s"}, coordinator.Decision{Allowed: true}},
		{[]string{"a"}, coordinator.Decision{}}, // which was not offered
		{[]string{""}, coordinator.Decision{}},
		{[]string{"yes please"}, coordinator.Decision{}},
		{[]string{"w Use git"}, coordinator.Decision{Reason: "Use git"}},
		{[]string{"W", "y"}, coordinator.Decision{Reason: "y"}},
		{[]string{"w", ""}, coordinator.Decision{}},
	} {
		answer := make(chan decision, 1)
		person.put(request{t.Context(), coordinator.ApprovalRequest{Agent: "ada", Tool: "list_files"}, tui.Offer{Session: "list_files", Grant: func(bool) error { return nil }}, answer})
		for _, line := range c.lines {
			if isFree() {
				t.Errorf("%q: others may write before the answer", c.lines)
			}
			person.take(inputLine{text: line, at: time.Now()})
		}
		if got := <-answer; got.err != nil || got.Decision != c.want || !isFree() {
			t.Errorf("%q: %+v, want %+v; others may write: %t", c.lines, got, c.want, isFree())
		}
	}
}
