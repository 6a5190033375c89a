package engine

import (
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// follow makes the calls that follow the answer, if there are any, as effects of the turn, and
// releases the session. An interrupt ends them.
func (p *player) follow(list []effect.Sidecall) error {
	if len(list) == 0 {
		return nil
	}
	committed := happening{event: func(at kernel.Time) turn.Event { return turn.Committed{At: at, Sidecalls: list} }}
	if err := p.driver.Handle(committed); err != nil {
		return err
	}
	if err := p.drive(); err != nil {
		return err
	}
	if err := p.journal.flush(); err != nil {
		return err
	}
	ctx := workflow.WithActivityOptions(p.root, p.bookkeeping())
	return workflow.ExecuteActivity(ctx, finishName, p.held()).Get(p.root, nil)
}
