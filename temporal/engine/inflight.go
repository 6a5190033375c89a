package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/sessions"
)

// inFlight has the effects that a worker runs, by turn and key. An effect's result is kept in
// the store, and its activity only waits for it: the server may forget the
// activity while it is away, and ask for the result again. The zero value is empty; it is
// safe for concurrent use.
type inFlight struct {
	mu    sync.Mutex
	calls map[string]*call
	group sync.WaitGroup
	ended bool // nothing is begun any more
	// late ends some time after that: then nobody waits for the store any more either.
	late       context.Context
	cancelLate context.CancelFunc
}

// call is an effect that is under way. Its result may be read once it is done.
type call struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	result result
	err    error
}

// join returns the call of a name that is under way. One that is not there is begun with run,
// unless run is nil. The error is errEnds after end.
func (f *inFlight) join(ctx context.Context, name string, run func(context.Context) (result, error)) (*call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if there := f.calls[name]; there != nil || run == nil {
		return there, nil
	}
	if f.ended {
		return nil, errEnds
	}
	ctx, cancel := context.WithCancelCause(ctx)
	begun := &call{cancel: cancel, done: make(chan struct{})}
	if f.calls == nil {
		f.calls = map[string]*call{}
	}
	f.calls[name] = begun
	f.group.Go(func() {
		defer cancel(nil)
		begun.result, begun.err = run(ctx)
		f.mu.Lock()
		delete(f.calls, name)
		f.mu.Unlock()
		close(begun.done)
	})
	return begun, nil
}

// over returns a context that ends some time after end, when nobody waits for the store any
// more.
func (f *inFlight) over() context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.late == nil {
		f.late, f.cancelLate = context.WithCancel(context.Background())
	}
	return f.late
}

// end cuts all calls, and waits for them. A store that is away then keeps nobody for long.
func (f *inFlight) end() {
	f.over()
	f.mu.Lock()
	f.ended = true
	for _, c := range f.calls {
		c.cancel(errEnds)
	}
	f.mu.Unlock()
	timer := time.AfterFunc(giveBackTime, f.cancelLate)
	defer timer.Stop()
	f.group.Wait()
	f.cancelLate()
}

// perform does one effect, or waits for it if it is under way here, or returns what it came
// to before. With Joins it begins nothing.
func (h *activities) perform(ctx context.Context, w work) (result, error) {
	e, err := w.Effect.effect()
	if err != nil {
		return result{}, err
	}
	store, key := patient{h.as(w.Owner), h.inFlight.over()}, e.EffectKey().String()
	if w.Lost || w.Effect.Tool != nil && w.Try > 0 && !w.Joins { // a tool's call is never made again
		r, isKept, err := keptResult(ctx, store, w, key)
		if err == nil && !isKept {
			r, err = interrupted(ctx, store, w)
		}
		return r, unsent(err)
	}
	name := fmt.Sprintf("%s/%s/%d/%s", w.Owner, w.Session, w.Turn.Turn, key)
	var begin func(context.Context) (result, error)
	if !w.Joins {
		over, _ := ctx.Deadline() // every activity has one
		begin = func(ctx context.Context) (result, error) {
			ctx, cancel := context.WithDeadline(ctx, over)
			defer cancel()
			return h.begin(ctx, store, w, e)
		}
	}
	under, err := h.inFlight.join(context.WithoutCancel(ctx), name, begin)
	if err != nil {
		return result{}, unsent(err)
	}
	if under != nil {
		return h.wait(ctx, under)
	}
	r, isKept, err := keptResult(ctx, store, w, key)
	if err == nil && !isKept {
		err = errors.New("this worker has not begun it")
	}
	return r, unsent(err)
}

// begin does an effect, unless its result is kept, and keeps that.
func (h *activities) begin(ctx context.Context, store patient, w work, e machine.Effect) (result, error) {
	key := e.EffectKey()
	if r, isKept, err := keptResult(ctx, store, w, key.String()); isKept || err != nil {
		return r, unsent(err)
	}
	switch _, isHeld, err := store.Held(ctx, w.Session); {
	case err != nil:
		return result{}, unsent(fmt.Errorf("find out whether session %s is held: %w", w.Session, err))
	case !isHeld:
		return result{}, refusal(refusedKind, fmt.Errorf("turn %d of session %s is not held any more", w.Turn.Turn, w.Session))
	}
	defer store.AtWork(w.Session)()
	called := ctx
	var isLost atomic.Bool
	if w.Limited {
		info := activity.GetInfo(ctx).WorkflowExecution
		called = backends.WithBudget(ctx, grants{h.server, info.ID, info.RunID, key, w.Try, w.Priced, &isLost, activity.GetLogger(ctx)})
	}
	ev, err := h.panel.Worker(store).Perform(called, w.Turn, e)
	if err == nil && isLost.Load() {
		err = errors.New(lostWord)
	}
	if err != nil {
		return result{}, err
	}
	r, err := told(ctx, ev)
	if err != nil {
		return result{}, err
	}
	return keepResult(ctx, store, w, key.String(), r)
}

// keptResult returns the result that an effect has in the store, if there is one.
func keptResult(ctx context.Context, store patient, w work, key string) (r result, isKept bool, err error) {
	data, err := store.Result(ctx, w.Session, w.Turn.Turn, key)
	if err != nil || data == nil {
		return r, false, err
	}
	return r, true, json.Unmarshal(data, &r)
}

// keepResult stores an effect's result, and returns the one that counts: the first.
// One that cannot be kept counts all the same: to do the effect again would cost more.
func keepResult(ctx context.Context, store patient, w work, key string, r result) (result, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	stands, err := store.KeepResult(context.WithoutCancel(ctx), w.Session, w.Turn.Turn, key, data)
	if err != nil {
		activity.GetLogger(ctx).Warn("a result was not kept", "call", key, "error", err)
		return r, nil
	}
	r = result{}
	return r, json.Unmarshal(stands, &r)
}

// wait waits for a call, and tells the server meanwhile that its worker lives, and which one
// it is. The call is cut if the server says so, and if the worker is told to end. While the
// server cannot be reached, and when it has forgotten the activity, the call goes on.
func (h *activities) wait(ctx context.Context, under *call) (result, error) {
	info := activity.GetInfo(ctx)
	every := min(mostCancelDelay, info.HeartbeatTimeout/4)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	ending := activity.GetWorkerStopChannel(ctx)
	var graceOver <-chan time.Time
	for isTold := true; ; {
		if isTold {
			if err := h.beat(ctx, under, info, every); err != nil {
				return result{}, err
			}
		}
		isTold = false
		select {
		case <-under.done:
			return under.result, under.err
		case <-ticker.C:
			isTold = true
		case <-ctx.Done(): // the effect's time is over, or the server has cancelled it in another way
			under.cancel(context.Cause(ctx))
			<-under.done
			return under.result, under.err
		case <-ending:
			ending, graceOver = nil, time.After(endGrace)
		case <-graceOver:
			under.cancel(errEnds)
		}
	}
}

// beat tells the server once that the worker lives. The error says that the server has
// forgotten the activity; the call is cut if nobody wants its result any more.
func (h *activities) beat(ctx context.Context, under *call, info activity.Info, most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	err := h.server.Heartbeat(ctx, info.TaskToken, h.home)
	var cancelled *temporal.CanceledError
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &cancelled):
		under.cancel(err)
	case errors.As(err, &gone):
		if h.server.IsOver(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID) {
			under.cancel(errors.New("the workflow is over"))
		}
		return fmt.Errorf("the server has forgotten the activity: %w", err)
	}
	return nil
}

// server is what a worker asks of the Temporal server beside its tasks.
type server interface {
	// Heartbeat tells that an activity is under way, and where. The error is a
	// *temporal.CanceledError if it is not wanted any more, and a *serviceerror.NotFound if
	// the server does not know it.
	Heartbeat(ctx context.Context, token []byte, queue string) error
	// IsOver says that a workflow is known to be over.
	IsOver(ctx context.Context, workflow, run string) bool
	// Update asks a workflow, once for each id.
	Update(ctx context.Context, workflow, run, id, name string, arg, answer any) error
}

// temporalServer is a server as a client reaches it.
type temporalServer struct{ client client.Client }

// Heartbeat implements server.
func (s temporalServer) Heartbeat(ctx context.Context, token []byte, queue string) error {
	return s.client.RecordActivityHeartbeat(ctx, token, queue)
}

// IsOver implements server.
func (s temporalServer) IsOver(ctx context.Context, workflow, run string) bool {
	found, err := s.client.DescribeWorkflowExecution(ctx, workflow, run)
	return err == nil && found.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// Update implements server.
func (s temporalServer) Update(ctx context.Context, workflow, run, id, name string, arg, answer any) error {
	handle, err := s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflow, RunID: run, UpdateID: id, UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, answer)
}

// mostReply is how many bytes an effect's result may have, without its texts: the server
// takes no more than 2 MB at once, and the transcripts of calls name what is in it again.
const mostReply = 256 << 10

// told returns an effect's result. One that was cut off has none: it is done again.
func told(ctx context.Context, ev machine.Event) (result, error) {
	if isCutOff(ctx, ev) {
		err := fmt.Errorf("the effect was cut off: %w", context.Cause(ctx))
		if errors.Is(err, errEnds) {
			err = temporal.NewApplicationErrorWithCause(err.Error(), endedKind, err)
		}
		return result{}, err
	}
	switch ev := ev.(type) {
	case machine.ModelReply:
		return result{Model: bounded(ev)}, nil
	case machine.ToolReply:
		return result{Tool: &ev}, nil
	}
	return result{}, fmt.Errorf("an effect ended with %T", ev)
}

// isCut says that a context has ended although nobody has cancelled it.
func isCut(ctx context.Context) bool {
	var cancelled *temporal.CanceledError
	return ctx.Err() != nil && !errors.As(context.Cause(ctx), &cancelled)
}

// isCutOff says that an effect was cut before it had a result. It is done again.
func isCutOff(ctx context.Context, ev machine.Event) bool {
	if !isCut(ctx) {
		return false
	}
	switch ev := ev.(type) {
	case machine.ModelReply:
		return ev.Failure != nil && ev.Failure.Kind == string(backends.KindCancelled)
	case machine.ToolReply:
		return ev.State == machine.ToolCancelled
	}
	return false
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

// unsent marks the error of an effect that was not begun.
func unsent(err error) error {
	if err == nil {
		return nil
	}
	return temporal.NewApplicationErrorWithCause(err.Error(), unsentKind, err)
}

// interrupted is the result of a tool's call that was begun and cut off, or whose worker is
// lost, with the tools and files of its agent.
func interrupted(ctx context.Context, store Store, w work) (result, error) {
	key := w.Effect.Tool.Key
	text, advice := "this call was cut off, and what it has done is not known", "."
	if w.Lost {
		text, advice = fmt.Sprintf("the worker on which the tools and files of %s were is lost", w.Turn.Agents[key.Agent].ID), ". Go on without them."
		if w.Try > 0 {
			text += ", and what this call has done is not known"
		}
	}
	if !w.Effect.Tool.IsSnapshot() { // else no model is told
		text = "Error: " + text + advice
	}
	ref, err := store.Put(ctx, []byte(text))
	return result{Tool: &machine.ToolReply{Index: key.Index, Result: ref, Error: true, State: machine.ToolInterrupted}}, err
}

// patient is a store that is asked again while it is away, until over ends: a call's result is
// paid for, and nobody else has it.
type patient struct {
	Store
	over context.Context
}

// Put implements agents.Blobs.
func (s patient) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return again(ctx, s.over, func(ctx context.Context) (blob.Ref, error) { return s.Store.Put(ctx, data) })
}

// Get implements agents.Blobs.
func (s patient) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	return again(ctx, s.over, func(ctx context.Context) ([]byte, error) { return s.Store.Get(ctx, ref) })
}

// KeepResult implements Store.
func (s patient) KeepResult(ctx context.Context, session string, turn int, key string, result []byte) ([]byte, error) {
	return again(ctx, s.over, func(ctx context.Context) ([]byte, error) { return s.Store.KeepResult(ctx, session, turn, key, result) })
}

// again asks a store until it is not away, or one of the contexts ends.
func again[T any](ctx, over context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(over, cancel)()
	return sessions.Again(ctx, storePatience, func() (T, error) { return do(ctx) })
}
