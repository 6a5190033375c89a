package coordinator

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/turn"
)

// toolListing is what the agents' tools are at a version.
type toolListing struct {
	version uint64
	tools   [][]agents.Tool
	refs    []blob.Ref
	// fault is why they could not be listed, empty if they were.
	fault string
}

// giveTools gives a turn that begins or goes on its tools.
func (p *Panel) giveTools(ctx context.Context, t *Turn) (err error) {
	if p.opts.ToolsVersion != nil {
		t.toolsVersion = p.opts.ToolsVersion()
	}
	t.tools, err = p.tools(ctx)
	return err
}

// listTools lists the tools if they may be others than those of a version. It is called
// where an effect runs, so that the loop does not wait for servers. The error is that of a
// store that does not work.
func (e *localTurn) listTools(ctx context.Context, known uint64) (*toolListing, error) {
	cancelled := func() bool { return ctx.Err() != nil } // nobody waits for them any more
	if e.panel.opts.ToolsVersion == nil || cancelled() {
		return nil, nil
	}
	l := &toolListing{version: e.panel.opts.ToolsVersion()}
	if l.version == known {
		return nil, nil
	}
	err := guarded("who lists the tools", func() (err error) {
		l.tools, err = e.panel.tools(ctx)
		return err
	})
	switch {
	case err == nil:
		return l, e.describeTools(l)
	case cancelled():
		return nil, nil
	}
	l.fault = contextbuild.Clean(err.Error())
	return l, nil
}

// describeTools stores what models are told of the tools.
func (e *localTurn) describeTools(l *toolListing) error {
	l.refs = make([]blob.Ref, len(l.tools))
	for i, tools := range l.tools {
		var err error
		if l.refs[i], err = agents.DescribeTools(e.base, e.panel.opts.Store, tools); err != nil {
			return fmt.Errorf("store the tools of %s: %w", e.id(i), err)
		}
	}
	return nil
}

// takeTurnTools takes the tools of a turn that is resumed, whose journal may have others.
func (e *localTurn) takeTurnTools() error {
	l := &toolListing{version: e.toolsVersion, tools: e.turn.tools}
	if err := e.describeTools(l); err != nil {
		return err
	}
	return e.driver.Take(newTools{local: e, listing: l})
}

// newTools are the agents' tools of a turn that is resumed.
type newTools struct {
	unheard
	local   *localTurn
	listing *toolListing
}

// Events implements driver.Post.
func (n newTools) Events(at kernel.Time) ([]turn.Event, error) {
	return n.local.changeTools(n.listing, at), nil
}

// takeTools takes tools that were listed, if none were since, and returns what changes.
func (e *localTurn) takeTools(l *toolListing, at kernel.Time) []turn.Event {
	if l == nil || l.version <= e.toolsVersion {
		return nil
	}
	e.toolsVersion = l.version
	if l.fault != "" {
		e.turn.events.add(report.ToolsKept{Why: l.fault})
		return nil
	}
	return e.changeTools(l, at)
}

// changeTools gives the agents their tools, and returns which of them have others than
// before.
func (e *localTurn) changeTools(l *toolListing, at kernel.Time) (events []turn.Event) {
	if e.machine.Over() {
		return nil
	}
	for i, tools := range l.tools {
		if l.refs[i] != e.machine.Tools(i) {
			events = append(events, turn.ToolsChanged{At: at, Agent: i, Tools: l.refs[i]})
		}
		e.doer.SetTools(i, tools) // whose definitions are the same may differ in what they do
	}
	return events
}
