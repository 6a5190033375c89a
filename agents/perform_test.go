package agents_test

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

func TestPanicOfAnEffectIsItsResult(t *testing.T) {
	w := newWorld(t)
	d := w.doer(streams(func(context.Context, backends.Request) iter.Seq2[backends.Event, error] { panic("boom") }))
	var told string
	d.Panicked = func(key effect.Key, stack []byte) { told = key.String() + "\n" + string(stack) }
	call := w.call(researcher, effect.Coordination)
	ev, err := d.Perform(t.Context(), &w.turn, call)
	if err != nil {
		t.Fatal(err)
	}
	want := effect.Failure{Kind: "panic", Message: "its call panicked: boom"}
	if f := ev.(effect.ModelReply).Failure; f == nil || *f != want {
		t.Errorf("the failure is %+v, want %+v", f, want)
	}
	if !strings.HasPrefix(told, call.Key.String()) || !strings.Contains(told, "perform_test.go") {
		t.Errorf("told of the panic: %s", told)
	}
}

// digging is a tool that does not hear that it is cancelled.
type digging struct {
	*search
	release chan struct{}
}

func (d digging) Call(context.Context, string) (string, error) {
	<-d.release
	return "a hole", nil
}

func TestEffectThatIgnoresItsCancelIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		dig := digging{release: make(chan struct{})}
		d := w.doer(nil)
		d.Members[0].Tools = []agents.Tool{dig}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		entry := w.message("", backends.ToolCall{ID: "0", Name: "search"})
		start := time.Now()
		ev, err := d.Perform(ctx, &w.turn, effect.ToolCall{Key: effect.Key{Index: 4}, Message: entry.Text, Name: "search"})
		if err != nil {
			t.Fatal(err)
		}
		r := ev.(effect.ToolReply)
		if got := w.text(r.Result); !r.Abandoned || !r.Error || r.State != effect.ToolCancelled || r.Index != 4 || got != "Error: the call ignored its cancellation for 2s and was abandoned" {
			t.Errorf("%+v: %q", r, got)
		}
		if took := time.Since(start); took != time.Second+agents.AbandonAfter {
			t.Errorf("it took %s", took)
		}
		close(dig.release)
	})
}

// TestAbandonedEffectHasOneResult: a tool ignores its limit, then the cancel of its call, and returns at
// last.
func TestAbandonedEffectHasOneResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.turn.Limits = effect.Limits{ToolLimit: 1000}
		deaf := tool(func(context.Context) (string, error) { time.Sleep(time.Minute); return "at last", nil })
		d := agents.Doer{Blobs: w.store, Members: []agents.Member{{Tools: []agents.Tool{deaf}}}}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var results atomic.Int32
		call := effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "work"}).Text, Name: "work"}
		ev, isLate, err := d.Run(ctx, &w.turn, call, func(ev effect.Reply, err error) {
			results.Add(1)
			if r := ev.(effect.ToolReply); err != nil || !r.Abandoned || r.ElapsedMS != 3000 {
				t.Errorf("%+v, %v", r, err)
			}
		})
		if !isLate || ev != nil || err != nil || results.Load() != 1 {
			t.Errorf("late: %t, %v, %v; %d results before", isLate, ev, err, results.Load())
		}
	})
}
