package tui

import (
	"charm.land/lipgloss/v2"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
)

// The functions here say how the parts of the screen look. Their colours are readable on a light
// background and on a dark one; once the terminal has said which it has, the screen takes stronger
// ones. Under NO_COLOR the renderer drops these, and keeps what is bold, faint or reversed.

func asTitle(text string) string {
	return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.ANSIColor(markdown.Magenta)).Render(text)
}

func asQuestion(text string) string {
	return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.ANSIColor(markdown.Cyan)).Render(text)
}

func asNote(text string) string {
	return lipgloss.NewStyle().Foreground(lipgloss.ANSIColor(markdown.Cyan)).Render(text)
}
func faint(text string) string  { return lipgloss.NewStyle().Faint(true).Render(text) }
func bold(text string) string   { return lipgloss.NewStyle().Bold(true).Render(text) }
func chosen(text string) string { return lipgloss.NewStyle().Reverse(true).Render(text) }
func asBad(text string) string {
	return lipgloss.NewStyle().Foreground(lipgloss.ANSIColor(markdown.Red)).Render(text)
}
func asGood(text string) string {
	return lipgloss.NewStyle().Foreground(lipgloss.ANSIColor(markdown.Green)).Render(text)
}
func asAlert(text string) string {
	return lipgloss.NewStyle().Foreground(lipgloss.ANSIColor(markdown.Yellow)).Render(text)
}
