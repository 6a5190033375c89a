// Package sidecalls makes the calls that belong to no agent (DESIGN §1): it finds out the
// topic of a session's question and what is to be remembered of its user, keeps both, and
// tells the agents of them. Everything is by the id of a session.
package sidecalls

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Settings say what a Keeper works with.
type Settings struct {
	Store *sessions.Store
	// SystemMessages are the agents' own, which may have page context (seed 002). The first
	// that has some counts.
	SystemMessages []string
	Redact         func(text string) string
	Log            *slog.Logger
	// Warn is told what goes wrong without ending a turn.
	Warn func(text string)
	// TopicChanged and Remembered are told what a call has come to; they may be nil.
	TopicChanged func(state topic.State)
	Remembered   func(facts []string)
	// Elsewhere says that another process plays the turns, and keeps what calls come to;
	// ForOthers that this one is such a process, and that others watch.
	Elsewhere, ForOthers bool
}

// Keeper keeps the topics of sessions, and what is remembered of users. It is safe for
// concurrent use.
type Keeper struct {
	Settings

	mu sync.Mutex
	// unkept are the topics of sessions that are not in the store yet: their first turn
	// stores them.
	unkept map[string]topic.State
	// confirmed are the questions by which users have just agreed to a topic, by session.
	confirmed map[string]string
}

// New returns a Keeper.
func New(s Settings) *Keeper {
	s.SystemMessages = slices.DeleteFunc(slices.Clone(s.SystemMessages), func(message string) bool {
		_, hasPage := topic.ParsePage(message)
		return !hasPage
	})
	return &Keeper{Settings: s, unkept: map[string]topic.State{}, confirmed: map[string]string{}}
}

// AddTo has the turns of a panel made with what is kept, and with the calls of models.
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

// keeping stores what a call has come to where the turn is played, and tells of it where
// somebody watches it.
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
		case err != nil && k.ForOthers: // whoever watches does not hear of it
			k.Warn(fmt.Sprintf("session %s: %v", plain.Line(id), err))
		case err == nil && !k.ForOthers:
			tell(id, found)
		}
		return err
	}
}

// sections are the parts of the system messages that a session's next turn adds: what its client
// says, the session's topic, if it has one, and what is remembered of its user.
func (k *Keeper) sections(ctx context.Context, id string) ([]string, error) {
	state, err := k.current(ctx, id)
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
