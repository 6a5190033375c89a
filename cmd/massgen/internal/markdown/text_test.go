package markdown_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
)

func linesOf(text *markdown.Text, width int) (lines []string) {
	for i := range text.Len() {
		lines = append(lines, text.Lines(i, width)...)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// TestGrowingTextIsDrawnAsWhole: a text that comes in pieces, and is drawn after each of them, looks in the end as it
// does at once.
func TestGrowingTextIsDrawnAsWhole(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	texts := []string{
		"a\n\nb\n\n\nc", "- a\n\n- b\n\n  more\n\nc\n\n1. x\n2. y\n\nz", "```go\nfunc f() {\n\n}\n```\n\ntext", "| a | b |\n|---|:-:|\n| 1 | 2 |\n\nafter",
		"# One\ntext\n\n> quoted\n\n> again\n\n---\nend", "see [x] and [y][1]\n\n[x]: http://x\n[1]: http://y\n", "\n\n  \nlate", "a\r\n\r\n\tb\r\n\r\nc",
		"- a\n  ```\n  code\n\n  more\n  ```\n- b\n",
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	for _, text := range texts {
		for _, size := range []int{1, 7, len(text)} {
			growing := markdown.NewDrawer(false).NewText(markdown.Look{})
			for rest := range slices.Chunk([]byte(text), max(size, 1)) {
				growing.Write(string(rest))
				linesOf(growing, 40)
			}
			if diff := cmp.Diff(markdown.Render(text, 40, false), linesOf(growing, 40)); diff != "" {
				t.Errorf("in pieces of %d (-at once +growing):\n%s\n%s", size, text, diff)
			}
		}
	}
}

// TestOnlyTheLastBlockIsLaidOut while a text grows, and all blocks once for each width.
func TestOnlyTheLastBlockIsLaidOut(t *testing.T) {
	masked := 0
	text := markdown.NewDrawer(true).NewText(markdown.Look{Mask: func(text string) string { masked++; return text }})
	const paragraphs = 50
	for i := range paragraphs {
		text.Write(fmt.Sprintf("Paragraph %d.\n\n", i))
	}
	linesOf(text, 40)
	before := masked
	for range 10 {
		text.Write("word ")
		linesOf(text, 40)
	}
	if n := masked - before; n > 12 {
		t.Errorf("%d blocks are laid out for ten words", n)
	}
	before = masked
	linesOf(text, 60)
	linesOf(text, 60)
	if n := masked - before; n != text.Len() || n < paragraphs {
		t.Errorf("%d of %d blocks are laid out for another width", n, text.Len())
	}
}

// TestLongBlocksAreParted: no block is much longer than others, and no letter of one is lost. Code stays code, and a table
// a table.
func TestLongBlocksAreParted(t *testing.T) {
	const most = 20 << 10
	var code, table, list strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&code, "line%d := 1\n", i)
		fmt.Fprintf(&table, "| cell%d | x |\n", i)
		fmt.Fprintf(&list, "- item%d\n", i)
	}
	for name, whole := range map[string]string{
		"word": strings.Repeat("x", 1<<17), "wide": strings.Repeat("日", 1<<16), "words": strings.Repeat("word ", 1<<15), "lines": strings.Repeat("some words\n", 1<<13),
		"code": "```go\n" + code.String() + "```\n", "table": "| a | b |\n|---|---|\n" + table.String(), "list": list.String(),
	} {
		masked := 0
		text := markdown.NewDrawer(false).NewText(markdown.Look{Mask: func(text string) string { masked = max(masked, len(text)); return text }})
		text.Write(whole)
		lines := linesOf(text, 80)
		if masked > most {
			t.Errorf("%s: a block has %d bytes", name, masked)
		}
		letters := func(text string) int {
			return strings.Count(text, "x") + strings.Count(text, "日") + strings.Count(text, "w")
		}
		shown := ansi.Strip(strings.Join(lines, "\n"))
		if letters(whole) != letters(shown) {
			t.Errorf("%s: %d letters of %d are shown", name, letters(shown), letters(whole))
		}
		for i, line := range lines {
			isPlain := strings.HasPrefix(line, "line") || strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "- ") || strings.Contains(line, "```")
			if isPlain {
				t.Errorf("%s: line %d is shown as it was written: %q", name, i, line)
				break
			}
		}
	}
}

func BenchmarkTextStreams(b *testing.B) {
	drawer := markdown.NewDrawer(true)
	for b.Loop() { // 100 seconds of 200 tokens, drawn 12 times a second
		text := drawer.NewText(markdown.Look{})
		for i := range 20_000 {
			text.Write("token ")
			if i%97 == 0 {
				text.Write("\n\n")
			}
			if i%17 == 0 {
				text.Lines(text.Len()-1, 60)
			}
		}
	}
}
