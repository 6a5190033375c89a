package coordinator

import (
	"context"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// checkContext returns the agent, with the default policy if it has none, or an error for an
// invalid policy.
func checkContext(a Agent, summarizer *Summarizer) (Agent, error) {
	if a.Context.Policy == (policy.Settings{}) {
		a.Context.Policy = policy.Defaults()
	}
	if err := a.Context.Policy.Validate(); err != nil {
		return a, fmt.Errorf("agent %s: %w", a.ID, err)
	}
	if a.Context.Policy.Kind == policy.Summarize && summarizer == nil {
		return a, fmt.Errorf("agent %s: the policy %s needs a summarizer", a.ID, policy.Summarize)
	}
	return a, nil
}

// choose selects the history that each agent gets in the turn, finds context windows that are
// nearly full, and requests a summary if an agent needs a new one.
func (p *Panel) choose(ctx context.Context, t *Turn, d *effect.Turn) (err error) {
	if d.Summary, err = p.summary(ctx, d); err != nil {
		return err
	}
	if d.StepSummarizer, err = p.stepSummarizer(ctx); err != nil {
		return err
	}
	var covers policy.Range
	for i := range d.Size() {
		a := d.Agent(i)
		if a == nil {
			continue
		}
		chosen, err := p.chooseFor(ctx, d, i)
		if err != nil {
			return err
		}
		a.Shown, a.Step = chosen.shown(), chosen.Step
		if chosen.NewSummary.Last > covers.Last {
			covers = chosen.NewSummary
		}
		if chosen.warning != nil {
			t.contextWarnings = append(t.contextWarnings, *chosen.warning)
		}
	}
	if covers.Last == 0 {
		return nil
	}
	sidecall, err := p.describeSummary(ctx, d, covers)
	d.Sidecalls = append(d.Sidecalls, sidecall)
	return err
}

// summarizes reports whether a policy of the agents may use a summary.
func summarizes(list []Agent) bool {
	return slices.ContainsFunc(list, func(a Agent) bool { return a.Context.Policy.Kind == policy.Summarize })
}

// chosen is the selection of the history for an agent.
type chosen struct {
	agents.Chosen
	warning *report.AgentContextWarning // may be nil
}

// shown returns the journaled form of the selection; nil means the whole history.
func (c chosen) shown() *policy.Selection {
	if c.Selection.Everything() {
		return nil
	}
	return &c.Selection
}

func (p *Panel) chooseFor(ctx context.Context, d *effect.Turn, agent int) (chosen, error) {
	a := p.opts.agent(agent)
	messages, err := p.messages(ctx, d)
	if err != nil {
		return chosen{}, err
	}
	c := chosen{}
	if c.Chosen, err = agents.Choose(ctx, p.opts.Store, d, agent, a.Context); err != nil {
		return c, err
	}
	if warning := contextWarning(d.Session, messages, a.Context, c.Chosen); warning.Warning != policy.NoWarning {
		c.warning = &report.AgentContextWarning{Agent: a.ID, ContextWarning: warning}
	}
	return c, nil
}

// contextWarning returns how full an agent's context is. Its Warning may be policy.NoWarning.
func contextWarning(session string, messages int, c agents.Context, chosen agents.Chosen) report.ContextWarning {
	return report.ContextWarning{
		SessionID: session, MessageCount: messages, EstimatedTokens: chosen.Tokens.Tokens, Estimated: chosen.Tokens.Estimated,
		Window: c.Window, Limit: chosen.Limit, Warning: c.Policy.WarnAt.Warning(policy.Use{
			Tokens: chosen.Tokens.Tokens, Limit: chosen.Limit, Messages: messages, NoRoom: chosen.Selection.NoRoom,
		}),
	}
}

// messages counts the messages of the conversation, with the present question.
func (p *Panel) messages(ctx context.Context, d *effect.Turn) (int, error) {
	if d.History == (blob.Ref{}) {
		return 1, nil
	}
	session, err := p.opts.Store.Session(ctx, d.Session)
	return session.Messages + 1, err
}
