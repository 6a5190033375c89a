package wire

import (
	"html"
	"regexp"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

const maxMessage = 500

// Shorten keeps the beginning of a text, on one line.
func Shorten(text string) string {
	return plain.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "), maxMessage)
}

func looksLikeHTML(body []byte) bool {
	return strings.HasPrefix(strings.TrimSpace(string(body)), "<")
}

// readableText returns the beginning of what a person would read of a body. secret
// takes out what is secret before it is cut.
func readableText(body []byte, secret redactor) string {
	text := string(body)
	if looksLikeHTML(body) {
		text = regexp.MustCompile(`(?is)<(script|style)\b.*?(</(script|style)>|$)|<!--.*?-->`).ReplaceAllString(text, " ")
		text = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")
		text = html.UnescapeString(text)
	}
	return Shorten(secret.text(text))
}

// TextEvents returns the events of a piece of reasoning and one of text, which may be
// empty.
func TextEvents(reasoning, text string) []backends.Event {
	var events []backends.Event
	if reasoning != "" {
		events = append(events, backends.ReasoningDelta{Text: strings.ToValidUTF8(reasoning, "\uFFFD")})
	}
	if text != "" {
		events = append(events, backends.TextDelta{Text: strings.ToValidUTF8(text, "\uFFFD")})
	}
	return events
}
