// Package sidecalls makes the calls that belong to no agent (DESIGN §1). It finds the topic of a
// session's question and facts about its user, stores both, and adds them to the agents' system
// messages. All functions take the id of a session.
package sidecalls

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Options are parameters of New.
type Options struct {
	Store *sessions.Store
	// Warn gets the errors that do not end a turn.
	Warn func(text string)
	// TopicChanged and Remembered get the results of calls; they may be nil.
	TopicChanged func(state topic.State)
	Remembered   func(facts []string)
	// Elsewhere reports that another process plays the turns and stores the results of calls.
	// ForOthers reports that this is such a process, and that others watch the turns.
	Elsewhere, ForOthers bool
}

// Keeper keeps the topics of sessions and the facts about users. It is safe for concurrent use.
type Keeper struct {
	Options
	settings providers.Settings
	// pages are the agents' system messages that have page context (seed 002). The first one with
	// a topic counts.
	pages []string
	// showsHistory reports whether every agent's history has the last messages.
	showsHistory bool

	mu sync.Mutex
	// unkept are the topics of sessions that are not in the store yet. Their first turn stores
	// them.
	unkept map[string]topic.State
	// confirmed are the questions by which users have just agreed to a topic, by session.
	confirmed map[string]string
}

// New returns a Keeper for the sessions of a panel.
func New(s providers.Settings, o Options) *Keeper {
	k := &Keeper{Options: o, settings: s, showsHistory: true, unkept: map[string]topic.State{}, confirmed: map[string]string{}}
	for _, a := range s.Config.Agents {
		k.showsHistory = k.showsHistory && a.Context.ShowsLast()
		if _, hasPage := topic.ParsePage(a.SystemMessage); hasPage {
			k.pages = append(k.pages, a.SystemMessage)
		}
	}
	return k
}

// AddTo adds the topics, the facts and the calls of models to the turns of a panel.
func (k *Keeper) AddTo(opts *coordinator.Options, models providers.Sidecalls) {
	opts.Sections, opts.AfterTurn = k.sections, k.afterTurn
	if m := models.Summary; m != nil {
		opts.Summarizer = &coordinator.Summarizer{SidecallModel: helper(m), Window: m.Window, Counter: m.Counter}
	}
	if m := models.Topic; m != nil {
		opts.Topic = &coordinator.Sidecall{SidecallModel: helper(m), Ask: k.askTopic, Read: k.readTopic, Keep: keeping(k, k.storeTopic, k.showTopic)}
	}
	if m := models.Facts; m != nil {
		opts.Facts = &coordinator.Sidecall{SidecallModel: helper(m), Ask: k.askFacts, Read: k.readFacts, Keep: keeping(k, k.storeFacts, k.showFacts)}
	}
}

func helper(m *providers.Sidecall) coordinator.SidecallModel {
	return coordinator.SidecallModel{Backend: m.Backend, Model: m.Model, Params: m.Params}
}

// keeping returns a function that stores the result of a call in the process that plays the turn, and
// reports it in the process that watches the turn.
func keeping[T any](k *Keeper, store func(ctx context.Context, id string, found T) error, tell func(id string, found T)) func(context.Context, string, []byte) error {
	return func(ctx context.Context, id string, kept []byte) error {
		var found T
		err := json.Unmarshal(kept, &found)
		if err != nil {
			err = fmt.Errorf("read what a call has come to: %w", err)
		}
		if err == nil && !k.Elsewhere {
			err = store(ctx, id, found)
		}
		switch {
		case err != nil && k.ForOthers: // the watching process does not get the error
			k.Warn(fmt.Sprintf("session %s: %v", plain.Line(id), err))
		case err == nil && !k.ForOthers:
			tell(id, found)
		}
		return err
	}
}

// sections returns the texts that a session's next turn adds to the system messages: the client's
// text, the session's topic if it has one, and the facts about its user.
func (k *Keeper) sections(ctx context.Context, id string) ([]string, error) {
	state, err := k.Topic(ctx, id)
	if err != nil {
		return nil, err
	}
	return k.sectionsFor(ctx, state, id)
}

func (k *Keeper) sectionsFor(ctx context.Context, state topic.State, id string) (list []string, err error) {
	if text := topic.ClientOf(ctx); text != "" {
		list = append(list, contextbuild.ClientSection(text))
	}
	about, err := k.topicSections(ctx, state, id)
	if err != nil {
		return nil, err
	}
	facts, err := k.factsSections(ctx, id)
	return slices.Concat(list, about, facts), err
}
