package coordinator

import (
	"context"
	"sync"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// progressEvery is the least time between two progress events of a call: late subscribers get
// all of them, so they are kept.
const progressEvery = time.Second

// toolProgress publishes the progress of one tool call. It is safe for concurrent use.
type toolProgress struct {
	events *eventLog
	event  report.ToolProgress

	mu   sync.Mutex
	told time.Time
	over bool
}

// withProgress returns a context in which the tool of an effect, if it is a tool call, can
// report its progress, and a function to call when the effect is over.
func (e *localTurn) withProgress(ctx context.Context, eff effect.Effect) (watched context.Context, over func()) {
	call, ok := eff.(effect.ToolCall)
	if !ok {
		return ctx, func() {}
	}
	p := &toolProgress{events: &e.view.turn.events, event: report.ToolProgress{Actor: report.ActorOf(call.Key, e.view.id), Call: call.Key.CallID(e.view.id), Tool: call.Name}}
	return agents.WithProgress(ctx, p.tell), p.end
}

// tell publishes progress, unless the last was too recent or the call has ended: no progress
// may follow the call's end.
func (p *toolProgress) tell(progress agents.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.over || now.Sub(p.told) < progressEvery {
		return
	}
	p.told = now
	ev := p.event
	ev.Text = report.Beginning(contextbuild.Clean(progress.Text))
	if f := progress.Fraction; f > 0 { // NaN is not
		ev.Fraction = min(f, 1)
	}
	p.events.add(ev)
}

func (p *toolProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}
