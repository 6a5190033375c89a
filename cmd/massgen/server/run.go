package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/setup/panels"
)

// run is a turn that a request has begun, or asks for again. While its client runs tools, no request
// has it.
type run struct {
	turn *massgen.Turn
	// past is the turn if it was over before, or another process is at work on it: turn is nil then.
	past  *pastTurn
	model string
	// agents is how many there are.
	agents int
	began  time.Time
	calls  *clientCalls
	// own is the session's own panel, which is closed after the turn; nil: the model's.
	own *massgen.Panel
	// settled is closed when the turn is over, no longer counts against a limit, and its client may
	// ask the next question.
	settled chan struct{}

	mu sync.Mutex
	// view is what the client was shown until its tools were called; nil while a request has it.
	view *view
	// leave gives up what ends the turn when the client of the request is gone; expire ends it
	// when the client does not come back.
	leave  func() bool
	expire *time.Timer
}

// view is how far a client has seen a turn. One goroutine owns it.
type view struct {
	*deliberation
	seen int // events
	// used is the usage of all calls that were seen, told the part in earlier responses.
	used, told budget.Usage
}

// tokensSince returns the tokens by which used exceeds told.
func tokensSince(told, used budget.Usage) budget.Usage {
	return budget.Usage{
		InputTokens: used.InputTokens - told.InputTokens, OutputTokens: used.OutputTokens - told.OutputTokens,
		CachedInputTokens: used.CachedInputTokens - told.CachedInputTokens, ReasoningTokens: used.ReasoningTokens - told.ReasoningTokens,
	}
}

func newRun(turn *massgen.Turn, model string, agents int, calls *clientCalls) *run {
	return &run{turn: turn, model: model, agents: agents, began: time.Now(), calls: calls,
		settled: make(chan struct{}), leave: func() bool { return true }}
}

// take returns what an event shows.
func (v *view) take(ev massgen.Event) piece {
	v.seen++
	if call, ok := ev.(report.CallEnded); ok {
		v.used = v.used.Plus(call.Usage)
	}
	return v.apply(ev)
}

// newView begins with the turn's first event.
func (r *run) newView() *view { return &view{deliberation: newDeliberation(r.agents)} }

// takeView returns what the client has seen of a turn that it goes on with. ok is false while
// another request has it.
func (r *run) takeView() (v *view, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, r.view = r.view, nil
	r.stopWaiting()
	return v, v != nil
}

// await has the turn wait for its client, who has seen so much of it. A turn whose client does not come
// back is ended.
func (r *run) await(v *view) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	r.view = v
	r.stopWaiting()
	r.expire = time.AfterFunc(clientTime, r.turn.Cancel)
}

// session is the id of the run's session, number its place there, from 1.
func (r *run) session() string {
	if r.past != nil {
		return r.past.session
	}
	return r.turn.Session()
}

func (r *run) number() int {
	if r.past != nil {
		return r.past.Number
	}
	return r.turn.Number()
}

// events are those of the turn, from its beginning. Of one that was over before only the answers
// and votes are left.
func (r *run) events(ctx context.Context) iter.Seq[massgen.Event] {
	if r.past != nil {
		return r.past.events()
	}
	return r.turn.Events(ctx)
}

// id names a response of the run, to a client that has seen so much of it.
func (r *run) id(prefix string, v *view) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d %d", r.session(), r.number(), v.seen))
	return prefix + hex.EncodeToString(sum[:12])
}

// cancelWith ends the turn when ctx is done.
func (r *run) cancelWith(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave = context.AfterFunc(ctx, r.turn.Cancel)
}

func (r *run) stopWaiting() {
	if r.expire != nil {
		r.expire.Stop()
	}
}

// clientTime is how long a client may take for its tools.
const clientTime = time.Hour

// release leaves the turn to the client, who runs tools: its clock stands still meanwhile.
func (r *run) release(ctx context.Context, v *view) error {
	r.calls.tell()
	v.restart()
	v.told = v.used
	r.await(v)
	return r.turn.Pause(ctx)
}

// outcome is how a run ended, for its client.
type outcome struct {
	massgen.Result
	err error // a refusal, or of the store
}

// result waits for the turn's result and returns it. By then the client's next turn may begin.
func (r *run) result(ctx context.Context) (massgen.Result, error) {
	result, err := r.turn.Wait(ctx)
	if err == nil {
		select {
		case <-r.settled:
		case <-ctx.Done():
		}
	}
	return result, err
}

// wait returns how the run ended. By then the client's next turn may begin.
func (r *run) wait(ctx context.Context) outcome {
	if r.past != nil {
		return r.past.outcome()
	}
	result, err := r.result(ctx)
	if err == nil && result.Answer == "" {
		err = failure(result)
	}
	return outcome{result, err}
}

// end is how a response ends: with what the turn came to, or with calls of the client's tools.
type end struct {
	outcome
	reason string       // as in chat completions
	used   budget.Usage // since the response before it
}

// end returns how a response ends whose client has seen so much, and leaves a turn with calls to the
// client.
func (r *run) end(ctx context.Context, v *view, calls []toolCall) end {
	if len(calls) > 0 {
		used := tokensSince(v.told, v.used)
		return end{outcome{err: r.release(ctx, v)}, "tool_calls", used}
	}
	o := r.wait(ctx)
	return end{o, "stop", tokensSince(v.told, o.Usage)}
}

// whole waits for the end of a response, and returns it with all that it shows.
func (r *run) whole(ctx context.Context, s *Server, v *view) (end, piece) {
	var all piece
	for p := range s.pieces(ctx, r, v) {
		all = piece{all.reasoning + p.reasoning, all.content + p.content, p.calls, p.sources}
	}
	e := r.end(ctx, v, all.calls)
	if e.Answer != "" { // without what an agent said between its calls of tools
		all.content = s.Redact(e.Answer)
	}
	return e, all
}

// failure is the refusal of a turn that has no answer.
func failure(r massgen.Result) error {
	of := refusalOfTurn(r)
	of.isPaid = true
	return of
}

func refusalOfTurn(r massgen.Result) refusal {
	why := strings.Join(panels.Reasons(r.Failed), "; ")
	if why != "" {
		why = ": " + why
	}
	switch r.Status {
	case kernel.Timeout:
		return refusal{status: http.StatusGatewayTimeout, code: "timeout", message: "the turn's time was over before any agent had answered" + why}
	case kernel.Budget:
		return refusal{status: http.StatusTooManyRequests, code: "budget_exceeded", message: "the turn's budget was spent before any agent had answered" + why}
	case kernel.Cut:
		return refusal{status: http.StatusServiceUnavailable, code: "interrupted", message: "the turn was ended before any agent had answered"}
	}
	return refusal{status: http.StatusBadGateway, code: "no_answer", message: fmt.Sprintf("no agent has answered (%s)%s", r.Status, why)}
}

// isSettled says that the client may have the result. Calls may still follow it.
func (r *run) isSettled() bool {
	select {
	case <-r.settled:
		return true
	default:
		return false
	}
}

// runs are those that go on.
type runs struct {
	mu    sync.Mutex
	open  map[string]*run // by the ids of their turns
	work  sync.WaitGroup
	ended bool
}

func newRuns() *runs { return &runs{open: map[string]*run{}} }

// add has a run ended by end, and waited for by wait. Then is called with its result, or the error
// of its store.
func (l *runs) add(r *run, then func(massgen.Result, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[r.turn.ID()] = r
	if l.ended {
		r.turn.Cancel()
	}
	l.work.Go(func() {
		then(r.turn.Wait(context.Background()))
		for range r.turn.Events(context.Background()) { // calls may follow the answer
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, r.turn.ID())
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stopWaiting()
	})
}

// find returns the run of a turn, nil if it does not go on here.
func (l *runs) find(session string, turn int) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[fmt.Sprintf("%s/%d", session, turn)]
}

// end ends all turns with their best answers so far, also those that are added later.
func (l *runs) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, r := range l.open {
		r.turn.Cancel()
	}
}

// isEnded says that end was called.
func (l *runs) isEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

func (l *runs) wait() { l.work.Wait() }
