package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/sessions"
)

// ErrNoWorker is the error of a turn that no process of a Remote would play now. One may play it later.
var ErrNoWorker = errors.New("no worker plays the turn")

// Remote plays turns in other processes. These share the panel's store and have panels of the
// same agents. A Remote is safe for concurrent use.
type Remote interface {
	// Begin starts the next turn of a session. It returns when the turn's journal has its first
	// event. If ctx ends before that, the turn does not begin or ends as interrupted. The error is
	// sessions.ErrNoText if the store has forgotten a text of the terms before the turn began, and ErrNoWorker if no
	// process would play the turn.
	Begin(ctx context.Context, session, question string, terms TurnOptions) (RemoteTurn, error)
	// Attach returns the running turn of a session. The error is sessions.ErrNoSession if
	// no turn runs.
	Attach(ctx context.Context, session string) (RemoteTurn, error)
}

// TurnOptions are the client's terms for a turn, beside the question.
type TurnOptions struct {
	// Config is Options.Config: only a panel with the same one plays the turn.
	Config string        `json:"config,omitempty"`
	Rules  kernel.Config `json:"rules"`
	Budget budget.Budget `json:"budget"`
	// Client is the client's instructions to the agents, beside the question
	// (topic.WithClient).
	Client string `json:"client,omitempty"`
	// Metadata is stored in the session with the turn's first event (sessions.WithMetadata).
	Metadata map[string]string `json:"metadata,omitempty"`
	// Files are attached to the question, and Schema describes the answer: texts that are in the store.
	Files  []blob.File `json:"files,omitempty"`
	Schema blob.Ref    `json:"schema,omitzero"`
}

// RemoteTurn is a turn that a Remote plays. It is safe for concurrent use. A RemoteTurn that can go on
// without an agent also has the method Dismiss(ctx context.Context, agent string) error.
type RemoteTurn interface {
	// Number is the turn's place in its session.
	Number() int
	// Wait returns when the turn is over and its result is in the store. Until then it calls changed, in one
	// goroutine, whenever the turn's journal may have new events, and once at the start.
	Wait(ctx context.Context, changed func()) error
	// Interrupt ends the turn with the best answer so far.
	Interrupt(ctx context.Context) error
	// Note adds a text to the question. If the note came before the end, the journal has a
	// turn.Noted with its ID. The error is driver.ErrOver if the turn is known to be over.
	Note(ctx context.Context, id, text string) error
	// SetPaused pauses the turn, or lets it go on. It returns when the remote process has the
	// request. The error is driver.ErrOver if the turn is known to be over.
	SetPaused(ctx context.Context, pause bool) error
}

// startRemote starts a turn that Options.Remote plays.
func (p *Panel) startRemote(ctx context.Context, session, question string) (*Turn, error) {
	masked, err := stored(ctx, p.opts.Store, question)
	if err != nil {
		return nil, fmt.Errorf("begin a turn of session %s: %w", session, err)
	}
	var remote RemoteTurn
	const tries = 3
	for try := 1; ; try++ {
		terms, err := p.terms(ctx, session)
		if err == nil {
			remote, err = p.opts.Remote.Begin(ctx, session, masked, terms)
		}
		if errors.Is(err, sessions.ErrNoText) && try < tries { // the end of another turn had the store forget them
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("begin a turn of session %s: %w", session, err)
		}
		break
	}
	t := newTurn(session, remote.Number(), question)
	err = whileHeld(
		func() error { return beforeTurn(ctx, p.opts.BeforeTurn, t) },
		func() error { return remote.Interrupt(context.WithoutCancel(ctx)) },
	)
	if err != nil {
		return nil, err
	}
	p.watch(ctx, t, remote)
	return t, nil
}

// terms returns the client's terms for a turn, and stores the texts that they name.
func (p *Panel) terms(ctx context.Context, session string) (terms TurnOptions, err error) {
	terms = TurnOptions{
		Config: p.opts.Config, Rules: p.opts.Rules, Budget: p.opts.Budget, Client: topic.ClientOf(ctx), Metadata: sessions.MetadataOf(ctx, session),
	}
	if answers := schema.Of(ctx); answers != nil {
		if terms.Schema, err = p.opts.Store.Put(ctx, []byte(answers.String())); err != nil {
			return terms, err
		}
	}
	terms.Files, _, err = agents.AttachFiles(ctx, p.opts.Store, attach.Takes{Images: true, PDFs: true}, attach.Of(ctx))
	return terms, err
}

// stored returns a text as the store keeps it: without secrets, which a Remote must not get.
func stored(ctx context.Context, store agents.Blobs, text string) (masked string, err error) {
	ref, err := store.Put(ctx, []byte(text))
	if err != nil {
		return "", err
	}
	data, err := store.Get(ctx, ref)
	return string(data), err
}

// attach watches the turn that is running in a session.
func (p *Panel) attach(ctx context.Context, session string) (*Turn, error) {
	if !p.opts.Override.None() {
		return nil, fmt.Errorf("resume session %s: the budget of a turn that workers play cannot be changed: leave the limits out", session)
	}
	remote, err := p.opts.Remote.Attach(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("resume session %s: %w", session, err)
	}
	var t *Turn
	events, err := readJournal(ctx, p.opts.Store, session, remote.Number())
	if err == nil {
		t, err = p.begun(ctx, session, remote.Number(), events)
	}
	if err != nil {
		return nil, fmt.Errorf("resume turn %d of session %s: %w", remote.Number(), session, err)
	}
	p.watch(ctx, t, remote)
	return t, nil
}
