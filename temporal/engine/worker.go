package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// Store is what a worker needs of the store that all share, for one owner of its sessions;
// temporal/postgres is one.
type Store interface {
	coordinator.Store
	shared
	turns
}

// shared is what is held for an owner who is at work in several processes.
type shared interface {
	Held(ctx context.Context, session string) (begun sessions.Begun, held bool, err error)
	AppendAt(ctx context.Context, session string, turn, place int, event []byte) (other []byte, err error)
	// AtWork keeps a session that is held from being taken by others until rest is called.
	AtWork(session string) (rest func())
}

type turns interface {
	Turns(ctx context.Context, session string, last int) ([]sessions.Turn, error)
}

// hands do what a workflow asks for. They are safe for concurrent use.
type hands struct {
	panel  *coordinator.Panel
	as     func(owner string) Store
	client client.Client
	// home is the queue of this worker alone.
	home string
}

// mostCancelDelay is how long a call may go on that was cancelled, as a worker learns of it
// by its heartbeat. It is also how long one heartbeat may take: when none comes through in
// that time, Temporal's client cuts what is under way, which costs a call more than the wait
// for a cancellation does.
const mostCancelDelay = 5 * time.Second

// When a worker is told to end, what it has under way may go on for endGrace. What has come
// to nothing by then is cut, and giveBackTime is how long the server may take to hear of it.
const (
	endGrace     = time.Second
	giveBackTime = 5 * time.Second
)

// errEnds is why a worker that is told to end cuts what it has under way.
var errEnds = errors.New("the worker is told to end")

// Work takes part in the turns of all who use the engine's queue, until ctx is done, with
// a panel of the same agents. As returns the store for an owner. It returns when what it
// has begun has ended or was given back.
func (e *Engine) Work(ctx context.Context, panel *coordinator.Panel, as func(owner string) Store) error {
	options := worker.Options{
		MaxHeartbeatThrottleInterval: mostCancelDelay, DefaultHeartbeatThrottleInterval: mostCancelDelay,
		WorkerStopTimeout: endGrace + giveBackTime,
	}
	w := worker.New(e.client, e.queue, options)
	h := &hands{panel: panel, as: as, client: e.client, home: e.queue + "/" + rand.Text()}
	w.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
	for name, run := range map[string]any{
		prepareName: h.prepare, performName: h.perform, journalName: h.journal, concludeName: h.conclude, finishName: h.finish, leaveName: h.leave,
		findNoteName: h.findNote,
		adoptName:    h.adopt,
		keepName:     h.keep,
	} {
		w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
	options.DisableWorkflowWorker = true
	home := worker.New(e.client, h.home, options)
	home.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	home.RegisterActivityWithOptions(h.unmark, activity.RegisterOptions{Name: unmarkName})
	var stopping sync.WaitGroup
	defer stopping.Wait()
	for _, starts := range []worker.Worker{home, w} {
		if err := starts.Start(); err != nil {
			return fmt.Errorf("work for the queue %s of Temporal at %s: %w", e.queue, e.address, err)
		}
		defer stopping.Go(starts.Stop) // all at once
	}
	<-ctx.Done()
	return nil
}

// The kinds of refusals that a client knows, and that no retry changes.
const (
	busyKind      = "busy"
	forgottenKind = "no_text"
	refusedKind   = "refused"
)

func refusal(kind string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), kind, err)
}

// prepare holds the session and writes the turn down.
func (h *hands) prepare(ctx context.Context, in request) (begun, error) {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(in.Owner)
	b, isHeld, err := store.Held(ctx, in.Session)
	if err != nil {
		return begun{}, err
	}
	question, err := store.Get(ctx, in.Question)
	if err != nil && !errors.Is(err, sessions.ErrNoText) {
		return begun{}, err
	}
	switch {
	case isHeld:
		journal, journalErr := store.Journal(ctx, in.Session, b.Turn)
		if journalErr != nil {
			return begun{}, journalErr
		}
		if len(journal) > 0 {
			return h.begun(ctx, b.Turn, journal[0])
		}
	case err != nil:
		return begun{}, refusal(forgottenKind, err)
	default:
		if b, err = store.Begin(ctx, in.Session, string(question)); errors.Is(err, sessions.ErrBusy) {
			return begun{}, refusal(busyKind, err)
		}
	}
	if err != nil {
		return begun{}, err
	}
	defer store.AtWork(in.Session)()
	accepted, err := h.accept(ctx, store, in, string(question), b)
	if err != nil && isCut(ctx) { // another worker goes on with it
		return begun{}, fmt.Errorf("the turn was not prepared: %w", context.Cause(ctx))
	}
	if err != nil {
		refused := sessions.Ended{Status: kernel.AllFailed}
		return begun{}, refusal(refusedKind, errors.Join(err, store.End(context.WithoutCancel(ctx), in.Session, b.Turn, refused)))
	}
	return h.begun(ctx, b.Turn, accepted)
}

// begun is a turn whose agents have their tools on this worker, if they have any.
func (h *hands) begun(ctx context.Context, number int, accepted []byte) (begun, error) {
	b := begun{Number: number, Accepted: accepted, Unattended: h.panel.Unattended()}
	ev, err := turn.Decode(accepted)
	if err != nil {
		return b, err
	}
	if first, ok := ev.(turn.Accepted); ok && needsHome(first.Turn.Agents) {
		at := h.makeHome(ctx)
		b.Home, b.Token = at.Queue, at.Token
	}
	return b, nil
}

// accept writes the first event.
func (h *hands) accept(ctx context.Context, store Store, in request, question string, b sessions.Begun) ([]byte, error) {
	accepted, err := h.panel.On(store).Prepare(ctx, in.Session, question, b, in.Terms)
	if err != nil {
		return nil, err
	}
	accepted.At = in.At
	data, err := turn.Encode(accepted)
	if err != nil {
		return nil, err
	}
	other, err := store.AppendAt(ctx, in.Session, b.Turn, 0, data)
	if other != nil {
		data = other
	}
	return data, err
}

// journal writes one event, or returns the one that stands at its place.
func (h *hands) journal(ctx context.Context, e entry) ([]byte, error) {
	other, err := h.as(e.Owner).AppendAt(ctx, e.Session, e.Number, e.Place, e.Event)
	if errors.Is(err, sessions.ErrNotRunning) {
		return nil, refusal(refusedKind, err)
	}
	return other, err
}

// mostReply is how many bytes an effect's result may have, without its texts: the server
// takes no more than 2 MB at once, and the transcripts of calls name what is in it again.
const mostReply = 256 << 10

// perform does one effect.
func (h *hands) perform(ctx context.Context, w work) (result, error) {
	e, err := w.Effect.effect()
	if err != nil {
		return result{}, err
	}
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(w.Owner)
	switch _, isHeld, err := store.Held(context.WithoutCancel(ctx), w.Session); {
	case err != nil:
		return result{}, fmt.Errorf("find out whether session %s is held: %w", w.Session, err)
	case !isHeld:
		return result{}, fmt.Errorf("turn %d of session %s is not held any more", w.Turn.Turn, w.Session)
	}
	defer store.AtWork(w.Session)()
	if w.Lost != "" {
		return h.lostTools(ctx, store, w)
	}
	called := ctx
	if w.Limited {
		info := activity.GetInfo(ctx).WorkflowExecution
		called = backends.WithBudget(ctx, grants{h.client, info.ID, info.RunID, e.EffectKey(), w.Try, w.Priced, activity.GetLogger(ctx)})
	}
	ev, err := h.panel.On(store).Perform(called, w.Turn, e, w.Try > 0)
	if err != nil {
		return result{}, err
	}
	return told(ctx, ev)
}

// told is what an effect came to. One that was cut off has come to nothing: it is done
// again.
func told(ctx context.Context, ev machine.Event) (result, error) {
	if isCutOff(ctx, ev) {
		return result{}, fmt.Errorf("the effect was cut off: %w", context.Cause(ctx))
	}
	switch ev := ev.(type) {
	case machine.ModelReply:
		return result{Model: bounded(ev)}, nil
	case machine.ToolReply:
		return result{Tool: &ev}, nil
	}
	return result{}, fmt.Errorf("an effect ended with %T", ev)
}

// bounded is a reply that Temporal takes. Only a message with thousands of tool calls has
// more.
func bounded(reply machine.ModelReply) *machine.ModelReply {
	if data, err := json.Marshal(reply); err == nil && len(data) > mostReply {
		message := fmt.Sprintf("a message with %d tool calls, which is more than can be carried", len(reply.Calls))
		reply = machine.ModelReply{Usage: reply.Usage, Failure: &machine.Failure{Kind: string(backends.KindBadRequest), Message: message}}
	}
	return &reply
}

// atWork tells the server that the worker is alive, and so learns of a cancellation, until
// stop is called. The context that it returns also ends when the worker does: Temporal's
// client would end it only when it waits no longer for the server to hear of that.
func atWork(ctx context.Context) (working context.Context, stop func()) {
	working, cut := context.WithCancelCause(ctx)
	ticker := time.NewTicker(min(mostCancelDelay, activity.GetInfo(ctx).HeartbeatTimeout/4))
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		told := activity.GetWorkerStopChannel(ctx)
		var graceOver <-chan time.Time
		for {
			select {
			case <-done:
				return
			case <-working.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-told:
				told, graceOver = nil, time.After(endGrace)
			case <-graceOver:
				cut(errEnds)
			}
		}
	}()
	return working, func() {
		ticker.Stop()
		close(done)
		<-ended
		cut(nil)
	}
}

// leave lets go of a turn that cannot go on.
func (h *hands) leave(ctx context.Context, t held) error {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(t.Owner)
	if _, isHeld, err := store.Held(ctx, t.Session); err != nil || !isHeld {
		return err
	}
	return store.Leave(ctx, t.Session, t.Number)
}
