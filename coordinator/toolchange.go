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
	// fault is the error of listing the tools. It may be empty.
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

// turnTools are the agents' present tools in a turn.
type turnTools struct {
	view *view
	doer *agents.Doer
	// version is the version of the tools.
	version uint64
}

// list lists the tools if they may differ from those of a version. The jobs call it, so that the turn's
// goroutine does not wait for servers. The error is for a store that failed.
func (n *turnTools) list(ctx context.Context, known uint64) (*toolListing, error) {
	panel := n.view.panel
	cancelled := func() bool { return ctx.Err() != nil } // nothing waits for the tools any more
	if panel.opts.ToolsVersion == nil || cancelled() {
		return nil, nil
	}
	l := &toolListing{version: panel.opts.ToolsVersion()}
	if l.version == known {
		return nil, nil
	}
	var tools [][]agents.Tool
	err := hook(ctx, "Options.Tools", func() (err error) {
		tools, err = panel.tools(ctx)
		return err
	})
	switch {
	case err == nil:
		l.tools = tools
		return l, n.describe(l)
	case cancelled():
		return nil, nil
	}
	l.fault = contextbuild.Clean(err.Error())
	return l, nil
}

// describe stores the descriptions of the tools for models.
func (n *turnTools) describe(l *toolListing) error {
	l.refs = make([]blob.Ref, len(l.tools))
	for i, tools := range l.tools {
		var err error
		if l.refs[i], err = agents.DescribeTools(n.view.base, n.view.panel.opts.Store, tools); err != nil {
			return fmt.Errorf("store the tools of %s: %w", n.view.id(i), err)
		}
	}
	return nil
}

// resumed returns the post that gives a resumed turn its present tools: the journal may have others.
func (n *turnTools) resumed() (toolsChange, error) {
	l := &toolListing{version: n.version, tools: n.view.turn.tools}
	return toolsChange{tools: n, listing: l}, n.describe(l)
}

// toolsChange are the agents' tools in a resumed turn.
type toolsChange struct {
	unheard
	tools   *turnTools
	listing *toolListing
}

// Events implements driver.Post.
func (c toolsChange) Events(at kernel.Time) ([]turn.Event, error) {
	return c.tools.change(c.listing, at), nil
}

// accept takes listed tools, unless the agents have those of a newer version. It returns the events of the
// change.
func (n *turnTools) accept(l *toolListing, at kernel.Time) []turn.Event {
	if l == nil || l.version <= n.version {
		return nil
	}
	n.version = l.version
	if l.fault != "" {
		n.view.turn.events.add(report.ToolsKept{Why: l.fault})
		return nil
	}
	return n.change(l, at)
}

// change gives the agents their tools, and returns an event for each agent whose tools changed.
func (n *turnTools) change(l *toolListing, at kernel.Time) (events []turn.Event) {
	if n.view.machine.Over() {
		return nil
	}
	for i, tools := range l.tools {
		if l.refs[i] != n.view.machine.Tools(i) {
			events = append(events, turn.ToolsChanged{At: at, Agent: i, Tools: l.refs[i]})
		}
		n.doer.SetTools(i, tools) // tools with equal definitions may still behave differently
	}
	return events
}
