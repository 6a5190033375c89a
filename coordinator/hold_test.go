package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// lapse is a function that does not return from its first call while it is armed.
type lapse struct {
	isArmed bool
	leave   func()
}

func (l *lapse) run() {
	if l.isArmed {
		l.isArmed = false
		l.leave()
	}
}

// errLapse is the value of the panic.
var errLapse = errors.New("lapse")

// lapses are the ways not to return, by the value that the caller recovers.
func lapses() map[any]func() {
	return map[any]func(){errLapse: func() { panic(errLapse) }, nil: runtime.Goexit}
}

// lapsed runs do with the lapse armed, and checks that do panics, or ends its goroutine.
func lapsed(t *testing.T, l *lapse, want any, do func()) {
	t.Helper()
	l.isArmed = true
	over := make(chan any, 1)
	go func() {
		var got any = "it returned"
		defer func() { over <- got }()
		defer func() { got = recover() }()
		do()
		panic("it returned")
	}()
	if got := <-over; got != want {
		t.Errorf("the caller gets %v, want %v", got, want)
	}
}

// lapsing is a tool that names itself by a function of the user.
type lapsing struct {
	counter
	*lapse
}

func (l *lapsing) Definition() backends.Tool {
	l.run()
	return l.counter.Definition()
}

func (l *lapsing) Idempotent() bool {
	l.run()
	return true
}

// whileBegun are the functions of a panel's user that run while a turn begins.
var whileBegun = map[string]func(o *Options, l *lapse){
	"BeforeTurn": func(o *Options, l *lapse) {
		o.BeforeTurn = func(context.Context, *Turn) error { l.run(); return nil }
	},
	"Tools": func(o *Options, l *lapse) {
		o.Tools = func(context.Context) ([][]agents.Tool, error) {
			l.run()
			return make([][]agents.Tool, len(o.Agents)), nil
		}
	},
	"ToolsVersion": func(o *Options, l *lapse) {
		o.ToolsVersion = func() uint64 { l.run(); return 1 }
	},
	"InTurn": func(o *Options, l *lapse) {
		o.InTurn = func(context.Context, int) (p backends.Params, m effect.ToolMode) { l.run(); return p, m }
	},
	"Sections": func(o *Options, l *lapse) {
		o.Sections = func(context.Context, string) ([]string, error) { l.run(); return nil, nil }
	},
	"Topic.Ask": func(o *Options, l *lapse) {
		o.Topic = sun(o.Agents[0].Backend)
		o.Topic.Ask = func(context.Context, SidecallTurn) ([]backends.Message, []backends.Tool, error) {
			l.run()
			return nil, nil, nil
		}
	},
	"Definition": func(o *Options, l *lapse) { o.Agents[2].Tools = []agents.Tool{&lapsing{lapse: l}} },
}

// TestLapseFreesTheSession: a turn whose beginning does not return leaves nothing behind.
func TestLapseFreesTheSession(t *testing.T) {
	for function, change := range whileBegun {
		for value, leave := range lapses() {
			t.Run(fmt.Sprint(function, value), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &lapse{leave: leave}
					p, _ := panelOf(t, 3, agree, nil, func(o *Options) { change(o, l) })
					lapsed(t, l, value, func() { _, _ = p.Start(t.Context(), "s", "energy") })
					p.Wait()
					if r := wait(t, start(t, p, "energy")); r.Turn != 1 || r.Status != kernel.Completed {
						t.Errorf("turn %d is %s", r.Turn, r.Status)
					}
					p.Wait()
				})
			})
		}
	}
}

// lapsingContext is a context that lapses when the turn asks for its end, the last step of its beginning.
type lapsingContext struct {
	context.Context
	*lapse
}

func (c lapsingContext) Done() <-chan struct{} {
	c.run()
	return nil
}

// lapsingStore lapses when it has stored a turn's first event.
type lapsingStore struct {
	*sessions.Store
	*lapse
}

func (s lapsingStore) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	err := s.Store.Append(ctx, id, turn, events...)
	s.run()
	return err
}

func (s lapsingStore) Journal(ctx context.Context, id string, turn, from int) ([][]byte, error) {
	s.run()
	return s.Store.Journal(ctx, id, turn, from)
}

// asking counts the calls that a model is asked for.
type asking struct {
	inner backends.Backend
	calls atomic.Int32
}

func (a *asking) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	a.calls.Add(1)
	return a.inner.Stream(ctx, req)
}

// TestLapseAfterTheFirstEvent: the turn is interrupted, and can be resumed or abandoned. No call has begun, and
// its events end.
func TestLapseAfterTheFirstEvent(t *testing.T) {
	for name, withStore := range map[string]bool{"store": true, "context": false} {
		for value, leave := range lapses() {
			t.Run(fmt.Sprint(name, value), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &lapse{leave: leave}
					ctx := t.Context()
					p, store := panelOf(t, 3, agree, nil, func(o *Options) {
						if withStore {
							o.Store = lapsingStore{o.Store.(*sessions.Store), l}
						}
					})
					calls := &asking{inner: p.opts.Agents[0].Backend}
					for i := range p.opts.Agents {
						p.opts.Agents[i].Backend = calls
					}
					var begun *Turn
					p.opts.BeforeTurn = func(_ context.Context, t *Turn) error { begun = t; return nil }
					if !withStore {
						ctx = lapsingContext{ctx, l}
					}
					lapsed(t, l, value, func() { _, _ = p.Start(ctx, "s", "energy") })
					p.Wait()
					time.Sleep(time.Minute)
					if n := calls.calls.Load(); n > 0 {
						t.Errorf("calls that nobody waits for: %d", n)
					}
					for range begun.Events(t.Context()) { // it does not wait for more
					}
					if err := begun.Note(t.Context(), "hurry"); !errors.Is(err, driver.ErrOver) {
						t.Errorf("a note to the turn: %v", err)
					}
					if turns, err := store.Interrupted(t.Context(), "s"); err != nil || len(turns) != 1 {
						t.Fatalf("%d turns are interrupted, %v", len(turns), err)
					}
					if withStore {
						lapsed(t, l, value, func() { _, _, _ = p.Abandon(t.Context(), "s") })
					}
					turn, err := p.Resume(t.Context(), "s")
					if err != nil {
						t.Fatal(err)
					}
					if r := wait(t, turn); r.Turn != 1 || r.Status != kernel.Completed {
						t.Errorf("turn %d is %s", r.Turn, r.Status)
					}
					p.Wait()
				})
			})
		}
	}
}

// atWork are agents that each call a tool first.
const atWork = `
rules:
  - {when: {last: tool}, reply: {new_answer: "{{.Agent}}"}}
  - {when: {round: 1}, reply: {tool_calls: [{name: count, arguments: {}}]}}
  - {when: {}, reply: {vote: {agent: agent2, reason: "it is short"}}}
`

// stuck is a tool that does not return before its turn ends.
type stuck struct{ counter }

func (*stuck) Call(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// TestLapseOfAResumedTurn: the turn stays interrupted, and no call has begun anew.
func TestLapseOfAResumedTurn(t *testing.T) {
	for calls := range 7 { // of the user's functions before the lapse
		for value, leave := range lapses() {
			t.Run(fmt.Sprint(calls, value), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					first, store := panelOf(t, 3, atWork, nil, func(o *Options) {
						for i := range o.Agents {
							o.Agents[i].Tools = []agents.Tool{&stuck{}}
						}
					})
					killed := start(t, first, "energy")
					synctest.Wait()
					if err := store.Leave(t.Context(), "s", 1); err != nil {
						t.Fatal(err)
					}
					left := 0
					l := &lapse{}
					l.leave = func() {
						if left--; left >= 0 {
							l.isArmed = true
							return
						}
						leave()
					}
					var tools []*lapsing
					second, _ := panelOf(t, 3, atWork, nil, func(o *Options) {
						o.Store = store
						o.ToolsVersion = func() uint64 { l.run(); return 1 }
						for i := range o.Agents {
							tools = append(tools, &lapsing{lapse: l})
							o.Agents[i].Tools = []agents.Tool{tools[i]}
						}
					})
					left = calls
					lapsed(t, l, value, func() { _, _ = second.Resume(t.Context(), "s") })
					second.Wait()
					synctest.Wait()
					for i, tool := range tools {
						if tool.calls > 0 {
							t.Errorf("the tool of agent %d was called", i+1)
						}
					}
					turn, err := second.Resume(t.Context(), "s")
					if err != nil {
						t.Fatal(err)
					}
					if r := wait(t, turn); r.Turn != 1 || r.Status != kernel.Completed {
						t.Errorf("turn %d is %s", r.Turn, r.Status)
					}
					second.Wait()
					killed.Cancel()
					first.Wait()
				})
			})
		}
	}
}

// TestLapseOfARerun leaves no new session.
func TestLapseOfARerun(t *testing.T) {
	for value, leave := range lapses() {
		synctest.Test(t, func(t *testing.T) {
			l := &lapse{leave: leave}
			p, store := panelOf(t, 3, agree, nil, func(o *Options) { whileBegun["Tools"](o, l) })
			ask(t, p, weather[:2])
			lapsed(t, l, value, func() { _, _ = p.Rerun(t.Context(), Point{"s", 2, 2}, "other") })
			if _, err := store.Session(t.Context(), "other"); !errors.Is(err, sessions.ErrNoSession) {
				t.Errorf("the new session: %v", err)
			}
			turn, err := p.Rerun(t.Context(), Point{"s", 2, 2}, "other")
			if err != nil {
				t.Fatal(err)
			}
			wait(t, turn)
			p.Wait()
		})
	}
}

// interruptible is a Remote whose turns do nothing but note that they are interrupted.
type interruptible struct {
	Remote
	RemoteTurn
	isInterrupted bool
}

func (e *interruptible) Begin(context.Context, string, string, TurnOptions) (RemoteTurn, error) {
	return e, nil
}

func (e *interruptible) Number() int { return 1 }

func (e *interruptible) Interrupt(context.Context) error {
	e.isInterrupted = true
	return nil
}

// TestLapseOfARemoteTurn interrupts the turn, which another process plays already.
func TestLapseOfARemoteTurn(t *testing.T) {
	for value, leave := range lapses() {
		synctest.Test(t, func(t *testing.T) {
			l, remote := &lapse{leave: leave}, &interruptible{}
			p, _ := panelOf(t, 1, agree, nil, func(o *Options) {
				o.Remote = remote
				whileBegun["BeforeTurn"](o, l)
			})
			lapsed(t, l, value, func() { _, _ = p.Start(t.Context(), "s", "energy") })
			if !remote.isInterrupted {
				t.Error("the turn goes on")
			}
			p.Wait()
		})
	}
}
