package massgen

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/system/blob"
)

// Models returns the models of the agents, in the config's order.
func (p *Panel) Models() []Model { return p.opened.Models }

// Names returns the agents with their models, for people.
func (p *Panel) Names() string { return p.opened.Names() }

// IsDemo reports whether the answers are canned, because this machine has neither a key nor a
// model server.
func (p *Panel) IsDemo() bool { return p.opened.IsDemo() }

// CanSearch reports whether an agent can search the web in turns that ask for it.
func (p *Panel) CanSearch() bool { return p.opened.CanSearch }

// Notices returns the warnings that belong to every result of the panel.
func (p *Panel) Notices() []string { return p.opened.Notices() }

// Tools returns the tools of each agent, in the config's order; nil if workers play the turns.
func (p *Panel) Tools() [][]toolbox.Listed { return p.opened.Tools() }

// Preview returns what each agent would be shown in the session's next turn. history names the
// newest link of the session's history.
func (p *Panel) Preview(ctx context.Context, session string, history blob.Ref) ([]coordinator.Preview, error) {
	return p.opened.Panel.Preview(ctx, session, history)
}

// Rerun plays a recorded turn from the start of one of its rounds, in a new session.
func (p *Panel) Rerun(ctx context.Context, from coordinator.Point, to string) (*Turn, error) {
	return p.begin(func() (*Turn, error) { return p.opened.Panel.Rerun(ctx, from, to) })
}

// Abandon ends the turn that a lost process left in a session without an answer, and returns its
// question and files.
func (p *Panel) Abandon(ctx context.Context, session string) (question string, files []backends.File, err error) {
	return p.opened.Panel.Abandon(ctx, session)
}

// Topic returns what a session's conversation is about.
func (p *Panel) Topic(ctx context.Context, session string) (topic.State, error) {
	return p.opened.Sidecalls.Topic(ctx, session)
}

// SetTopic changes what a session's conversation is about.
func (p *Panel) SetTopic(ctx context.Context, session string, state topic.State) error {
	return p.opened.Sidecalls.SetTopic(ctx, session, state)
}

// ConfirmTopic reports that the next question of a session is the one that brought up its topic.
func (p *Panel) ConfirmTopic(session, question string) { p.opened.Sidecalls.Confirm(session, question) }

// Remember stores a fact about the user of a session.
func (p *Panel) Remember(ctx context.Context, session, fact string) error {
	return p.opened.Sidecalls.Remember(ctx, session, fact)
}

// Coordinator returns the panel as workers play turns with it.
func (p *Panel) Coordinator() *coordinator.Panel { return p.opened.Panel }
