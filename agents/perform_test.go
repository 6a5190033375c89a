package agents_test

import (
	"context"
	"iter"
	"runtime"
	"strings"
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

// TestToolThatIgnoresItsLimitIsAbandoned: it ignores the cancel of its call too, which comes later.
func TestToolThatIgnoresItsLimitIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.turn.Limits = effect.Limits{ToolLimit: 1000}
		release := make(chan struct{})
		defer close(release)
		deaf := tool(func(context.Context) (string, error) { <-release; return "at last", nil })
		d := agents.Doer{Blobs: w.store, Members: []agents.Member{{Tools: []agents.Tool{deaf}}}}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		call := effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "work"}).Text, Name: "work"}
		ev, err := d.Perform(ctx, &w.turn, call)
		if r := ev.(effect.ToolReply); err != nil || !r.Abandoned || r.ElapsedMS != 3000 || r.State == effect.ToolCancelled {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestEffectThatEndsItsGoroutine: its result says so.
func TestEffectThatEndsItsGoroutine(t *testing.T) {
	w := newWorld(t)
	leaves := tool(func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
	d := agents.Doer{Blobs: w.store, Members: []agents.Member{{Tools: []agents.Tool{leaves}}}}
	told := 0
	d.Panicked = func(effect.Key, []byte) { told++ }
	call := effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "work"}).Text, Name: "work"}
	ev, err := d.Perform(t.Context(), &w.turn, call)
	if err != nil {
		t.Fatal(err)
	}
	r := ev.(effect.ToolReply)
	if got := w.text(r.Result); !r.Error || r.Abandoned || got != "Error: its call ended its goroutine" || told != 1 {
		t.Errorf("%+v: %q, told %d times", r, got, told)
	}
}
