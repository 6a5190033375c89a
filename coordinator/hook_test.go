package coordinator

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// TestKeeperDoesNotHoldCallsBack: the agents' calls begin before Keep stores a sidecall's result.
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

// TestResultDoesNotWaitForWhatFollows: the call for facts takes a minute, and the result is there before.
func TestResultDoesNotWaitForWhatFollows(t *testing.T) {
	const slowFacts = `
rules:
  - {when: {purpose: facts}, reply: {delay: 60s, text: "x"}}
  - {when: {}, reply: {delay: 1s, text: "an answer"}}
`
	for _, size := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := panelOf(t, size, slowFacts, nil, func(o *Options) { o.Facts = sun(o.Agents[0].Backend) })
			begun := time.Now()
			wait(t, start(t, p, "energy"))
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("%d agents: the result is there after %v", size, took)
			}
			p.Wait()
		})
	}
}

// TestHookThatEndsItsGoroutine: the turn has its answer, and an error or an event names the hook. Nobody waits
// for ever.
func TestHookThatEndsItsGoroutine(t *testing.T) {
	for name, c := range map[string]struct {
		hook  func(*Options)
		want  string // in the error
		event string // in a SidecallFailed
	}{
		"after the turn": {func(o *Options) {
			o.AfterTurn = func(context.Context, *Turn, report.Result) error { runtime.Goexit(); return nil }
		}, "Options.AfterTurn ended its goroutine", ""},
		"who asks for facts": {func(o *Options) {
			o.Facts = sun(o.Agents[0].Backend)
			o.Facts.Ask = func(context.Context, SidecallTurn) ([]backends.Message, []backends.Tool, error) {
				runtime.Goexit()
				return nil, nil, nil
			}
		}, "", "Sidecall.Ask ended its goroutine"},
		"who keeps the topic": {func(o *Options) {
			o.Topic = sun(o.Agents[0].Backend)
			o.Topic.Keep = func(context.Context, string, []byte) error { runtime.Goexit(); return nil }
		}, "", "Sidecall.Keep ended its goroutine"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := panelOf(t, 3, sidecalls, nil, c.hook)
			turn := start(t, p, "energy")
			r, err := turn.Wait(t.Context())
			if r.Status != kernel.Completed || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s, %v", name, r.Status, err)
			}
			p.Wait()
			failed := eventsOf[report.SidecallFailed](t, turn)
			if (len(failed) == 1) != (c.event != "") || len(failed) == 1 && !strings.Contains(failed[0].Why, c.event) {
				t.Errorf("%s: %+v", name, failed)
			}
		})
	}
}

// TestHookThatIgnoresItsContext is abandoned. Its goroutine alone outlives the turn.
func TestHookThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var versions atomic.Uint64
		p, _ := panelOf(t, 2, agree, nil, func(o *Options) {
			o.ToolsVersion = func() uint64 { return versions.Add(1) }
			o.Tools = func(context.Context) ([][]agents.Tool, error) {
				if versions.Load() > 1 { // the turn has begun
					<-release
				}
				return make([][]agents.Tool, 2), nil
			}
		})
		turn := start(t, p, "energy")
		time.Sleep(time.Minute)
		if turn.Status() != Running {
			t.Error("the turn does not wait for its tools")
		}
		turn.Cancel()
		if r := wait(t, turn); r.Status != kernel.Cut || turn.Ended().Sub(turn.Started()) != time.Minute+2*time.Second {
			t.Errorf("the turn is %s after %v", r.Status, turn.Ended().Sub(turn.Started()))
		}
		p.Wait()
		close(release)
	})
}

// leaving is a store that does not return once, at the end of a turn.
type leaving struct {
	*sessions.Store
	*lapse
}

func (s leaving) EndWith(ctx context.Context, id string, turn int, e sessions.Ended, events ...[]byte) error {
	s.run()
	return s.Store.EndWith(ctx, id, turn, e, events...)
}

// TestStoreThatDoesNotReturn: the turn is over with an error, and can be resumed.
func TestStoreThatDoesNotReturn(t *testing.T) {
	for want, leave := range map[string]func(){
		"it panicked: no disk":               func() { panic("no disk") },
		"the store ended its goroutine (run": runtime.Goexit,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &lapse{isArmed: true, leave: leave}
			p, _ := panelOf(t, 1, agree, nil, func(o *Options) { o.Store = leaving{o.Store.(*sessions.Store), l} })
			turn := start(t, p, "energy")
			if _, err := turn.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the turn is over with %v, want %q", err, want)
			}
			p.Wait()
			resumed, err := p.Resume(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			wait(t, resumed)
			p.Wait()
		})
	}
}

// TestJobThatEndsItsGoroutine posts all the same: the turn is over with an error that names the call.
func TestJobThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Uint64
		p, _ := panelOf(t, 2, agree, nil, func(o *Options) {
			o.ToolsVersion = func() uint64 {
				if calls.Add(1) > 1 { // the turn has begun
					runtime.Goexit()
				}
				return 1
			}
		})
		const want = "coordination: it ended its goroutine"
		if _, err := start(t, p, "energy").Wait(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the turn is over with %v, want %q", err, want)
		}
		p.Wait()
	})
}
