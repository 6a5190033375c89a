package markdown

import (
	"strings"
	"testing"
)

// TestBracketsAreNoTargets: a line such as "[Note]: some words" is text. It stands once, in each form of drawing.
func TestBracketsAreNoTargets(t *testing.T) {
	const answer = "Intro.\n\n[Note]: remember this well.\n\n- one\n- two\n\n```\n[INFO]: server has started\n```\n\nSee [x] and [y][Z].\n\n[x]: http://example.org/x\n[z]: http://example.org/z 'Title'\n"
	text := NewDrawer(false).NewText(Look{})
	text.Write(answer)
	var streamed []string
	for i := range text.Len() {
		streamed = append(streamed, text.Lines(i, 80)...)
	}
	for name, lines := range map[string][]string{"whole": Render(answer, 80, false), "streamed": streamed} {
		shown := strings.Join(lines, "\n")
		for _, once := range []string{"remember this well", "server has started", "example.org/x", "example.org/z"} {
			if n := strings.Count(shown, once); n != 1 {
				t.Errorf("%s: %q stands %d times:\n%s", name, once, n, shown)
			}
		}
	}
}

// TestWorkGrowsWithTheText: what a line of code costs, and a list of links, grows as the text does. The test would take
// hours otherwise.
func TestWorkGrowsWithTheText(t *testing.T) {
	code := "```go\n" + strings.Repeat(`"\`, 100_000) + "\n```\n"
	if shown := strings.Join(Render(code, 80, true), ""); strings.Count(shown, `\`) < 100_000 {
		t.Error("code is lost")
	}
	var links strings.Builder
	for range 1_500 {
		links.WriteString("- [x][a1] and [y]\n")
	}
	for i := range 1_500 {
		links.WriteString("\n[a" + strings.Repeat("1", 1+i%7) + "]: http://example.org/1\n")
	}
	if len(Render(links.String(), 80, false)) < 1_500 {
		t.Error("items are lost")
	}
}
