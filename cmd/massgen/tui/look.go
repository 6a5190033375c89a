package tui

import (
	"charm.land/lipgloss/v2"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
)

// These functions give the parts of the screen their look. The colours are readable on a light and on a
// dark background. Once the terminal has reported its background, the screen uses stronger colours. With
// NO_COLOR the renderer drops colours, and keeps bold, faint and reversed text.

func asTitle(text string) string    { return painted(markdown.Magenta).Bold(true).Render(text) }
func asQuestion(text string) string { return painted(markdown.Cyan).Bold(true).Render(text) }
func asNote(text string) string     { return painted(markdown.Cyan).Render(text) }
func asBad(text string) string      { return painted(markdown.Red).Render(text) }
func asGood(text string) string     { return painted(markdown.Green).Render(text) }
func asAlert(text string) string    { return painted(markdown.Yellow).Render(text) }
func faint(text string) string      { return lipgloss.NewStyle().Faint(true).Render(text) }
func bold(text string) string       { return lipgloss.NewStyle().Bold(true).Render(text) }
func chosen(text string) string     { return lipgloss.NewStyle().Reverse(true).Render(text) }

func painted(c markdown.Colour) lipgloss.Style {
	return lipgloss.NewStyle().Foreground(lipgloss.ANSIColor(c))
}
