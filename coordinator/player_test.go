package coordinator

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// waiting is a post whose events are there when a job has begun.
type waiting struct {
	unheard
	begun <-chan struct{}
}

func (w waiting) Events(kernel.Time) ([]turn.Event, error) {
	<-w.begun
	return nil, nil
}

// TestPostsDoNotHoldTheLastJobBack: the player launches it before it takes more posts. Else it would wait
// for ever here.
func TestPostsDoNotHoldTheLastJobBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan struct{})
		p := player{driver: driver.New(&localTurn{clock: newClock(nil)}), inbox: new(inbox)}
		p.next = func(error) stage { return nil }
		batches := [][]driver.Post{{waiting{begun: begun}}, nil}
		p.receive = func() []driver.Post {
			posts := batches[0]
			batches = batches[1:]
			return posts
		}
		p.launchLast(func() (driver.Post, bool) {
			close(begun)
			return nil, true
		})
		if last := p.play(); last != nil {
			t.Error("a job is left that was launched")
		}
	})
}

// TestKeeperDoesNotHoldCallsBack: the agents' calls begin before what a sidecall came to is kept.
func TestKeeperDoesNotHoldCallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, _ := panelOf(t, 3, sidecalls, nil, func(o *Options) {
			recorded(recorder)(o)
			o.Topic = sun(o.Agents[0].Backend)
			o.Topic.Keep = func(context.Context, string, []byte) error {
				time.Sleep(10 * time.Second)
				return nil
			}
		})
		begun := time.Now()
		wait(t, start(t, p, "energy"))
		for _, call := range recorder.Calls() {
			if after := call.Start.Sub(begun); call.Request.Key.Round == 1 && after != 3*time.Second {
				t.Errorf("%v begins after %v", call.Request.Key, after)
			}
		}
	})
}

// TestHookThatEndsItsGoroutine ends its turn with an error, if at all, and nobody waits for ever.
func TestHookThatEndsItsGoroutine(t *testing.T) {
	for name, c := range map[string]struct {
		hook func(*Options)
		want string // of the error
	}{
		"after the turn": {func(o *Options) {
			o.AfterTurn = func(context.Context, *Turn, report.Result) error { runtime.Goexit(); return nil }
		}, "a hook ended its goroutine"},
		"who asks for facts": {func(o *Options) {
			o.Facts = sun(o.Agents[0].Backend)
			o.Facts.Ask = func(context.Context, SidecallTurn) ([]backends.Message, []backends.Tool, error) {
				runtime.Goexit()
				return nil, nil, nil
			}
		}, "a hook ended its goroutine"},
		"who keeps the topic": {func(o *Options) {
			o.Topic = sun(o.Agents[0].Backend)
			o.Topic.Keep = func(context.Context, string, []byte) error { runtime.Goexit(); return nil }
		}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := panelOf(t, 3, sidecalls, nil, c.hook)
			_, err := start(t, p, "energy").Wait(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v", name, err)
			}
			p.Wait()
		})
	}
}
