package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// activities do the work that workflows request. They are safe for concurrent use.
type activities struct {
	panel  *coordinator.Panel
	as     func(owner string) Store
	texts  Texts
	server server
	// workflows answer requests for budget.
	workflows workflows
	signs     Signs
	// home is the queue that only this worker listens to.
	home     string
	homed    homed
	inFlight inFlight
	turns    turns
	observer *observer
}

// The kinds of errors: refusals, which a client knows and no retry changes, and effects without
// a result.
const (
	busyKind    = "busy"
	refusedKind = "refused"
	// declinedKind is for a turn that was refused before it began.
	declinedKind = "declined"
	// forgottenKind is for a turn whose client has put texts that the store has forgotten since.
	forgottenKind = "forgotten"

	// unsentKind is the kind of an effect that was not begun, endedKind that of one whose
	// worker shut down.
	unsentKind = "unsent"
	endedKind  = "ended"
)

func refusal(kind string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), kind, err)
}

// prepare holds the session and writes the turn's first event.
func (h *activities) prepare(ctx context.Context, in request) (begun, error) {
	return atTurn(ctx, h, in.Owner, func(ctx context.Context, t *turnAtWork) (begun, error) { return h.prepareAt(ctx, in, t) })
}

func (h *activities) prepareAt(ctx context.Context, in request, t *turnAtWork) (begun, error) {
	store := t.store
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
			return h.begun(ctx, t, b.Turn, in, journal[0])
		}
	default:
		if b, err = store.Begin(ctx, in.Session, string(in.Question)); errors.Is(err, sessions.ErrBusy) {
			return begun{}, refusal(busyKind, err)
		}
	}
	if err != nil {
		return begun{}, err
	}
	if err := checkUnplayed(ctx, store, in, b); err != nil {
		return begun{}, err
	}
	defer store.AtWork(in.Session)()
	accepted, err := accept(ctx, t, in, b)
	if err != nil && isCut(ctx) { // another worker goes on with it
		return begun{}, fmt.Errorf("the turn was not prepared: %w", context.Cause(ctx))
	}
	if sessions.IsAway(err) { // the next try goes on with it
		return begun{}, fmt.Errorf("the turn was not prepared: %w", err)
	}
	if err != nil {
		refused, kind := sessions.Ended{Status: kernel.AllFailed}, declinedKind
		if errors.Is(err, sessions.ErrNoText) {
			kind = forgottenKind
		}
		return begun{}, refusal(kind, errors.Join(err, store.End(context.WithoutCancel(ctx), in.Session, b.Turn, refused)))
	}
	h.observer.turnBegun(in.Session, b.Turn)
	return h.begun(ctx, t, b.Turn, in, accepted)
}

// journal writes events of the workflow's history to the store.
func (h *activities) journal(ctx context.Context, e entry) error { return write(ctx, h.as(e.Owner), e) }

func write(ctx context.Context, to Store, e entry) error {
	events := e.Events
	for _, ev := range e.Journal {
		events = append(events, ev)
	}
	err := to.AppendAt(ctx, e.Session, e.Number, e.Place, events...)
	if errors.Is(err, sessions.ErrNotRunning) {
		return refusal(refusedKind, err)
	}
	return err
}

// perform runs one effect, waits for it if it is under way here, or returns its earlier result.
// If Joins is true, it begins nothing.
func (h *activities) perform(ctx context.Context, w work) (result, error) {
	defer h.inFlight.enter()()
	t, leave := h.turn(w.Owner)
	defer leave()
	if err := t.open(ctx, &w); err != nil {
		return result{}, t.unopened(ctx, w, err)
	}
	e, err := w.Effect.effect()
	if err != nil {
		return result{}, err
	}
	key := e.EffectKey()
	isCheck := w.Effect.Tool != nil && w.Effect.Tool.IsCheck()                 // which any worker may make again
	if !isCheck && (w.Lost || w.Effect.Tool != nil && w.Try > 0 && !w.Joins) { // a tool's call is never made again
		r, isKept, _, err := t.store.result(ctx, w.Session, w.Turn.Turn, key)
		if err == nil && !isKept {
			r, err = interrupted(ctx, t.store, w)
		}
		return r, unsent(err)
	}
	name := fmt.Sprintf("%s/%s/%d/%s", w.Owner, w.Session, w.Turn.Turn, key)
	var begin func(context.Context) (result, error)
	if !w.Joins {
		if err := h.announce(ctx); err != nil {
			return result{}, unsent(err)
		}
		over, _ := ctx.Deadline() // every activity has one
		begin = func(ctx context.Context) (result, error) {
			ctx, cancel := context.WithDeadline(ctx, over)
			defer cancel()
			return h.begin(ctx, w, e, name)
		}
	}
	under, err := h.inFlight.join(context.WithoutCancel(ctx), name, begin)
	if err != nil {
		return result{}, unsent(err)
	}
	if under != nil {
		return h.wait(ctx, under, w.Joins)
	}
	r, isKept, _, err := t.store.result(ctx, w.Session, w.Turn.Turn, key)
	switch {
	case isKept || err != nil:
		return r, err
	case h.inFlight.isUnkept(name):
		return r, errors.New("this worker has begun it, and its result is lost")
	}
	return r, unsent(errors.New("this worker has not begun it"))
}

// begin runs the effect of a name, unless its result is stored, and stores the result.
func (h *activities) begin(ctx context.Context, w work, e effect.Effect, name string) (result, error) {
	t, leave := h.turn(w.Owner)
	defer leave()
	key := e.EffectKey()
	switch r, isKept, isHeld, err := t.store.result(ctx, w.Session, w.Turn.Turn, key); {
	case isKept || err != nil:
		return r, unsent(err)
	case !isHeld:
		return result{}, refusal(refusedKind, notHeld(w.Session))
	}
	defer t.store.AtWork(w.Session)()
	stored := h.inFlight.begun(name)
	called := ctx
	var isLost atomic.Bool
	isByTexts := w.Described != blob.Ref{}
	info := activity.GetInfo(ctx).WorkflowExecution
	budgeted := &grants{
		workflows: h.workflows, workflow: info.ID, run: info.RunID, key: key, try: w.Try, priced: w.Priced, withResult: isByTexts,
		lost: &isLost, log: activity.GetLogger(ctx),
	}
	if w.Limited {
		called = backends.WithBudget(ctx, budgeted)
	}
	began := time.Now()
	ev, err := t.worker.Perform(called, &w.Turn, e)
	h.observer.performed(ctx, &w, e, began, ev, err)
	if err == nil && isLost.Load() {
		err = errors.New(lostWord)
	}
	if errors.As(err, new(agents.UnsentError)) {
		err = unsent(err)
	}
	if err != nil {
		return result{}, err
	}
	r, err := told(ctx, ev, !isByTexts)
	if err != nil {
		return result{}, err
	}
	r.Settled = budgeted.last()
	return t.store.keepResult(ctx, looked{w.Session, w.Turn.Turn, key.String()}, r, activity.GetLogger(ctx), stored)
}

// keepNote stores the text of a note. Its return shows that the text is in the store before the
// journal names it.
func (h *activities) keepNote(ctx context.Context, n newNote) (blob.Ref, error) {
	return h.as(n.Owner).Put(ctx, []byte(n.Text))
}

// keep keeps a session held until it is cancelled.
func (h *activities) keep(ctx context.Context, t held) error {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(t.Owner)
	if isHeld, err := t.isHeld(ctx, store); err != nil || !isHeld {
		return err
	}
	defer store.AtWork(t.Session)()
	<-ctx.Done()
	return ctx.Err()
}

// concluded are the sidecalls after a turn's result was stored. The session is still held for
// them.
type concluded struct {
	Following []effect.Sidecall `json:"following,omitempty"`
}

// ending is a turn that is over. Rest are the events that the store lacks.
type ending struct {
	held
	Rest *entry `json:"rest,omitempty"`
}

// conclude stores the rest of the turn's events and its outcome.
func (h *activities) conclude(ctx context.Context, t ending) (concluded, error) {
	return atTurn(ctx, h, t.Owner, func(ctx context.Context, at *turnAtWork) (concluded, error) { return h.concludeAt(ctx, at, t) })
}

func (h *activities) concludeAt(ctx context.Context, at *turnAtWork, t ending) (c concluded, err error) {
	store, worker := at.store, at.worker
	isDone, err := wasDone(ctx, store, t.held)
	switch {
	case err != nil:
		return c, err
	case !isDone:
		if err := holdAgain(ctx, store, t.held); err != nil {
			return c, err
		}
		if t.Rest != nil {
			if err := write(ctx, store, *t.Rest); err != nil {
				return c, err
			}
		}
		done, err := worker.Conclude(ctx, t.Session, t.Number)
		if err == nil {
			h.observer.turnEnded(done.Result)
		}
		c.Following = done.Following
		return c, err
	}
	isHeld, err := t.isHeld(ctx, store)
	if err == nil && isHeld { // calls follow
		c.Following, err = worker.Following(ctx, t.Session, t.Number)
	}
	return c, err
}

// holdAgain holds the session for a turn that an earlier try could not end: if the store does not know whether a turn was
// ended, it releases the session.
func holdAgain(ctx context.Context, store Store, t held) error {
	if activity.GetInfo(ctx).Attempt == 1 {
		return nil
	}
	isHeld, err := t.isHeld(ctx, store)
	if err != nil || isHeld {
		return err
	}
	_, err = store.Resume(ctx, t.Session)
	if errors.Is(err, sessions.ErrBusy) {
		return refusal(refusedKind, err)
	}
	return err
}

// wasDone reports whether an earlier try has stored the turn and its reply was lost.
func wasDone(ctx context.Context, store Store, t held) (bool, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return false, nil
	}
	last, err := store.Turns(ctx, t.Session, 1)
	if err != nil || len(last) == 0 {
		return false, err
	}
	return last[0].Number > t.Number || last[0].Number == t.Number && last[0].Status != sessions.Running, nil
}

// finish stores the results of the calls after the answer.
func (h *activities) finish(ctx context.Context, t held) error {
	_, err := atTurn(ctx, h, t.Owner, func(ctx context.Context, at *turnAtWork) (struct{}, error) {
		isHeld, err := t.isHeld(ctx, at.store)
		if err != nil || !isHeld { // an earlier try succeeded, and its reply was lost
			return struct{}{}, err
		}
		return struct{}{}, at.worker.Finish(ctx, t.Session, t.Number)
	})
	return err
}

// leave releases a turn that cannot go on.
func (h *activities) leave(ctx context.Context, t held) error {
	ctx, stop := atWork(ctx)
	defer stop()
	store := h.as(t.Owner)
	if _, isHeld, err := store.Held(ctx, t.Session); err != nil || !isHeld {
		return err
	}
	return store.Leave(ctx, t.Session, t.Number)
}
