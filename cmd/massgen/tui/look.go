package tui

import "charm.land/lipgloss/v2"

// The functions here say how the parts of the screen look. They use the terminal's own sixteen
// colours, which suit its light or dark theme. Under NO_COLOR the renderer drops these, and
// keeps what is bold, faint or reversed.

func asTitle(text string) string {
	return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Magenta).Render(text)
}

func asQuestion(text string) string {
	return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Cyan).Render(text)
}

func asNote(text string) string  { return lipgloss.NewStyle().Foreground(lipgloss.Cyan).Render(text) }
func faint(text string) string   { return lipgloss.NewStyle().Faint(true).Render(text) }
func bold(text string) string    { return lipgloss.NewStyle().Bold(true).Render(text) }
func chosen(text string) string  { return lipgloss.NewStyle().Reverse(true).Render(text) }
func asBad(text string) string   { return lipgloss.NewStyle().Foreground(lipgloss.Red).Render(text) }
func asGood(text string) string  { return lipgloss.NewStyle().Foreground(lipgloss.Green).Render(text) }
func asAlert(text string) string { return lipgloss.NewStyle().Foreground(lipgloss.Yellow).Render(text) }
