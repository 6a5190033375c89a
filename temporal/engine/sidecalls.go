package engine

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
	"github.com/massgen/massgen/sessions"
)

// concluded is what comes after a turn's result was kept: calls that belong to no agent, for
// which the session is still held.
type concluded struct {
	Following []machine.Sidecall `json:"following,omitempty"`
}

// follow makes the calls that follow the answer, if there are any, as effects of the turn,
// and lets go of the session. An interrupt ends them.
func (p *player) follow(list []machine.Sidecall) error {
	if len(list) == 0 {
		return nil
	}
	committed := happening{event: func(at kernel.Time) turn.Event { return turn.Committed{At: at, Sidecalls: list} }}
	if err := p.driver.Take(committed); err != nil {
		return err
	}
	if err := p.drive(); err != nil {
		return err
	}
	ctx := workflow.WithActivityOptions(p.root, p.bookkeeping())
	return workflow.ExecuteActivity(ctx, finishName, p.held()).Get(p.root, nil)
}

// conclude keeps what the turn has come to.
func (h *activities) conclude(ctx context.Context, t held) (concluded, error) {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(t.Owner)
	worker := h.panel.Worker(store)
	var c concluded
	isDone, err := wasDone(ctx, store, t)
	switch {
	case err != nil:
		return c, err
	case !isDone:
		if c.Following, err = worker.Conclude(ctx, t.Session, t.Number); err == nil {
			activity.GetLogger(ctx).Info("a turn is over", "session", t.Session, "turn", t.Number)
		}
		return c, err
	}
	b, isHeld, err := store.Held(ctx, t.Session)
	if err == nil && isHeld && b.Turn == t.Number { // calls follow
		c.Following, err = worker.Following(ctx, t.Session, t.Number)
	}
	return c, err
}

// wasDone says that an earlier try has kept the turn, of which nobody has heard.
func wasDone(ctx context.Context, store Store, t held) (bool, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return false, nil
	}
	last, err := store.Turns(ctx, t.Session, 1)
	if err != nil || len(last) == 0 {
		return false, err
	}
	return last[0].Number > t.Number || last[0].Number == t.Number && last[0].Status != sessions.Running, nil
}

// finish keeps what the calls have come to that followed the answer.
func (h *activities) finish(ctx context.Context, t held) error {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(t.Owner)
	b, isHeld, err := store.Held(ctx, t.Session)
	if err != nil || !isHeld || b.Turn != t.Number { // an earlier try has done it, and nobody heard of it
		return err
	}
	return h.panel.Worker(store).Finish(ctx, t.Session, t.Number)
}
