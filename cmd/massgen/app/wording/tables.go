package wording

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// ContextTable returns a row for each agent.
func ContextTable(list []inspect.Agent) [][]string {
	rows := [][]string{{"AGENT", "POLICY", "WINDOW", "TOKENS", "WARNING", "SHOWN OF THE HISTORY"}}
	for _, a := range list {
		window, tokens := "unknown", plain.Thousands(a.Tokens)
		if a.Window > 0 {
			window = plain.Thousands(a.Window)
		}
		if a.Estimated {
			tokens = "about " + tokens
		}
		rows = append(rows, []string{a.ID, string(a.Policy), window, tokens, a.Warning, a.Shown})
	}
	return rows
}

// SessionTable returns a row for each session. interrupted has the turns that can be finished, by the
// ids of their sessions.
func SessionTable(list []sessions.Session, interrupted map[string]sessions.Turn) [][]string {
	rows := [][]string{{"ID", "TURNS", "LAST USED", "TITLE"}}
	for _, s := range list {
		title := TitleOf(s)
		if left, isLeft := interrupted[s.ID]; isLeft {
			title = fmt.Sprintf("%s (turn %d interrupted)", cmp.Or(s.Title, Shortened(left.Question, 60)), left.Number)
		}
		rows = append(rows, []string{s.ID, strconv.Itoa(s.Turns), Moment(s.Updated), title})
	}
	return rows
}

// TitleOf returns a session's title. A session has no title before its first answer.
func TitleOf(s sessions.Session) string {
	if s.Title == "" && s.Turns > 0 {
		return "(no answer yet)"
	}
	return s.Title
}
