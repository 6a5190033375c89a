package compare

import (
	"context"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/providers"
)

// limit bounds the output of a panel's calls, so that the price of each is known before it is made.
func limit(config *configs.Config, most float64) {
	usd := budget.Dollars(most)
	if config.Budget.Turn.USD == nil || usd < *config.Budget.Turn.USD {
		config.Budget.Turn.USD = &usd
	}
}

// price returns the highest price of an answer, with the first calls of all agents and so many later ones. If isShared
// is true, another strategy pays for the first calls that are shared. ok is false if a price is not known.
func (r *runner) price(ctx context.Context, u unit, isShared bool, later int) (usd float64, ok bool, err error) {
	if _, err := r.panel(ctx, u); err != nil { // it connects the models
		return 0, false, err
	}
	longest := ""
	for _, q := range r.plan.Questions {
		if len(q.Question) > len(longest) {
			longest = q.Question
		}
	}
	// An input has the prompts of a panel, and later ones the answers.
	const prompt, answer = 6000, 4000 // bytes
	answers := answer * len(u.config.Agents)
	dearest, sum := 0.0, 0.0
	for _, a := range u.config.Agents {
		m, input := r.models[agentOf{u.Digest, a.ID}], len(longest)+len(a.SystemMessage)+prompt
		first, after := mostOf(ctx, m, a.Backend, input), mostOf(ctx, m, a.Backend, input+answers)
		if first == nil || after == nil {
			return 0, false, nil
		}
		if !isShared || !r.plan.shares(a.ID) {
			sum += *first
		}
		dearest = max(dearest, *after)
	}
	deciding := u.config.Orchestrator.Deciding
	for id, of := range map[string]configs.Backend{kernel.JudgeID: deciding.Judge.Backend, kernel.VerdictID: deciding.Verdict} {
		m, isThere := r.models[agentOf{u.Digest, id}]
		if !isThere {
			continue
		}
		after := mostOf(ctx, m, of, len(longest)+len(deciding.Judge.SystemMessage)+prompt+answers)
		if after == nil {
			return 0, false, nil
		}
		dearest = max(dearest, *after)
	}
	return sum + float64(later)*dearest, true, nil
}

// mostOf returns the highest price of a call with so many bytes of input; nil if it is not known.
func mostOf(ctx context.Context, m providers.Model, of configs.Backend, bytes int) *float64 {
	probe := &probe{}
	req := backends.Request{Model: m.Name, Messages: []backends.Message{backends.User(strings.Repeat("word ", bytes/5))}, Params: of.Params}
	for _, err := range m.Backend.Stream(backends.WithBudget(ctx, probe), req) {
		if err != nil {
			break
		}
	}
	return probe.most
}

// probe is a budget that notes what an attempt would cost, and lets none through.
type probe struct{ most *float64 }

// Reserve implements backends.Budget.
func (p *probe) Reserve(_ context.Context, most, _ backends.Cost) (backends.Reservation, int, error) {
	p.most = most.USD
	return nil, 0, backends.Unpaid(backends.KindBudget, "the call is only reckoned", nil)
}
