// Package signs gives each agent a sign and a colour by its place in the panel. They are the same on every screen, and
// on the web page.
package signs

import "github.com/massgen/massgen/cmd/massgen/internal/markdown"

// Of returns the sign of the agent at a place, from 0. It is "" for a place below 0, which stands for no agent.
func Of(place int) string {
	if place < 0 {
		return ""
	}
	all := [...]string{"●", "▲", "■", "◆", "▼", "★", "⬟", "✚"}
	return all[place%len(all)]
}

// Colour returns the colour of the agent at a place, from 0.
func Colour(place int) markdown.Colour {
	all := [...]markdown.Colour{
		markdown.Cyan, markdown.Magenta, markdown.Green, markdown.Blue, markdown.Orange, markdown.Pink, markdown.Indigo, markdown.Lime,
	}
	return all[max(place, 0)%len(all)]
}

// Signed returns a text about an agent, such as its id, after the agent's sign. isColoured paints both in the agent's
// colour. A text about no agent stays as it is.
func Signed(place int, text string, isColoured bool) string {
	if place < 0 {
		return text
	}
	text = Of(place) + " " + text
	if !isColoured {
		return text
	}
	return markdown.Paint(Colour(place).Code(), text)
}
