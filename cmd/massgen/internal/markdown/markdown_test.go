package markdown_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/tests/linear"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRender draws testdata/*.md at 40 and 80 columns, with colours (as escapes) and without.
func TestRender(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, width := range []int{40, 80} {
			b.WriteString(strings.Join(markdown.Render(string(text), width, false), "\n") + "\n==========\n")
		}
		coloured := markdown.Render(string(text), 80, true)
		for _, line := range coloured {
			b.WriteString(strings.ReplaceAll(line, "\x1b", "␛") + "\n")
		}
		golden := strings.TrimSuffix(file, ".md") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// checkLines: no line is wider than the screen, none leaves a style open, and nothing of the text
// is obeyed by the terminal.
func checkLines(t *testing.T, text string, width int, isColoured bool) {
	t.Helper()
	for _, line := range markdown.Render(text, width, isColoured) {
		if w := ansi.StringWidth(line); w > max(width, 8) {
			t.Errorf("%q at %d columns has a line of %d: %q", text, width, w, line)
		}
		if i := strings.LastIndex(line, "\x1b["); i >= 0 && !strings.HasPrefix(line[i:], "\x1b[m") {
			t.Errorf("%q: the line %q leaves a style open", text, line)
		}
		if !isColoured && strings.Contains(line, "\x1b") {
			t.Errorf("%q: an escape in %q", text, line)
		}
		for _, r := range strings.ReplaceAll(line, "\x1b[", "") {
			if plain.IsControl(r) {
				t.Errorf("%q: %U reaches the terminal in %q", text, r, line)
			}
		}
		if !utf8.ValidString(line) && utf8.ValidString(text) {
			t.Errorf("%q: a letter is parted in %q", text, line)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, text := range []string{
		"", "# a\n\nb `c` **d** [e](http://f)", "| a | b |\n|---|---|\n| 1 | 2 |\n", "```go\nfunc a() {}\n```", "- a\n  - b\n\n1. c",
		"> a\n> > b", "\x1b]0;t\x07\x1b[2J", "日本語日本語日本語日本語日本語", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦", "e\u0301e\u0301", "\u202eabc", "a  \nb", "***", "<b>x</b>",
	} {
		f.Add(text, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + (width%300+300)%300
		checkLines(t, text, width, true)
		checkLines(t, text, width, false)
	})
}

// TestNoTextIsLost: without colours all words stand in the order in which they were written.
func TestNoTextIsLost(t *testing.T) {
	text := "One **two** *three*\n\n- four\n- five six\n\n> seven\n\n| eight | nine |\n|---|---|\n| ten | eleven |\n\n```\ntwelve\n```\n\n[thirteen](http://x) ~~fourteen~~"
	shown := strings.Join(markdown.Render(text, 200, false), " ")
	at := 0
	for _, want := range strings.Fields("One two three four five six seven eight nine ten eleven twelve thirteen fourteen") {
		i := strings.Index(shown[at:], want)
		if i < 0 {
			t.Fatalf("%s is not behind %q in %q", want, shown[:at], shown)
		}
		at += i + len(want)
	}
}

// TestListsAreRead: what belongs to which item, in texts that models write.
func TestListsAreRead(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"own number", "3. a\n4. b", "3. a\n4. b"},
		{"only the first number counts", "2. a\n2. b", "2. a\n3. b"},
		{"zero", "0. a\n1. b", "0. a\n1. b"},
		{"second paragraph", "1. a\n\n   b\n2. c", "1. a\n\n   b\n2. c"},
		{"second paragraph of a bullet", "- a\n\n  b\n- c", "• a\n\n  b\n• c"},
		{"code", "1. a\n   ```\n   b\n\n   c\n   ```\n2. d", "1. a\n     b\n\n     c\n2. d"},
		{"code that is indented less than its fence", "1. a\n   ```\nb\n   ```\n2. d", "1. a\n     b\n2. d"},
		{"a fence between items", "1. a\n```\nb\n```\n2. c", "1. a\n\n  b\n\n2. c"},
		{"nested by two", "1. a\n  - b\n2. c", "1. a\n   • b\n2. c"},
		{"nested by four", "- a\n    - b\n        - c\n- d", "• a\n  • b\n    • c\n• d"},
		{"lazy", "- a\nb", "• a b"},
		{"a heading ends it", "- a\n# b", "• a\n\n# b"},
		{"a text behind it", "- a\n\nb", "• a\n\nb"},
		{"another kind", "- a\n1. b", "• a\n\n1. b"},
		{"a rule", "- a\n- - -\n- b", "• a\n\n" + strings.Repeat("─", 20) + "\n\n• b"},
		{"no list in code", "```\n- a\n2. b\n```", "  - a\n  2. b"},
		{"a number is no list", "In 1986. It", "In 1986. It"},
		{"empty items", "- \n- a", "•\n• a"},
		{"a quote", "> 2. a\n>    b\n> 3. c", "│ 2. a b\n│ 3. c"},
		{"a link's address behind the list", "- [a][b]\n\n[b]: http://c", "• a (http://c)"},
	} {
		if got := strings.Join(markdown.Render(test.text, 20, false), "\n"); got != test.want {
			t.Errorf("%s: %q is\n%s\nwant\n%s", test.name, test.text, got, test.want)
		}
	}
}

// TestDeepListsAreDrawn: neither many marks nor a narrow screen lose a text.
func TestDeepListsAreDrawn(t *testing.T) {
	for _, text := range []string{strings.Repeat("- ", 500) + "end", strings.Repeat("> ", 500) + "end", "123456789012345678. end"} {
		for _, width := range []int{8, 40} {
			checkLines(t, text, width, false)
			if shown := strings.Join(markdown.Render(text, width, false), ""); !strings.HasSuffix(shown, "end") {
				t.Errorf("%.20q at %d columns ends as %q", text, width, shown)
			}
		}
	}
}

// TestLongWordsAreDrawn in a time that does not grow by their square, which would be minutes.
func TestLongWordsAreDrawn(t *testing.T) {
	t.Parallel()
	const letters = 2 << 20
	for _, letter := range []string{"x", "é"} {
		if got := strings.Join(markdown.Render(strings.Repeat(letter, letters), 80, false), ""); strings.Count(got, letter) != letters {
			t.Errorf("%d of %d letters are drawn", strings.Count(got, letter), letters)
		}
	}
}

// TestNoTextTakesLong draws texts for which the parser's time is quadratic.
func TestNoTextTakesLong(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"[", "![", "[]", "[[a", "[a][", "[](", "![[", "```\n", "~~~\n", "<!--", "> [\n", "* [\n", "[a]: b\n", "*a _b ", "`a ``", "<div>\n\n"} {
		text := strings.Repeat(piece, (64<<10)/len(piece))
		var lines []string
		took := linear.Time(func() { lines = markdown.Render(text, 80, true) })
		if took > 5*time.Second {
			t.Errorf("%q, again and again, takes %v of a processor", piece, took)
		}
		if len(lines) == 0 {
			t.Errorf("%q is not drawn", piece)
		}
	}
}

func TestBracketsInCodeTakeNoSteps(t *testing.T) {
	t.Parallel()
	text := "**bold**\n```json\n" + strings.Repeat("[1]\n", 10_000) + "```\n"
	if lines := markdown.Render(text, 80, false); lines[0] != "bold" {
		t.Errorf("the first line is %q", lines[0])
	}
}
