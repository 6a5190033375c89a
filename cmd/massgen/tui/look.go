package tui

import (
	"strings"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/cmd/massgen/internal/signs"
)

// These functions give the parts of the screen their look. The colours are readable on a light and on a
// dark background. Once the terminal has reported its background, the screen uses stronger colours. With
// NO_COLOR the renderer drops colours, and keeps bold, faint and reversed text.

func asTitle(text string) string { return markdown.Paint("1;"+markdown.Indigo.Code(), text) }
func asRule(text string) string  { return markdown.Paint(markdown.Indigo.Code(), text) }
func asNote(text string) string  { return markdown.Paint(markdown.Indigo.Code(), text) }
func asBad(text string) string   { return markdown.Paint(markdown.Red.Code(), text) }
func asGood(text string) string  { return markdown.Paint(markdown.Green.Code(), text) }
func asAlert(text string) string { return markdown.Paint(markdown.Yellow.Code(), text) }
func faint(text string) string   { return markdown.Paint("2", text) }
func bold(text string) string    { return markdown.Paint("1", text) }
func chosen(text string) string  { return markdown.Paint("7;"+markdown.Indigo.Code(), text) }

// asAgent paints in the colour of the agent at a place, and strongAgent also in bold.
func asAgent(place int) func(string) string {
	return func(text string) string { return markdown.Paint(signs.Colour(place).Code(), text) }
}

func strongAgent(place int) func(string) string {
	return func(text string) string { return markdown.Paint("1;"+signs.Colour(place).Code(), text) }
}

// asQuestion paints a line of a question, with its mark.
func asQuestion(line string) string {
	text, isMarked := strings.CutPrefix(line, "┃ ")
	if !isMarked {
		return bold(line)
	}
	return asTitle("┃ ") + bold(text)
}

// asKeys paints a hint, such as "Enter send", with its key in bold.
func asKeys(hint string) string {
	key, meaning, _ := strings.Cut(hint, " ")
	isKey := len(key) == 1 || strings.HasPrefix(key, "Ctrl+")
	for _, name := range []string{"Enter", "Esc", "Tab", "arrows", "Up", "PgUp"} {
		isKey = isKey || key == name
	}
	if !isKey || meaning == "" {
		return faint(hint)
	}
	return asTitle(key) + faint(" "+meaning)
}
