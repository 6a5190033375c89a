package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/plain"
)

// Agent describes what an agent of a panel would see in a session's next turn.
type Agent struct {
	ID     string      `json:"id"`
	Policy policy.Kind `json:"policy"`
	// Shown describes the part of the history that the agent sees.
	Shown string `json:"shown"`
	// History and HistoryMessages are as in Session.
	History         string             `json:"history"`
	HistoryMessages []backends.Message `json:"history_messages,omitempty"`
	// Tokens counts the first input with the history, but without the question. Estimated is as in
	// ContextWarning. Window is 0 if it is unknown.
	Tokens    int    `json:"estimated_tokens"`
	Estimated bool   `json:"estimated"`
	Window    int    `json:"context_window"`
	Warning   string `json:"context_warning"`
}

// NoWarning is the value of a warning field without a warning.
const NoWarning = "none"

// Agents returns the agents of previews.
func Agents(previews []coordinator.Preview) []Agent {
	list := make([]Agent, len(previews))
	for i, v := range previews {
		list[i] = Agent{
			ID: v.Agent, Policy: v.Policy, Shown: shownOf(v), History: contextbuild.HistorySection(v.History),
			Tokens: v.Context.EstimatedTokens, Estimated: v.Context.Estimated, Window: v.Context.Window,
			Warning: cmp.Or(string(v.Context.Warning), NoWarning),
		}
		if len(previews) == 1 {
			list[i].HistoryMessages = soloMessages(v.History)
		}
	}
	return list
}

// shownOf describes the part of the history that an agent sees.
func shownOf(v coordinator.Preview) string {
	shown := strings.TrimPrefix(v.Shown.String(), string(v.Policy)+": shown ")
	switch {
	case v.NewSummary.Last > 0:
		return fmt.Sprintf("first a summary is asked for, of turns %d to %d; without it %s", v.NewSummary.First, v.NewSummary.Last, shown)
	case !v.Shown.Everything():
		return shown
	case len(v.History) == 0:
		return "there is none yet"
	}
	return "all of it, " + plain.Count(v.Shown.Messages, "message")
}
