package coordinator

import (
	"context"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// checkTools returns an error that names an invalid tool of an agent, or two tools of the same
// name.
func checkTools(agent string, tools []agents.Tool) error {
	names := map[string]bool{effect.NewAnswer: true, effect.Vote: true}
	for i, tool := range tools {
		if tool == nil {
			return fmt.Errorf("agent %s: tool %d is nil: check the error of the function that made it", agent, i+1)
		}
		name := tool.Definition().Name
		if names[name] {
			return fmt.Errorf("agent %s has a second tool named %q: rename one; new_answer and vote belong to the coordination", agent, name)
		}
		names[name] = true
	}
	return nil
}

// tools returns the tools of a turn, by agent, and those of the judge.
func (p *Panel) tools(ctx context.Context) ([][]agents.Tool, error) {
	list, err := p.memberTools(ctx)
	if err == nil && p.opts.Judge != nil {
		list = append(list, forwarded(list[0]))
	}
	return list, err
}

// memberTools returns the tools of a turn, by member of the panel.
func (p *Panel) memberTools(ctx context.Context) ([][]agents.Tool, error) {
	list := make([][]agents.Tool, len(p.opts.Agents))
	if p.opts.Tools == nil {
		for i, a := range p.opts.Agents {
			list[i] = a.Tools
		}
		return list, nil
	}
	given, err := p.opts.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the agents' tools: %w", err)
	}
	if len(given) != len(list) {
		return nil, fmt.Errorf("list the agents' tools: Options.Tools returned %d lists for %d agents", len(given), len(list))
	}
	for i, a := range p.opts.Agents {
		if err := checkTools(a.ID, given[i]); err != nil {
			return nil, err
		}
		list[i] = slices.Clone(given[i])
	}
	return list, nil
}

// members returns the agents of a turn with their tools.
func (p *Panel) members(tools [][]agents.Tool) []agents.Member {
	members := make([]agents.Member, p.opts.size())
	for i := range members {
		a := p.opts.agent(i)
		if a == nil {
			continue
		}
		members[i] = agents.Member{
			Backend: a.Backend, Permit: a.Permit, KeepResult: a.KeepResult, Snapshot: a.Snapshot,
			Headers: a.Params.Headers, ExtraBody: a.Params.ExtraBody, Takes: a.Takes,
		}
		if i < len(tools) {
			members[i].Tools = tools[i]
		}
		if len(p.opts.Agents) > 1 { // a panel of one gives its final answer at once
			members[i].Plan = a.Plan
		}
	}
	return members
}
