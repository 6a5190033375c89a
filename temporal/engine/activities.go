package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
	"github.com/massgen/massgen/sessions"
)

// activities do what a workflow asks for. They are safe for concurrent use.
type activities struct {
	panel  *coordinator.Panel
	as     func(owner string) Store
	server server
	// home is the queue of this worker alone.
	home     string
	inFlight inFlight
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
	return slices.ContainsFunc(agents, func(a machine.Agent) bool { return a.Tools != blob.Ref{} || a.Workspace })
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
