package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/contextbuild/policy"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// checkContext returns the agent with the default policy if it has none, or what is
// wrong with the one that it has.
func checkContext(a Agent) (Agent, error) {
	if a.Context.Policy == (policy.Settings{}) {
		a.Context.Policy = policy.Defaults()
	}
	if err := a.Context.Policy.Validate(); err != nil {
		return a, fmt.Errorf("agent %s: %w", a.ID, err)
	}
	if a.Context.Policy.Kind == policy.Summarize {
		return a, fmt.Errorf("agent %s: the policy %s is not there yet", a.ID, policy.Summarize)
	}
	return a, nil
}

// choose fixes what of the history each agent is shown in the turn, and returns the
// warnings of context windows that are nearly full.
func (p *Panel) choose(ctx context.Context, d *machine.Turn) ([]Event, error) {
	messages, err := p.messages(ctx, d)
	if err != nil {
		return nil, err
	}
	var warnings []Event
	for i, a := range p.opts.Agents {
		chosen, err := agents.Choose(ctx, p.opts.Store, *d, i, a.Context)
		if err != nil {
			return nil, err
		}
		if !chosen.Selection.Everything() {
			d.Agents[i].Shown = &chosen.Selection
		}
		warning := contextWarning(d.Session, messages, a.Context, chosen)
		if warning.Warning != policy.NoWarning {
			warnings = append(warnings, Event{Kind: ContextWarned, Agent: a.ID, Context: &warning})
		}
	}
	return warnings, nil
}

// contextWarning says how near an agent is to what its model can read, which may be
// no warning.
func contextWarning(session string, messages int, c agents.Context, chosen agents.Chosen) ContextWarning {
	return ContextWarning{
		SessionID: session, MessageCount: messages, EstimatedTokens: chosen.Tokens.Tokens, Estimated: chosen.Tokens.Estimated,
		Window: c.Window, Warning: c.Policy.WarnAt.Warning(policy.Use{
			Tokens: chosen.Tokens.Tokens, Window: c.Window, Messages: messages, NoRoom: chosen.Selection.NoRoom,
		}),
	}
}

// messages counts those of the conversation, with the question that is asked.
func (p *Panel) messages(ctx context.Context, d *machine.Turn) (int, error) {
	if d.History == (kernel.Ref{}) {
		return 1, nil
	}
	session, err := p.opts.Store.Session(ctx, d.Session)
	return session.Messages + 1, err
}

// tellSession tells what the session has come to.
func (e *engine) tellSession() error {
	s, err := e.panel.opts.Store.Session(e.base, e.turn.session)
	if err != nil {
		return fmt.Errorf("read the session after turn %s: %w", e.turn.ID(), err)
	}
	update := SessionUpdate{SessionID: s.ID, MessageCount: s.Messages, UsageTotal: told(turn.Usage(s.Usage))}
	e.turn.result.Session = &update
	e.turn.events.add(Event{Kind: SessionUpdated, Session: &update})
	return nil
}

// leftOut says what of the history agents were not shown, a line for those that were
// shown the same.
func (e *engine) leftOut() []string {
	var shown []string
	names := map[string][]string{}
	for i, a := range e.machine.Turn().Agents {
		if a.Shown == nil || !a.Shown.LeftOut {
			continue
		}
		text := a.Shown.String()
		if !slices.Contains(shown, text) {
			shown = append(shown, text)
		}
		names[text] = append(names[text], e.id(i))
	}
	for i, text := range shown {
		shown[i] = fmt.Sprintf("not all of the conversation was shown to %s; policy %s", strings.Join(names[text], ", "), text)
	}
	return shown
}
