package coordinator

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// Preview is the history that an agent would get in a session's next turn.
type Preview struct {
	Agent  string
	Policy policy.Kind
	// Shown is the selection of the history, and History are its messages, oldest turn first.
	Shown   policy.Selection
	History []contextbuild.Exchange
	// NewSummary is the range of turns that the turn would summarize first. It is zero if the turn
	// would make no summary.
	NewSummary policy.Range
	// Context counts the first input of the turn, without its question. Its Warning may be empty.
	Context report.ContextWarning
}

// Preview returns, in the order of the agents, the history that they would get if a turn of a
// session began now. history is the newest link of the session's history (sessions.Turn.Link), zero
// for a new session. Preview calls no model and stores nothing.
func (p *Panel) Preview(ctx context.Context, session string, history blob.Ref) ([]Preview, error) {
	list, err := p.preview(ctx, session, history)
	if err != nil {
		return nil, fmt.Errorf("preview the next turn of session %s: %w", session, err)
	}
	return list, nil
}

func (p *Panel) preview(ctx context.Context, session string, history blob.Ref) ([]Preview, error) {
	d, err := p.describe(ctx, newTurn(session, 0, ""), history)
	if err != nil {
		return nil, err
	}
	if d.Summary, err = p.summary(ctx, &d); err != nil {
		return nil, err
	}
	messages, err := p.messages(ctx, &d)
	if err != nil {
		return nil, err
	}
	list := make([]Preview, len(p.opts.Agents))
	for i, a := range p.opts.Agents {
		chosen, err := agents.Count(ctx, p.opts.Store, &d, i, a.Context)
		if err != nil {
			return nil, err
		}
		d.Agents[i].Shown = &chosen.Selection
		shown, err := agents.ShownHistory(ctx, p.opts.Store, &d, i)
		if err != nil {
			return nil, err
		}
		list[i] = Preview{
			Agent: a.ID, Policy: a.Context.Policy.Kind, Shown: chosen.Selection, History: shown, NewSummary: chosen.NewSummary,
			Context: contextWarning(session, messages, a.Context, chosen),
		}
	}
	return list, nil
}
