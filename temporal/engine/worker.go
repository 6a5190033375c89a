package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
	"github.com/massgen/massgen/sessions"
)

// Store is what a worker needs of the store that all share, for one owner of its sessions;
// temporal/postgres is one.
type Store interface {
	coordinator.Store
	shared
	results
}

// shared is what is held for an owner who is at work in several processes.
type shared interface {
	Held(ctx context.Context, session string) (begun sessions.Begun, held bool, err error)
	AppendAt(ctx context.Context, session string, turn, place int, events ...[]byte) error
	// AtWork keeps a session that is held from being taken by others until rest is called.
	AtWork(session string) (rest func())
}

// results are the results of turns and of their effects.
type results interface {
	Turns(ctx context.Context, session string, last int) ([]sessions.Turn, error)
	// KeepResult stores the result of an effect while the session is held, and returns the one
	// that counts: the first. Result returns that, nil if there is none.
	KeepResult(ctx context.Context, session string, turn int, key string, result []byte) (stands []byte, err error)
	Result(ctx context.Context, session string, turn int, key string) ([]byte, error)
}

// activities do what a workflow asks for. They are safe for concurrent use.
type activities struct {
	panel  *coordinator.Panel
	as     func(owner string) Store
	server server
	// home is the queue of this worker alone.
	home     string
	inFlight inFlight
}

// mostCancelDelay is how long a call may go on that was cancelled, as a worker learns of it
// by its heartbeat.
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
	w := worker.New(e.client, e.queueOf(panel.Config()), options)
	h := &activities{panel: panel, as: as, server: temporalServer{e.client}, home: e.queue + "/worker/" + rand.Text()}
	defer h.inFlight.end()
	w.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
	for name, run := range map[string]any{
		prepareName: h.prepare, performName: h.perform, journalName: h.journal, concludeName: h.conclude, finishName: h.finish, leaveName: h.leave,
		keepNoteName: h.keepNote,
		keepName:     h.keep,
	} {
		w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
	options.DisableWorkflowWorker = true
	home := worker.New(e.client, h.home, options)
	home.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	// Nobody asks for anything here: it shows that there are workers, also to those with another
	// config. It is the last to start.
	shown := worker.New(e.client, e.queue, options)
	shown.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	var stopping sync.WaitGroup
	defer stopping.Wait()
	for _, starts := range []worker.Worker{home, w, shown} {
		if err := starts.Start(); err != nil {
			return fmt.Errorf("work for the queue %s of Temporal at %s: %w", e.queue, e.address, err)
		}
		defer stopping.Go(starts.Stop) // all at once
	}
	<-ctx.Done()
	return nil
}

// The kinds of errors: of refusals, which a client knows, and which no retry changes; and of
// effects without a result.
const (
	busyKind    = "busy"
	refusedKind = "refused"

	// unsentKind is of one that was not begun, endedKind of one whose worker was told to end.
	unsentKind = "unsent"
	endedKind  = "ended"
)

func refusal(kind string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), kind, err)
}

// prepare holds the session and writes the turn down.
func (h *activities) prepare(ctx context.Context, in request) (begun, error) {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(in.Owner)
	b, isHeld, err := store.Held(ctx, in.Session)
	if err != nil {
		return begun{}, err
	}
	switch {
	case isHeld:
		journal, journalErr := store.Journal(ctx, in.Session, b.Turn, 0)
		if journalErr != nil {
			return begun{}, journalErr
		}
		if len(journal) > 0 {
			return h.begun(b.Turn, journal[0])
		}
	default:
		if b, err = store.Begin(ctx, in.Session, string(in.Question)); errors.Is(err, sessions.ErrBusy) {
			return begun{}, refusal(busyKind, err)
		}
	}
	if err != nil {
		return begun{}, err
	}
	defer store.AtWork(in.Session)()
	accepted, err := h.accept(ctx, store, in, b)
	if err != nil && isCut(ctx) { // another worker goes on with it
		return begun{}, fmt.Errorf("the turn was not prepared: %w", context.Cause(ctx))
	}
	if err != nil {
		refused := sessions.Ended{Status: kernel.AllFailed}
		return begun{}, refusal(refusedKind, errors.Join(err, store.End(context.WithoutCancel(ctx), in.Session, b.Turn, refused)))
	}
	activity.GetLogger(ctx).Info("a turn has begun", "session", in.Session, "turn", b.Turn)
	return h.begun(b.Turn, accepted)
}

// begun is a turn whose agents have their tools on this worker, if they have any.
func (h *activities) begun(number int, accepted []byte) (begun, error) {
	b := begun{Number: number, Accepted: accepted, Unattended: h.panel.Unattended()}
	ev, err := turn.Decode(accepted)
	if err != nil {
		return b, err
	}
	if first, ok := ev.(turn.Accepted); ok && needsHome(first.Turn.Agents) {
		b.Home = h.home
	}
	return b, nil
}

// needsHome says that agents have tools, or files.
func needsHome(agents []machine.Agent) bool {
	return slices.ContainsFunc(agents, func(a machine.Agent) bool { return a.Tools != kernel.Ref{} || a.Workspace })
}

// accept writes the first event.
func (h *activities) accept(ctx context.Context, store Store, in request, b sessions.Begun) ([]byte, error) {
	accepted, err := h.panel.Worker(store).Prepare(ctx, in.Session, string(in.Question), b, in.Terms)
	if err != nil {
		return nil, err
	}
	accepted.At = in.At
	data, err := turn.Encode(accepted)
	if err != nil {
		return nil, err
	}
	if err := store.AppendAt(ctx, in.Session, b.Turn, 0, data); err != nil {
		return nil, err
	}
	journal, err := store.Journal(ctx, in.Session, b.Turn, 0) // another worker may have been sooner
	if err != nil {
		return nil, err
	}
	return journal[0], nil
}

// journal writes events that the workflow's history has.
func (h *activities) journal(ctx context.Context, e entry) error {
	err := h.as(e.Owner).AppendAt(ctx, e.Session, e.Number, e.Place, e.Events...)
	if errors.Is(err, sessions.ErrNotRunning) {
		return refusal(refusedKind, err)
	}
	return err
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
func (h *activities) leave(ctx context.Context, t held) error {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(t.Owner)
	if _, isHeld, err := store.Held(ctx, t.Session); err != nil || !isHeld {
		return err
	}
	return store.Leave(ctx, t.Session, t.Number)
}
