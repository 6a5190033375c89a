package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/system/sleep"
)

// run is a turn that a request has begun, or asks for again. While its client runs tools, the run
// belongs to no request.
type run struct {
	turn *massgen.Turn
	// past is the turn if it was over before, or another process is at work on it. Then turn is nil.
	past  *pastTurn
	model string
	// agents is the number of agents.
	agents int
	began  time.Time
	calls  *clientCalls
	// own is the panel of the session alone, which is closed after the turn; nil for the model's panel.
	own *massgen.Panel
	// settled is closed when the turn is over and no longer counts against a limit, so that its client
	// may ask the next question.
	settled chan struct{}
	// gone is closed when the calls that follow the answer are over, and the session is free.
	gone chan struct{}

	mu sync.Mutex
	// view is what the client had seen when its tools were called; nil while a request has it.
	view *view
	// unbind stops cancelling the turn with the request's context; nil for a turn that outlives its request. expire
	// ends the turn if the client does not come back.
	unbind func() bool
	expire *time.Timer
}

// view is the part of a turn that a client has seen. One goroutine owns it.
type view struct {
	*deliberation
	seen int          // events
	told budget.Usage // the part of used in earlier responses
	// answered are the ids of the turn's calls whose results came with the request. It is nil without results. at is
	// the place of the turn, and stepCalls counts the tool calls of each agent's step.
	answered  map[string]bool
	at        place
	stepCalls map[string]int
}

// tokensSince returns the tokens by which used exceeds told.
func tokensSince(told, used budget.Usage) budget.Usage {
	return budget.Usage{
		InputTokens: used.InputTokens - told.InputTokens, OutputTokens: used.OutputTokens - told.OutputTokens,
		CachedInputTokens: used.CachedInputTokens - told.CachedInputTokens, ReasoningTokens: used.ReasoningTokens - told.ReasoningTokens,
	}
}

func newRun(turn *massgen.Turn, m *model, panel *massgen.Panel, calls *clientCalls) *run {
	return &run{turn: turn, model: m.ID, agents: len(panel.Models()), began: time.Now(), calls: calls,
		settled: make(chan struct{}), gone: make(chan struct{})}
}

// take returns the piece that an event shows.
func (v *view) take(ev massgen.Event) piece {
	v.seen++
	if v.answered != nil {
		v.tellBefore(ev)
	}
	return v.apply(ev)
}

// newView returns a view that begins with the turn's first event.
func (r *run) newView(redact func(text string) string) *view {
	return &view{deliberation: &deliberation{isAlone: r.agents == 1, redact: redact}}
}

// takeView returns the view of a client that goes on with the turn. ok is false while another request
// has it.
func (r *run) takeView() (v *view, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, r.view = r.view, nil
	r.stopWaiting()
	return v, v != nil
}

// await has the turn wait for its client with this view. If the client does not come back, the turn
// ends.
func (r *run) await(v *view) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unbind != nil {
		r.unbind()
		r.unbind = nil
	}
	r.view = v
	r.stopWaiting()
	r.expire = time.AfterFunc(clientTime, r.turn.Cancel)
}

// place returns the place of the turn.
func (r *run) place() place {
	if r.past != nil {
		return place{r.past.session, r.past.Number}
	}
	return place{r.turn.Session(), r.turn.Number()}
}

// events yields the turn's events, from its beginning. A turn that was over before has only its
// answers and votes.
func (r *run) events(ctx context.Context) iter.Seq[massgen.Event] {
	if r.past != nil {
		return r.past.events()
	}
	return r.turn.Events(ctx)
}

// id returns the id of a response of the run to a client with a view.
func (r *run) id(prefix string, v *view) string {
	at := r.place()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d %d", at.session, at.turn, v.seen))
	return prefix + hex.EncodeToString(sum[:12])
}

// cancelWith ends the turn when ctx is done. The calls that follow the answer go on.
func (r *run) cancelWith(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isSettled() {
		r.unbind = context.AfterFunc(ctx, r.turn.Cancel)
	}
}

// settle lets the client have the result.
func (r *run) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unbind != nil {
		r.unbind()
	}
	close(r.settled)
}

// stop ends the work of this process on the turn. A turn that ends with its request ends with the best answer so far.
// A turn without an answer, or that outlives its request, stays in the store as after a kill.
func (r *run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unbind != nil {
		r.turn.Stop()
	} else {
		r.turn.Leave()
	}
}

// outlives reports whether the turn goes on without the request that began it.
func (r *run) outlives() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unbind == nil
}

func (r *run) stopWaiting() {
	if r.expire != nil {
		r.expire.Stop()
	}
}

// clientTime is the longest time that a client may take for its tools.
const clientTime = time.Hour

// release pauses the turn while its client runs tools.
func (r *run) release(ctx context.Context, v *view) error {
	r.calls.tell()
	v.answer.Restart() // it goes on in another response
	v.told = v.used
	r.await(v)
	return r.turn.Pause(ctx)
}

// outcome is the end of a run, for its client.
type outcome struct {
	massgen.Result
	err error // a refusal, or of the store
}

// result waits for the turn's result and returns it. By then the client's next turn may begin.
func (r *run) result(ctx context.Context) (massgen.Result, error) {
	result, err := r.turn.Wait(ctx)
	if errors.Is(err, coordinator.ErrLeft) && !r.outlives() {
		err = failure(massgen.Result{Status: kernel.Cut})
	}
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

// end is the end of a response: the outcome of the turn, or calls of the client's tools.
type end struct {
	outcome
	reason string       // as in chat completions
	used   budget.Usage // since the response before it
}

// end returns the end of a response to a client with a view. If there are calls, the turn waits for
// the client.
func (r *run) end(ctx context.Context, v *view, calls []toolCall) end {
	if len(calls) > 0 {
		used := tokensSince(v.told, v.used)
		return end{outcome{err: r.release(ctx, v)}, "tool_calls", used}
	}
	o := r.wait(ctx)
	return end{o, "stop", tokensSince(v.told, o.Usage)}
}

// analysisOf returns the judge's analysis of a turn, nil without one or without reasoning.
func (o responder) analysisOf(e end) *contextbuild.Analysis {
	if o.noReasoning || e.Decision == nil {
		return nil
	}
	return e.Analysis
}

// whole waits for the end of a response, and returns it with everything that the response shows.
func (r *run) whole(ctx context.Context, respond responder, v *view) (end, piece) {
	var all piece
	var reasoning, content strings.Builder
	for p := range respond.pieces(ctx, r, v) {
		reasoning.WriteString(p.reasoning)
		content.WriteString(p.content)
		all.calls, all.sources = p.calls, p.sources
	}
	all.reasoning, all.content = reasoning.String(), content.String()
	e := r.end(ctx, v, all.calls)
	if e.Answer != "" { // without what an agent said between its calls of tools
		all.content = respond.redact(e.Answer)
	}
	return e, all
}

// failure returns the refusal of a turn without an answer.
func failure(r massgen.Result) error {
	why := strings.Join(panels.Reasons(r.Failed), "; ")
	if why != "" {
		why = ": " + why
	}
	switch r.Status {
	case kernel.Timeout:
		return refusal{isPaid: true, status: http.StatusGatewayTimeout, code: "timeout", message: "the turn's time was over before any agent had answered" + why}
	case kernel.Budget:
		return refusal{isPaid: true, status: http.StatusTooManyRequests, code: "budget_exceeded", message: "the turn's budget was spent before any agent had answered" + why}
	case kernel.Cut:
		return refusal{isPaid: true, status: http.StatusServiceUnavailable, code: "interrupted", message: "the turn was ended before any agent had answered"}
	}
	return refusal{isPaid: true, status: http.StatusBadGateway, code: "no_answer", message: fmt.Sprintf("no agent has answered (%s)%s", r.Status, why)}
}

// isSettled reports whether the client may have the result. Calls may still follow it.
func (r *run) isSettled() bool {
	select {
	case <-r.settled:
		return true
	default:
		return false
	}
}

// runs are the turns that this process plays.
type runs struct {
	mu    sync.Mutex
	open  map[place]*run
	work  sync.WaitGroup
	state runsState
	// coming counts the runs that are about to begin.
	coming int
}

// runsState says what runs may begin and go on.
type runsState int

const (
	runsServed   runsState = iota
	runsDraining           // none begins, and those that run go on
	runsEnded              // all are stopped
)

// add adds a run, which end ends. It calls then with the run's result, or the error
// of its store, and over when the calls after the answer are over.
func (l *runs) add(r *run, then func(massgen.Result, error), over func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[r.place()] = r
	if l.state == runsEnded {
		r.stop()
	}
	l.work.Go(func() {
		then(r.turn.Wait(context.Background()))
		for range r.turn.Events(context.Background()) { // calls may follow the answer
		}
		l.remove(r)
		over()
	})
}

func (l *runs) remove(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, r.place())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopWaiting()
	close(r.gone)
}

// awaitFollowing waits for the calls that follow the answer of a session's last turn. It does not wait for an answer.
func (l *runs) awaitFollowing(ctx context.Context, session string) error {
	l.mu.Lock()
	var last *run
	for at, r := range l.open {
		if at.session == session && r.isSettled() {
			last = r
		}
	}
	l.mu.Unlock()
	if last == nil {
		return nil
	}
	select {
	case <-last.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find returns the run of a turn, nil if this process does not play the turn.
func (l *runs) find(at place) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[at]
}

// end stops all turns, also those that are added later.
func (l *runs) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = runsEnded
	for _, r := range l.open {
		r.stop()
	}
}

// drain lets no run begin, and waits for those that a request waits for, or for all, until ctx is done.
func (l *runs) drain(ctx context.Context, all bool) {
	const pause = 10 * time.Millisecond
	for {
		l.mu.Lock()
		l.state = max(l.state, runsDraining)
		open, coming := slices.Collect(maps.Values(l.open)), l.coming
		l.mu.Unlock()
		for _, r := range open {
			if !all && r.outlives() {
				continue
			}
			select {
			case <-r.gone:
			case <-ctx.Done():
				return
			}
		}
		if coming == 0 || sleep.For(ctx, pause) != nil {
			return
		}
	}
}

// enter counts a run that is about to begin, until leave is called. ok is false if none may begin any more.
func (l *runs) enter() (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != runsServed {
		return func() {}, false
	}
	l.coming++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.coming--
	}, true
}

// isEnding reports whether drain or end was called.
func (l *runs) isEnding() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != runsServed
}
