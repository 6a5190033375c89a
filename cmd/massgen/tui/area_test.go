package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// TestAreaWrapsAsAnew: after any edits the rows are those that the whole text gets, the cursor is shown, and no row is
// wider than the screen.
func TestAreaWrapsAsAnew(t *testing.T) {
	t.Parallel()
	names := []string{
		"left", "right", "up", "down", "home", "end", "ctrl+left", "ctrl+right", "ctrl+home", "ctrl+end",
		"backspace", "delete", "ctrl+w", "alt+d", "ctrl+k", "ctrl+j",
	}
	rapid.Check(t, func(t *rapid.T) {
		a := newArea("", 4)
		text := ""
		for range rapid.IntRange(1, 60).Draw(t, "edits") {
			switch rapid.IntRange(0, 3).Draw(t, "edit") {
			case 0:
				a.SetWidth(rapid.SampledFrom([]int{1, 4, 7, 12, 30}).Draw(t, "width"))
			case 1:
				name := rapid.SampledFrom(names).Draw(t, "key")
				editOf(name)(&a)
			default:
				a.InsertString(rapid.SampledFrom([]string{"a", " ", "word ", "some words and more ", "日本", "👩‍👩", "e\u0301", "\n", "x\ny z\n", strings.Repeat("long", 9)}).Draw(t, "text"))
			}
			for i, l := range a.lines {
				if anew := newAreaLine(l.text, a.width()); !slices.Equal(l.rows, anew.rows) {
					t.Fatalf("line %d, %q in %d columns: rows %v, want %v", i, l.text, a.width(), l.rows, anew.rows)
				}
			}
			if c := a.Cursor(); c.Y < 0 || c.Y >= a.Height() || c.X < 0 || c.X >= a.columns {
				t.Fatalf("the cursor is at %d, %d of %d rows and %d columns", c.X, c.Y, a.Height(), a.columns)
			}
			if rows := strings.Split(a.View(), "\n"); len(rows) != a.Height() {
				t.Fatalf("%d rows are drawn, want %d", len(rows), a.Height())
			}
			for row := range strings.SplitSeq(a.View(), "\n") {
				if a.columns >= 7 && ansi.StringWidth(row) > a.columns {
					t.Fatalf("%q is wider than %d columns", row, a.columns)
				}
			}
			text = a.Value()
		}
		back := newArea("", 4)
		back.InsertString(text)
		if back.Value() != text {
			t.Fatalf("%q is %q", text, back.Value())
		}
	})
}

// TestAreaIsEdited by the keys of an editor.
func TestAreaIsEdited(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		keys string
		want string // | is the cursor
	}{
		{"one two", "ctrl+left", "one |two"}, {"one two", "ctrl+left ctrl+left ctrl+right", "one| two"}, {"one two", "home right left delete", "|ne two"},
		{"one two", "ctrl+w", "one |"}, {"one two ", "alt+backspace", "one |"}, {"one two", "home alt+d", "| two"}, {"one two", "home ctrl+right ctrl+k", "one|"},
		{"a\nb", "home backspace", "a|b"}, {"a\nb", "up delete", "a|b"}, {"a\nb", "up ctrl+k", "a|b"}, {"a\nb", "home left ctrl+d", "a|b"}, {"a\nb", "home ctrl+left", "a|\nb"},
		{"abc\nd\nefg", "up up", "abc|\nd\nefg"}, {"abc\nd\nefg", "ctrl+home down down", "abc\nd\n|efg"}, {"abc\nd\nefg", "home right right up down", "abc\nd\nef|g"},
		{"a", "up down ctrl+j", "a\n|"}, {"e\u0301x", "left left", "|e\u0301x"}, {"e\u0301x", "left backspace", "|x"}, {"👩‍👩", "backspace", "|"},
		{"ab\ncd", "ctrl+home right alt+enter", "a\n|b\ncd"}, {"ab", "ctrl+home ctrl+end", "ab|"},
		{"one two three", "up", "one t|wo three"}, {"one two three", "home down", "one two |three"}, {"one two three", "left up down", "one two thre|e"},
	} {
		a := newArea("", 8)
		a.SetWidth(11) // "one two " and "three"
		a.InsertString(test.text)
		for name := range strings.FieldsSeq(test.keys) {
			editOf(name)(&a)
		}
		a.InsertString("|")
		want := test.want
		if got := a.Value(); got != want {
			t.Errorf("%q after %s: %q, want %q", test.text, test.keys, got, want)
		}
	}
}

// TestTypedKeysCostTheSame in a long text as in a short one: at its end, at its beginning and behind a blank.
func TestTypedKeysCostTheSame(t *testing.T) {
	for name, text := range map[string]string{"words": "some words and more ", "no blank": strings.Repeat("x", 20), "lines": "some words\nand more\n"} {
		cost := func(letters int) time.Duration {
			s := newScreen((&panel{session: "s1"}).conversation(), nil, mood{plain: true}, "")
			s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			s.entry.area.InsertString(strings.Repeat(text, letters/len(text)))
			best := time.Hour
			for range 20 {
				began := time.Now()
				for range 10 {
					s.Update(tea.KeyPressMsg{Text: "y", Code: 'y'})
					_ = s.View()
				}
				best = min(best, time.Since(began))
			}
			return best
		}
		if short, long := cost(400), cost(16000); long > 3*short {
			t.Errorf("%s: ten keys take %v in 400 letters, and %v in 16,000", name, short, long)
		}
	}
}
