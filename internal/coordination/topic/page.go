package topic

import "strings"

// Page is a front end's description of the user's page (seed 002, context via
// instructions and middleware extraction).
type Page struct {
	CurrentPage   string `json:"current_page,omitempty"`
	User          string `json:"user,omitempty"`
	PreviousTopic string `json:"previous_topic,omitempty"`
}

// ParsePage finds the lines CURRENT PAGE:, USER: and PREVIOUS TOPIC: in a client's
// system message. ok is false for a message without a CURRENT PAGE. The first of two
// equal lines counts.
func ParsePage(message string) (page Page, ok bool) {
	fields := map[string]*string{"CURRENT PAGE": &page.CurrentPage, "USER": &page.User, "PREVIOUS TOPIC": &page.PreviousTopic}
	for line := range strings.Lines(message) {
		name, value, found := strings.Cut(line, ":")
		field := fields[strings.TrimSpace(name)]
		if !found || field == nil {
			continue
		}
		if strings.TrimSpace(name) == "CURRENT PAGE" {
			ok = true
		}
		*field = strings.TrimSpace(value)
		delete(fields, strings.TrimSpace(name))
	}
	if !ok {
		return Page{}, false
	}
	return page, true
}
