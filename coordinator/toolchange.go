package coordinator

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// toolListing is the list of the agents' tools at a version.
type toolListing struct {
	version uint64
	tools   [][]agents.Tool
	refs    []blob.Ref
	// fault is the error of listing them, empty if there was none.
	fault string
}

// giveTools gives a turn that begins or resumes its tools.
func (p *Panel) giveTools(ctx context.Context, t *Turn) (err error) {
	if p.opts.ToolsVersion != nil {
		t.toolsVersion = p.opts.ToolsVersion()
	}
	t.tools, err = p.tools(ctx)
	return err
}

// listTools lists the tools if they may differ from those of a version. It runs in the effect's
// goroutine, so that the loop does not wait for servers. The error is for a store that failed. If
// Options.Tools ends the goroutine (runtime.Goexit), listTools passes the listing to ended.
func (e *localTurn) listTools(ctx context.Context, known uint64, ended func(*toolListing)) (*toolListing, error) {
	cancelled := func() bool { return ctx.Err() != nil } // nothing waits for the tools any more
	if e.panel.opts.ToolsVersion == nil || cancelled() {
		return nil, nil
	}
	l := &toolListing{version: e.panel.opts.ToolsVersion(), fault: "Options.Tools ended its goroutine"}
	if l.version == known {
		return nil, nil
	}
	returned := false
	defer func() {
		if !returned {
			ended(l)
		}
	}()
	err := guarded("Options.Tools", func() (err error) {
		l.tools, err = e.panel.tools(ctx)
		return err
	})
	returned, l.fault = true, ""
	switch {
	case err == nil:
		return l, e.describeTools(l)
	case cancelled():
		return nil, nil
	}
	l.fault = contextbuild.Clean(err.Error())
	return l, nil
}

// describeTools stores the descriptions of the tools for models.
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

// acceptTurnTools takes the tools of a resumed turn, whose journal may have others.
func (e *localTurn) acceptTurnTools() error {
	l := &toolListing{version: e.toolsVersion, tools: e.turn.tools}
	if err := e.describeTools(l); err != nil {
		return err
	}
	return e.driver.Handle(toolsChange{local: e, listing: l})
}

// toolsChange are the agents' tools in a resumed turn.
type toolsChange struct {
	unheard
	local   *localTurn
	listing *toolListing
}

// Events implements driver.Post.
func (n toolsChange) Events(at kernel.Time) ([]turn.Event, error) {
	return n.local.changeTools(n.listing, at), nil
}

// acceptTools takes listed tools, unless a newer list was taken since, and returns the events of
// the change.
func (e *localTurn) acceptTools(l *toolListing, at kernel.Time) []turn.Event {
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

// changeTools gives the agents their tools, and returns an event for each agent whose tools
// changed.
func (e *localTurn) changeTools(l *toolListing, at kernel.Time) (events []turn.Event) {
	if e.machine.Over() {
		return nil
	}
	for i, tools := range l.tools {
		if l.refs[i] != e.machine.Tools(i) {
			events = append(events, turn.ToolsChanged{At: at, Agent: i, Tools: l.refs[i]})
		}
		e.doer.SetTools(i, tools) // tools with equal definitions may still behave differently
	}
	return events
}
