package sessions

import (
	"context"
	"errors"

	"github.com/massgen/massgen/internal/storage/store"
)

// lookAtAgents adds what the agents would be shown, if the options name a panel.
func (c *command) lookAtAgents(ctx context.Context, store *store.Store, shown *shownSession) (err error) {
	if !c.panels.Flags.IsNamed() {
		return nil
	}
	panel, _, err := c.panels.Look(ctx, store, c.console.Warn)
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
