package coordinator

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// PartialText is what had come of an agent's message when its call was cancelled, cut or
// timed out, or failed in another way. It is never an answer, and no model is shown it.
type PartialText struct {
	Agent   string          `json:"agent"`
	Round   int             `json:"round"`
	Purpose machine.Purpose `json:"purpose"`
	// Reason is the kind of the failure: cancelled, timeout, network and so on.
	Reason  string `json:"reason"`
	Content string `json:"content"`
}

// describePartials reads partial texts of a turn, whose agents have these ids.
func describePartials(ctx context.Context, blobs agents.Blobs, ids []string, partials []turn.Partial) ([]PartialText, error) {
	list := []PartialText{}
	for _, p := range partials {
		text, err := blobs.Get(ctx, p.Text)
		if err != nil {
			return nil, fmt.Errorf("read what had come of %s: %w", p.Key, err)
		}
		list = append(list, PartialText{ids[p.Key.Agent], p.Key.Round, p.Key.Purpose, p.Reason, string(text)})
	}
	return list, nil
}

func (e *engine) partials() ([]PartialText, error) {
	list, err := describePartials(e.base, e.panel.opts.Store, e.panel.opts.Rules.Agents, e.machine.Partials())
	if err != nil {
		return nil, fmt.Errorf("turn %s: %w", e.turn.ID(), err)
	}
	return list, nil
}

// toldPartial is what is told of the message that a step ended with. What cannot be read
// is not told: the loop finds out itself that the store does not work.
func (e *engine) toldPartial(partial kernel.Ref) string {
	if partial == (kernel.Ref{}) {
		return ""
	}
	text, err := e.panel.opts.Store.Get(e.base, partial)
	if err != nil {
		return ""
	}
	return string(text)
}

// KeptPartials returns the partial texts of a turn from its journal, as its Result has
// them, whatever became of the turn. A turn of a branch has no journal, and so none. The
// error says that the store does not work, or that the journal is damaged or of another
// version.
func KeptPartials(ctx context.Context, store Store, session string, number int) ([]PartialText, error) {
	list, err := keptPartials(ctx, store, session, number)
	if err != nil {
		return nil, fmt.Errorf("read the partial texts of turn %d of session %s: %w", number, session, err)
	}
	return list, nil
}

func keptPartials(ctx context.Context, store Store, session string, number int) ([]PartialText, error) {
	events, err := readJournal(ctx, store, session, number)
	if err != nil {
		return nil, err
	}
	var ids []string
	var partials []turn.Partial
	for _, ev := range events {
		if accepted, ok := ev.(turn.Accepted); ok {
			ids = accepted.Rules.Agents
		}
		p, ok := turn.PartialOf(ev)
		if !ok || p.Key.Agent == machine.NoAgent {
			continue
		}
		if p.Key.Agent < 0 || p.Key.Agent >= len(ids) { // an import may have anything in it
			return nil, fmt.Errorf("there is no agent %d", p.Key.Agent)
		}
		partials = append(partials, p)
	}
	return describePartials(ctx, store, ids, partials)
}
