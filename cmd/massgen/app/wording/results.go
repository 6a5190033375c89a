package wording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Duration returns seconds with one decimal.
func Duration(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Usage returns how many calls there were, their tokens and their cost. A call without a report of its
// tokens counts as unknown.
func Usage(u budget.Usage) string {
	parts := []string{plain.Count(u.Calls, "call")}
	if u.UnknownCalls < u.Calls {
		tokens := fmt.Sprintf("%s in, %s out tokens", plain.Thousands(u.InputTokens), plain.Thousands(u.OutputTokens))
		if u.ReasoningTokens > 0 {
			tokens += fmt.Sprintf(" (%s reasoning)", plain.Thousands(u.ReasoningTokens))
		}
		parts = append(parts, tokens)
	}
	if u.UnknownCalls > 0 {
		parts = append(parts, fmt.Sprintf("tokens of %s unknown", plain.Count(u.UnknownCalls, "call")))
	}
	if u.CostUSD != nil && *u.CostUSD > 0 {
		parts = append(parts, dollars(*u.CostUSD))
	}
	return strings.Join(parts, " · ")
}

// dollars shows cents, and of less than ten of them two figures.
func dollars(d float64) string {
	if d >= 0.1 {
		return fmt.Sprintf("$%.2f", d)
	}
	decimals := 1 - int(math.Floor(math.Log10(d)))
	return fmt.Sprintf("$%.*f", decimals, d)
}

// Cost returns the cost of calls, "unknown" if a model has no price.
func Cost(u budget.Usage) string {
	switch {
	case u.CostUSD != nil && *u.CostUSD > 0:
		return dollars(*u.CostUSD)
	case u.CostUSD == nil && u.Calls > 0:
		return "unknown"
	}
	return "$0"
}

// NoteLines returns the notes of a turn.
func NoteLines(notes []report.ResultNote) string {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "\nnote, seen by %s:\n", plain.Count(n.SeenBy, "agent"))
		b.WriteString(inMargin(n.Text))
	}
	return b.String()
}

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

// ToolLine returns a line about a tool call: its arguments, its outcome and its error.
func ToolLine(agent string, c report.ToolCall, took time.Duration) string {
	call := plain.Line(c.Name) + " " + Shortened(plain.Line(c.Arguments), 60)
	reason := Shortened(plain.Line(reasonOf(c.Result)), 100)
	switch c.State {
	case effect.ToolPlanned:
		return fmt.Sprintf("%s planned %s", agent, call)
	case effect.ToolDenied:
		return fmt.Sprintf("%s was denied %s: %s", agent, call, reason)
	case effect.ToolRefused:
		return fmt.Sprintf("%s called %s, which was not run: %s", agent, call, reason)
	case effect.ToolCancelled:
		return fmt.Sprintf("%s's %s was cancelled · %s", agent, call, Duration(took))
	case effect.ToolInterrupted:
		return fmt.Sprintf("%s's %s was interrupted, and nobody knows what became of it", agent, call)
	case report.ToolRunning:
		return fmt.Sprintf("%s's %s did not end", agent, call)
	}
	if c.Error {
		call += ", which failed: " + reason
	}
	return fmt.Sprintf("%s ran %s · %s", agent, call, Duration(took))
}

// reasonOf returns why a tool failed: the member error of a result that is a JSON object, else the
// whole result.
func reasonOf(result string) string {
	var object struct{ Error string }
	if err := json.Unmarshal([]byte(result), &object); err == nil && object.Error != "" {
		return object.Error
	}
	return strings.TrimPrefix(result, "Error: ")
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
