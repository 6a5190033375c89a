package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/sessions"
)

// Worker does the work of a panel for a runtime in another program that plays the machine
// itself: the preparation before a turn's first event, single effects, and the work after its
// last event. It is safe for concurrent use.
type Worker struct {
	panel *Panel

	mu sync.Mutex
	// doer has run effects of the turn of, with which later ones share what they read.
	doer *agents.Doer
	of   turnName
}

// turnName names a turn.
type turnName struct {
	session string
	number  int
}

// Worker returns a Worker that plays the panel's turns on another store: its own store for
// another owner. It remembers what the last effects of one turn have read.
func (p *Panel) Worker(store Store) *Worker { return &Worker{panel: p.on(store)} }

// on returns the panel on another store. This panel's Wait does not wait for the copy's turns.
func (p *Panel) on(store Store) *Panel {
	opts := p.opts
	opts.Store = store
	return newPanel(opts)
}

// Config returns Options.Config.
func (p *Panel) Config() string { return p.opts.Config }

// Prepare returns the first event of a turn, whose session the store must hold. It stores the
// texts that the event names. The rules come from the terms, whose agents must be the panel's.
// For each limit of the budget, the tighter one of terms and panel holds. The error is
// sessions.ErrNoText if the store has forgotten a text of the terms.
func (w *Worker) Prepare(ctx context.Context, session, question string, begun sessions.Begun, terms TurnOptions) (turn.Accepted, error) {
	if asked, here := terms.Rules.Agents, w.panel.opts.Rules.Agents; !slices.Equal(asked, here) {
		return turn.Accepted{}, fmt.Errorf("the client's agents are %s, and the worker's %s: give both the same config", strings.Join(asked, ", "), strings.Join(here, ", "))
	}
	if !w.panel.opts.has(terms.Rules) {
		return turn.Accepted{}, errors.New("the client's rules name a judge, a verdict or a check that the worker does not have: give both the same config")
	}
	ctx, err := w.withTexts(ctx, terms)
	if err != nil {
		return turn.Accepted{}, fmt.Errorf("read what the question comes with: %w", err)
	}
	t := newTurn(session, begun.Turn, contextbuild.Clean(question))
	described, err := w.panel.prepare(topic.WithClient(ctx, terms.Client), t, begun)
	if err != nil {
		return turn.Accepted{}, err
	}
	limits, err := w.panel.allowance(ctx, terms.Budget.Tighter(w.panel.opts.Budget), session, begun.Turn)
	if err != nil {
		return turn.Accepted{}, err
	}
	w.panel.opts.complete(ctx, &terms.Rules, &described)
	return turn.Accepted{At: kernel.Time(time.Now().UnixMilli()), Rules: terms.Rules, Turn: described, Budget: limits}, nil
}

// withTexts returns the context of a turn whose client has attached files, or given a schema for the answer.
func (w *Worker) withTexts(ctx context.Context, terms TurnOptions) (context.Context, error) {
	store := w.panel.opts.Store
	if terms.Schema != (blob.Ref{}) {
		data, err := store.Get(ctx, terms.Schema)
		if err != nil {
			return ctx, err
		}
		answers, err := schema.ParseStored(data)
		if err != nil {
			return ctx, err
		}
		ctx = schema.With(ctx, answers)
	}
	files := make([]backends.File, len(terms.Files))
	for i, f := range terms.Files {
		data, err := store.Get(ctx, f.Content)
		if err != nil {
			return ctx, fmt.Errorf("%s: %w", f.Name, err)
		}
		files[i] = backends.File{File: f, Data: data}
	}
	return attach.With(ctx, files), nil
}

// Perform runs an effect to its one result, as agents.Doer.Perform does, with this panel's
// backends and tools. The error is for a failing store, or for tools that the panel cannot list.
func (w *Worker) Perform(ctx context.Context, described *effect.Turn, eff effect.Effect) (effect.Reply, error) {
	tools, err := w.panel.tools(ctx)
	if err != nil {
		return nil, agents.UnsentError{Err: err}
	}
	key := eff.EffectKey()
	doer := &agents.Doer{Blobs: w.panel.texts, Members: w.panel.members(tools), Sidecalls: w.panel.sidecalls(newSummaryReader(w.panel)), RunCheck: w.panel.opts.RunCheck}
	if err := w.lendReader(ctx, doer.Sidecalls, described, key.Purpose); err != nil {
		return nil, agents.UnsentError{Err: err}
	}
	w.share(doer, described)
	steps := newSteps(agents.WithPanelValue(ctx, w.panel.opts.PanelValue))
	defer steps.CancelAll()
	return doer.Perform(steps.Of(key.Agent), described, eff)
}

// share lets doer share what earlier effects of its turn have read.
func (w *Worker) share(doer *agents.Doer, described *effect.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if of := (turnName{described.Session, described.Turn}); w.doer == nil || w.of != of {
		w.doer, w.of = doer, of
		return
	}
	doer.ShareWith(w.doer, described)
}

// Concluded is a turn whose outcome is stored.
type Concluded struct {
	// Following are the calls that follow the answer. As long as there are some, the session is held.
	Following []effect.Sidecall
	Result    report.Result
}

// Conclude stores the outcome of a turn whose journal is complete. If calls follow the answer,
// it still holds the session, for Finish; else it releases the session. It may be repeated until
// it succeeds.
func (w *Worker) Conclude(ctx context.Context, session string, number int) (Concluded, error) {
	done, err := w.conclude(ctx, session, number)
	if err != nil {
		return Concluded{}, fmt.Errorf("end turn %d of session %s: %w", number, session, err)
	}
	return done, nil
}

func (w *Worker) conclude(ctx context.Context, session string, number int) (done Concluded, err error) {
	v, events, err := w.replayed(ctx, session, number)
	if err != nil {
		return done, err
	}
	for _, ev := range events {
		v.keep(ev)
	}
	ended, messagesErr, err := v.outcome(nil)
	if err = errors.Join(err, messagesErr); err != nil {
		return done, err
	}
	done = Concluded{v.following(ended), v.turn.result}
	return done, v.commit(ended, len(done.Following) > 0)
}

// replayed replays a journal to its end, and returns the turn with its events.
func (w *Worker) replayed(ctx context.Context, session string, number int) (*view, []turn.Event, error) {
	events, err := readJournal(ctx, w.panel.opts.Store, session, number)
	if err != nil {
		return nil, nil, err
	}
	t, err := w.panel.begun(ctx, session, number, events)
	if err != nil {
		return nil, nil, err
	}
	v := newView(ctx, w.panel, t, new(turn.Machine))
	for i, ev := range events {
		if err := v.apply(ev); err != nil {
			return nil, nil, fmt.Errorf("event %d of its journal: %w", i+1, err)
		}
	}
	if !v.machine.Over() {
		return nil, nil, errors.New("its journal ends before the turn does")
	}
	v.over(time.UnixMilli(int64(events[len(events)-1].When())))
	return v, events, nil
}

// Following returns the result of Conclude again, for a caller that missed Conclude's reply,
// while the session is still held.
func (w *Worker) Following(ctx context.Context, session string, number int) ([]effect.Sidecall, error) {
	v, _, err := w.replayed(ctx, session, number)
	if err != nil {
		return nil, fmt.Errorf("read the calls after turn %d of session %s: %w", number, session, err)
	}
	ended, _, err := v.outcome(nil)
	if err != nil {
		return nil, fmt.Errorf("read the calls after turn %d of session %s: %w", number, session, err)
	}
	return v.following(ended), nil
}

// Finish stores the results of the calls after a turn's answer, and releases the session. Their
// replies are in the journal. It may be repeated while the session is held.
func (w *Worker) Finish(ctx context.Context, session string, number int) error {
	if err := w.finish(ctx, session, number); err != nil {
		return fmt.Errorf("finish turn %d of session %s: %w", number, session, err)
	}
	return nil
}

func (w *Worker) finish(ctx context.Context, session string, number int) error {
	v, events, err := w.replayed(ctx, session, number)
	if err != nil {
		return err
	}
	isCommitted := false
	for _, ev := range events {
		if _, ok := ev.(turn.Committed); ok {
			isCommitted = true
		}
		if isCommitted { // the earlier outcome is stored, and may have changed since
			v.keep(ev)
		}
	}
	if !isCommitted {
		return errors.New("its journal has no calls after the answer")
	}
	v.turn.result, err = v.report.Result(v.unjournaled)
	if err = errors.Join(err, v.recordSpent()); err != nil {
		return err
	}
	return v.finish()
}

// lendReader adds the reader of replies to the call for facts, which knows the answer before
// it.
func (w *Worker) lendReader(ctx context.Context, sidecalls map[effect.Purpose]agents.Sidecall, described *effect.Turn, purpose effect.Purpose) error {
	if purpose != effect.FactExtraction || w.panel.opts.Facts == nil {
		return nil
	}
	answered, _, err := w.replayed(ctx, described.Session, described.Turn)
	var answer []byte
	if err == nil {
		answer, err = w.panel.opts.Store.Get(ctx, answered.machine.Result().Text)
	}
	if err != nil {
		return fmt.Errorf("read the answer of turn %d of session %s: %w", described.Turn, described.Session, err)
	}
	sidecalls[effect.FactExtraction] = w.panel.reader(w.panel.opts.Facts, string(answer))
	return nil
}
