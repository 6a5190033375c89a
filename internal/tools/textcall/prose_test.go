package textcall_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/internal/tools/textcall"
)

// shown returns the part of a text that may be shown while the text grows by a character at a time.
func shown(text string) string {
	exists := func(name string) bool {
		return name == "new_answer" || name == "vote" || name == "search" || name == "functions.own" || name == "hidden"
	}
	var out strings.Builder
	held, mayCall := "", false
	for _, r := range text {
		held += string(r)
		if mayCall {
			continue
		}
		var length int
		length, mayCall = textcall.Prose(held, out.Len() == 0, exists)
		out.WriteString(held[:length])
		held = held[length:]
	}
	return out.String()
}

// TestNoCallIsShown of the texts in testdata.
func TestNoCallIsShown(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			text := strings.ReplaceAll(d.Input, `\z`, "")
			if d.Cmd == "agent" || !utf8.ValidString(text) {
				return d.Expected
			}
			got, read := shown(text), textcall.Read(text, tools)
			switch {
			case !strings.HasPrefix(text, got):
				t.Errorf("%s: of %q %q is shown", d.Pos, text, got)
			case len(read.Calls) > 0 && !strings.HasPrefix(read.Prose, strings.TrimSpace(got)):
				t.Errorf("%s: of %q, whose prose is %q, %q is shown", d.Pos, text, read.Prose, got)
			case read.HasMarkup && textcall.Read(got, tools).HasMarkup:
				t.Errorf("%s: of %q %q is shown", d.Pos, text, got)
			}
			return d.Expected
		})
	})
}

// TestProseIsShownAsItComes, but for the end that may begin a call.
func TestProseIsShownAsItComes(t *testing.T) {
	for _, text := range []string{
		"The sun is 150 million km away.", "a {b} c", "a < b && b > c.", "- [link](https://example.org)\n", "Use `{x}`, please.", `See {"town":"Rome"} there.`,
		"Code:\n```go\nif x < y {\n\treturn []int{1}\n}\n```\nIt works.", "<b>bold</b> text, and more", "[1] A source.", "assist me",
	} {
		if got := shown(text); got != text {
			t.Errorf("of %q %q is shown", text, got)
		}
	}
}
