package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/plain"
	"github.com/massgen/massgen/internal/policy"
	"github.com/massgen/massgen/internal/store"
	"github.com/massgen/massgen/sessions"
)

// shownAgent is what an agent of the config would be shown in the session's next turn.
type shownAgent struct {
	ID     string      `json:"id"`
	Policy policy.Kind `json:"policy"`
	// Shown says in words what of the history is shown.
	Shown   string `json:"shown"`
	History string `json:"history"`
	// Tokens counts the first input, the history and all that goes with it but the
	// question; Estimated as in ContextWarning. Window is 0 if it is not known.
	Tokens    int    `json:"estimated_tokens"`
	Estimated bool   `json:"estimated"`
	Window    int    `json:"context_window"`
	Warning   string `json:"context_warning"`
}

// noWarning is what stands where a warning could.
const noWarning = "none"

func warningName(w policy.Warning) string { return cmp.Or(string(w), noWarning) }

func shownAgents(previews []coordinator.Preview) []shownAgent {
	list := make([]shownAgent, len(previews))
	for i, v := range previews {
		list[i] = shownAgent{
			ID: v.Agent, Policy: v.Policy, Shown: shownOf(v), History: contextbuild.HistorySection(v.History),
			Tokens: v.Context.EstimatedTokens, Estimated: v.Context.Estimated, Window: v.Context.Window, Warning: warningName(v.Context.Warning),
		}
	}
	return list
}

// shownOf says what of the history an agent is shown.
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

// contextTable has a row for each agent.
func contextTable(list []shownAgent) [][]string {
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

// newestLink returns the newest link of the history that turns have come to, zero if
// none of them has an answer.
func newestLink(turns []sessions.Turn) blob.Ref {
	for _, t := range slices.Backward(turns) {
		if t.Link != (blob.Ref{}) {
			return t.Link
		}
	}
	return blob.Ref{}
}

// lookAtAgents adds what the agents would be shown, if the options name a panel.
func (c *sessionsCommand) lookAtAgents(ctx context.Context, store *store.Store, shown *shownSession) (err error) {
	if !c.options.panel.isNamed() {
		return nil
	}
	panel, _, err := c.connectToLook(ctx, store, c.console.warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, panel.Close()) }()
	previews, err := panel.Opened().Preview(ctx, shown.ID, shown.link)
	if err != nil {
		return err
	}
	shown.Agents = shownAgents(previews)
	for _, a := range shown.Agents {
		if shown.ContextWarning != string(policy.AtLimit) && a.Warning != noWarning {
			shown.ContextWarning = a.Warning
		}
	}
	return nil
}
