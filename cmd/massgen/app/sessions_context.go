package app

import (
	"context"
	"errors"

	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// contextTable has a row for each agent.
func contextTable(list []inspect.Agent) [][]string {
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

// lookAtAgents adds what the agents would be shown, if the options name a panel.
func (c *sessionsCommand) lookAtAgents(ctx context.Context, store *store.Store, shown *shownSession) (err error) {
	if !c.panels.flags.isNamed() {
		return nil
	}
	panel, _, err := c.panels.look(ctx, store, c.console.warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, panel.Close()) }()
	previews, err := panel.Preview(ctx, shown.ID, shown.Link)
	if err != nil {
		return err
	}
	shown.SetAgents(previews)
	return nil
}
