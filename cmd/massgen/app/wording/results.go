package wording

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// PartialTexts returns each partial message below a line that names its agent.
func PartialTexts(partials []report.PartialText) string {
	var b strings.Builder
	for _, p := range partials {
		fmt.Fprintf(&b, "\npartial message of %s, round %d, which is no answer (%s):\n", plain.Line(p.Agent), p.Round, plain.Line(p.Reason))
		b.WriteString(inMargin(p.Content))
	}
	return b.String()
}

// inMargin returns a text with a bar before each line.
func inMargin(text string) string {
	lines := strings.TrimSuffix(Printable(text), "\n")
	return "  | " + strings.ReplaceAll(lines, "\n", "\n  | ") + "\n"
}

// UnfinishedCalls names the calls that have no result.
func UnfinishedCalls(list []coordinator.UnfinishedCall) string {
	var names []string
	for _, c := range list {
		switch {
		case c.Agent == "":
			names = append(names, string(c.Purpose))
		case c.Asked:
			names = append(names, fmt.Sprintf("%s, round %d, whether %s may run", c.Agent, c.Round, c.Tool))
		case c.Tool != "":
			names = append(names, fmt.Sprintf("%s, round %d, tool %s", c.Agent, c.Round, c.Tool))
		default:
			names = append(names, fmt.Sprintf("%s, round %d, call %d", c.Agent, c.Round, c.Number))
		}
	}
	if len(names) == 0 {
		return "nothing was under way"
	}
	return strings.Join(names, "; ")
}

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
