package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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

// typedTexts are the texts in which a key is typed: at its end, behind a blank and at its beginning.
func typedTexts(letters int) map[string]string {
	texts := map[string]string{"words": "some words and more ", "no blank": strings.Repeat("x", 20), "lines": "some words\nand more\n"}
	for name, text := range texts {
		texts[name] = strings.Repeat(text, letters/len(text))
	}
	return texts
}

// TestTypedKeysLayOutTheRowsAroundThem in a long text as in a short one.
func TestTypedKeysLayOutTheRowsAroundThem(t *testing.T) {
	const width, most = 77, 5
	for name, text := range typedTexts(16000) {
		text = strings.ReplaceAll(text, "\n", " ")
		places := []int{len(text), len(text) / 2}
		if !strings.Contains(text, " ") {
			places = places[:1] // all rows behind a letter move
		}
		for _, at := range places {
			line := newAreaLine(text, width)
			if laid := line.replace(at, at, "y", width); laid > most {
				t.Errorf("%s: a key at %d lays out %d rows of %d", name, at, laid, len(line.rows))
			}
		}
	}
}

// BenchmarkTypedKey types keys at the end of short and of long texts: they cost about the same.
func BenchmarkTypedKey(b *testing.B) {
	for _, letters := range []int{400, 16000} {
		for name, text := range typedTexts(letters) {
			b.Run(fmt.Sprintf("%s/%d", name, letters), func(b *testing.B) {
				s := newScreen((&panel{session: "s1"}).conversation(), nil, mood{plain: true}, "")
				s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
				s.entry.area.InsertString(text)
				for b.Loop() {
					s.Update(tea.KeyPressMsg{Text: "y", Code: 'y'})
					_ = s.View()
				}
			})
		}
	}
}
