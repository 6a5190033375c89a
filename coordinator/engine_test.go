package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// agree is three agents that answer and then vote for agent2, one second a call.
const agree = "rules:\n" + agreement

const agreement = `
  - {when: {round: 1}, reply: {delay: 1s, new_answer: "{{.Agent}} on {{.Question}}"}}
  - {when: {}, reply: {delay: 1s, vote: {agent: agent2, reason: "it is short"}}}
`

// panelOf makes a panel of agent1… on one script; overrides replaces the backend
// of single agents.
func panelOf(t *testing.T, n int, script string, overrides map[int]backends.Backend, change func(*Options)) (*Panel, *sessions.Store) {
	t.Helper()
	parsed, err := debugbackend.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	store := sessions.NewMemory()
	opts := Options{Store: store}
	for i := range n {
		a := Agent{ID: fmt.Sprintf("agent%d", i+1), Backend: debugbackend.NewScripted(parsed)}
		if b, ok := overrides[i]; ok {
			a.Backend = b
		}
		opts.Agents = append(opts.Agents, a)
	}
	if change != nil {
		change(&opts)
	}
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p, store
}

func start(t *testing.T, p *Panel, question string) *Turn {
	t.Helper()
	turn, err := p.Start(t.Context(), "s", question)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func wait(t *testing.T, turn *Turn) report.Result {
	t.Helper()
	r, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// backend is a backend that is one function.
type backend func(ctx context.Context, req backends.Request) error

func (b backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) { yield(nil, b(ctx, req)) }
}

func TestThreeAgentsAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		turn := start(t, p, "energy")
		if turn.Status() != Running || !turn.Ended().IsZero() || turn.ID() != "s/1" {
			t.Errorf("a running turn: status %s, ended %v, id %s", turn.Status(), turn.Ended(), turn.ID())
		}
		r := wait(t, turn)
		if r.Status != kernel.Completed || r.Winner != "agent2" || r.Answer != "agent2 on energy" || r.Rounds != 2 || r.Usage.Calls != 6 {
			t.Errorf("result %+v", r)
		}
		if len(r.Votes) != 3 || r.Votes[0].Label != "agent2.1" || r.Votes[0].Reason != "it is short" {
			t.Errorf("votes %+v", r.Votes)
		}
		if got := turn.Ended().Sub(turn.Started()); got != 2*time.Second {
			t.Errorf("two rounds of one second took %s", got)
		}
		history, err := store.History(t.Context(), "s")
		if err != nil || len(history) != 1 || history[0].Number != 1 || history[0].Question != "energy" || history[0].Answer != "agent2 on energy" ||
			history[0].Winner != "agent2" || history[0].Status != kernel.Completed || history[0].Usage.Calls != 6 {
			t.Errorf("history %+v, %v", history, err)
		}
	})
}

func TestFaultyAgentDoesNotStopTheOthers(t *testing.T) {
	faults := map[string]backend{
		"it failed": func(context.Context, backends.Request) error {
			return &backends.Error{Kind: backends.KindOverloaded, Provider: "p", Message: "it failed"}
		},
		"its call panicked: boom": func(context.Context, backends.Request) error { panic("boom") },
		"within the first round's time limit": func(ctx context.Context, _ backends.Request) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}
	for reason, fault := range faults {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := panelOf(t, 3, agree, map[int]backends.Backend{2: fault}, func(o *Options) {
					o.Rules = kernel.Defaults()
					o.Rules.FirstRoundLimit = 30 * time.Second
				})
				r := wait(t, start(t, p, "energy"))
				if r.Status != kernel.Completed || r.Winner != "agent2" {
					t.Errorf("status %s, winner %q", r.Status, r.Winner)
				}
				if len(r.Failed) != 1 || r.Failed[0].Agent != "agent3" || !strings.Contains(r.Failed[0].Error, reason) {
					t.Errorf("failed: %+v, want agent3 with %q", r.Failed, reason)
				}
			})
		})
	}
}

func TestLateAgentHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := backend(func(ctx context.Context, _ backends.Request) error { <-ctx.Done(); return ctx.Err() })
		p, _ := panelOf(t, 3, agree, map[int]backends.Backend{0: hang}, nil)
		turn := start(t, p, "energy")
		r := wait(t, turn)
		if r.Winner != "agent2" || r.Agents[0].State != kernel.ActLate {
			t.Errorf("winner %q, agent1 %+v", r.Winner, r.Agents[0])
		}
		if got := turn.Ended().Sub(turn.Started()); got != 62*time.Second {
			t.Errorf("took %s: one call, the straggler's minute and one call are 62s", got)
		}
		if r.Usage.UnknownCalls != 1 {
			t.Errorf("usage %+v: what the cancelled call cost is unknown", r.Usage)
		}
	})
}

// newestIsOf3 lets agent3 answer last.
const newestIsOf3 = `
rules:
  - {when: {round: 1, agent: agent3}, reply: {delay: 1200ms, new_answer: "late but good"}}`

func TestCancelKeepsTheBestSoFar(t *testing.T) {
	cases := []struct {
		after  time.Duration
		winner string
		state  kernel.Act
	}{
		{500 * time.Millisecond, "", kernel.ActCancelled},
		{1500 * time.Millisecond, "agent3", kernel.ActCancelled},
	}
	for _, how := range []string{"Cancel", "context"} {
		for _, c := range cases {
			t.Run(fmt.Sprint(how, " after ", c.after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, store := panelOf(t, 3, newestIsOf3+agree[len("\nrules:"):], nil, nil)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					turn, err := p.Start(ctx, "s", "energy")
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(c.after)
					if how == "Cancel" {
						turn.Cancel()
						turn.Cancel() // a second word changes nothing
					} else {
						cancel()
					}
					r := wait(t, turn)
					if r.Status != kernel.Cut || r.Winner != c.winner || r.Agents[0].State != c.state {
						t.Errorf("status %s, winner %q, agent1 %s", r.Status, r.Winner, r.Agents[0].State)
					}
					if got := turn.Ended().Sub(turn.Started()); got != c.after {
						t.Errorf("it took %s to cancel", got-c.after)
					}
					history, err := store.History(t.Context(), "s")
					if err != nil || (len(history) == 1) != (c.winner != "") {
						t.Errorf("history %+v, %v", history, err)
					}
				})
			})
		}
	}
}

func TestCallThatIgnoresItsCancelIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := backend(func(context.Context, backends.Request) error {
			<-release
			return errors.New("too late to matter")
		})
		p, _ := panelOf(t, 3, agree, map[int]backends.Backend{2: deaf}, nil)
		turn := start(t, p, "energy")
		time.Sleep(1500 * time.Millisecond)
		turn.Cancel()
		r := wait(t, turn)
		if got := turn.Ended().Sub(turn.Started()); got != 3500*time.Millisecond {
			t.Errorf("the turn took %s, want 1.5s and the 2s that a call may ignore its cancel", got)
		}
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "agent3") || !strings.Contains(r.Warnings[0], "abandoned") {
			t.Errorf("warnings %q do not name the abandoned call", r.Warnings)
		}
		close(release)
		synctest.Wait()
		if again := wait(t, turn); again.Usage != r.Usage {
			t.Errorf("the late result changed the usage from %+v to %+v", r.Usage, again.Usage)
		}
	})
}

func TestSessionTakesOneTurnAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, agree, nil, nil)
		first := start(t, p, "one")
		if _, err := p.Start(t.Context(), "s", "two"); !errors.Is(err, sessions.ErrBusy) {
			t.Errorf("a second turn on a busy session: %v", err)
		}
		other, err := p.Start(t.Context(), "other", "three")
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
		if first.Status() != kernel.Completed || other.Status() != kernel.Completed {
			t.Errorf("after Wait: %s and %s", first.Status(), other.Status())
		}
		if next := start(t, p, "four"); next.Number() != 2 {
			t.Errorf("the next turn has number %d", next.Number())
		}
		p.Wait()
	})
}

// TestSessionsNeedNoName: a session may have no name, a new id, or an id of the caller's.
func TestSessionsNeedNoName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 1, `rules: [{when: {}, reply: {text: "{{.Question}}!"}}]`, nil, nil)
		for _, c := range []struct {
			session string
			number  int
		}{{"", 1}, {sessions.NewID(), 1}, {"default", 1}, {sessions.NewID(), 1}, {"", 2}} {
			turn, err := p.Start(t.Context(), c.session, "energy")
			if err != nil {
				t.Fatal(err)
			}
			if want := cmp.Or(c.session, p.own); turn.Session() != want || turn.Number() != c.number {
				t.Errorf("a turn of session %q has the id %s, want %s/%d", c.session, turn.ID(), want, c.number)
			}
			wait(t, turn)
		}
		if _, err := store.Begin(t.Context(), p.own, "what was left"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Resume(t.Context(), ""); !errors.Is(err, sessions.ErrBusy) {
			t.Errorf("resuming its own session, which is busy: %v", err)
		}
	})
}

func TestQuestionsAreChecked(t *testing.T) {
	t.Parallel()
	p, _ := panelOf(t, 1, agree, nil, nil)
	for question, want := range map[string]string{
		" \n":                              "empty",
		strings.Repeat("x", MaxQuestion+1): "the most is 1048576 (1 MiB)",
	} {
		if _, err := p.Start(t.Context(), "s", question); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a question of %d bytes: %v, want %q", len(question), err, want)
		}
	}
}

func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before, after string
		refuse := errors.New("not now")
		p, _ := panelOf(t, 3, agree, nil, func(o *Options) {
			o.BeforeTurn = func(_ context.Context, t *Turn) error {
				before = t.Question()
				if before == "no" {
					return refuse
				}
				return nil
			}
			o.AfterTurn = func(_ context.Context, _ *Turn, r report.Result) error {
				after = r.Answer
				return errors.New("hook failed")
			}
		})
		if _, err := p.Start(t.Context(), "s", "no"); !errors.Is(err, refuse) {
			t.Errorf("a refusing hook: %v", err)
		}
		r, err := start(t, p, "energy").Wait(t.Context())
		if before != "energy" || after != "agent2 on energy" {
			t.Errorf("hooks saw %q and %q", before, after)
		}
		if err == nil || !strings.Contains(err.Error(), "hook failed") || r.Answer == "" {
			t.Errorf("a failing hook gives %v beside the answer %q", err, r.Answer)
		}
	})
}

// fullStore fails when its journal has taken so many events.
type fullStore struct {
	*sessions.Store
	left int
}

func (s *fullStore) Append(ctx context.Context, session string, turn int, events ...[]byte) error {
	if s.left -= len(events); s.left < 0 {
		return errors.New("disk full")
	}
	return s.Store.Append(ctx, session, turn, events...)
}

func (s *fullStore) EndWith(ctx context.Context, session string, turn int, e sessions.Ended, events ...[]byte) error {
	if s.left < len(events) {
		return errors.New("disk full")
	}
	return s.Store.EndWith(ctx, session, turn, e, events...)
}

func TestJournalFailureEndsTheTurn(t *testing.T) {
	for left := range 7 {
		synctest.Test(t, func(t *testing.T) {
			p, store := panelOf(t, 3, agree, nil, nil)
			p.opts.Store = &fullStore{store, left}
			turn, err := p.Start(t.Context(), "s", "energy")
			if err == nil {
				_, err = turn.Wait(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), "disk full") {
				t.Errorf("with room for %d events: %v", left, err)
			}
			if history, _ := store.History(t.Context(), "s"); len(history) != 0 {
				t.Errorf("with room for %d events a winner was committed", left)
			}
			if _, err := store.Begin(t.Context(), "s", "next"); err != nil {
				t.Errorf("with room for %d events the session stays locked: %v", left, err)
			}
		})
	}
}

func TestEventsFromTheBeginningForWhoeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, agree, nil, nil)
		turn := start(t, p, "energy")
		count := func() map[string]int {
			kinds := map[string]int{}
			for ev := range turn.Events(t.Context()) {
				kinds[ev.Head().Kind]++
			}
			return kinds
		}
		live := count()
		late := count()
		for kind, want := range map[string]int{"step_started": 6, "answered": 3, "voted": 3, "ended": 1} {
			if live[kind] != want || late[kind] != want {
				t.Errorf("%s: %d live, %d late, want %d", kind, live[kind], late[kind], want)
			}
		}
		for range turn.Events(t.Context()) {
			break // leaving early must leave nothing behind
		}
	})
}

func TestPanicOfAHookIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, agree, nil, func(o *Options) {
			o.AfterTurn = func(context.Context, *Turn, report.Result) error { panic("hook") }
		})
		r, err := start(t, p, "energy").Wait(t.Context())
		if r.Winner != "agent2" || err == nil || !strings.Contains(err.Error(), "Options.AfterTurn panicked: hook") {
			t.Errorf("winner %q, %v", r.Winner, err)
		}
	})
}

func TestWaitWhileTurnsBegin(t *testing.T) {
	p, _ := panelOf(t, 1, "rules: [{reply: {text: yes}}]", nil, nil)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if _, err := p.Start(t.Context(), fmt.Sprint(i), "energy"); err != nil {
				t.Error(err)
			}
		})
		group.Go(p.Wait)
	}
	group.Wait()
	p.Wait()
}

func TestCutMessageIsWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for finish, warnings := range map[string]int{"length": 1, "MAX_TOKENS": 1, "stop": 0} {
			p, _ := panelOf(t, 1, "rules: [{reply: {text: half an, finish: "+finish+"}}]", nil, nil)
			if r := wait(t, start(t, p, "energy")); len(r.Warnings) != warnings || r.Answer != "half an" {
				t.Errorf("finish %s: answer %q, warnings %q", finish, r.Answer, r.Warnings)
			}
		}
	})
}

func TestPresentationByTheWinner(t *testing.T) {
	script := agree[:len(agree)-1] + "\n  - {when: {purpose: presentation}, reply: {text: \"never matched\"}}\n"
	script = strings.Replace(script, "rules:", `rules:
  - {when: {purpose: presentation, agent: agent2}, reply: {text: "presented"}}
  - {when: {purpose: synthesis, agent: agent2}, reply: {error: {kind: overloaded, message: "busy"}}}`, 1)
	for strategy, want := range map[kernel.Strategy]string{
		kernel.WinnerReuse: "agent2 on energy", kernel.WinnerPresent: "presented", kernel.Synthesize: "agent2 on energy",
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := panelOf(t, 3, script, nil, func(o *Options) {
				o.Rules = kernel.Defaults()
				o.Rules.Final = strategy
			})
			r := wait(t, start(t, p, "energy"))
			if r.Answer != want || r.Status != kernel.Completed || (len(r.Warnings) == 1) != (strategy == kernel.Synthesize) {
				t.Errorf("%s: answer %q, status %s, warnings %q", strategy, r.Answer, r.Status, r.Warnings)
			}
		})
	}
}

// citing names a source in the presentation alone.
type citing struct{ backends.Backend }

func (c citing) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if req.Key.Purpose == string(effect.Presentation) && !yield(backends.Citation{URL: "https://tides.example/"}, nil) {
			return
		}
		c.Backend.Stream(ctx, req)(yield)
	}
}

// TestRecordHasTheSourcesOfThePresentation: these are the sources of the turn's answer, in its result
// and in its record.
func TestRecordHasTheSourcesOfThePresentation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, "rules:\n  - {when: {purpose: presentation}, reply: {text: presented}}"+agreement, nil, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.Final = kernel.WinnerPresent
			for i := range o.Agents {
				o.Agents[i].Backend = citing{o.Agents[i].Backend}
			}
		})
		r := wait(t, start(t, p, "energy"))
		record, err := ReadRecord(t.Context(), store, "s", 1)
		if err != nil || len(r.Citations) != 1 || !slices.Equal(r.Citations, record.Citations) {
			t.Errorf("the record has %+v, the result %+v; %v", record.Citations, r.Citations, err)
		}
	})
}

// counter is a tool that counts its calls.
type counter struct{ calls int }

func (c *counter) Definition() backends.Tool {
	return backends.Tool{Name: "count", Description: "Counts.", Schema: []byte(`{"type":"object"}`)}
}

func (c *counter) Call(context.Context, string) (string, error) {
	c.calls++
	return fmt.Sprint("count is ", c.calls), nil
}

func TestPanelOfOneUsesItsTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := &counter{}
		p, _ := panelOf(t, 1, `
rules:
  - {when: {last: tool, contains: "count is 1"}, reply: {text: "one"}}
  - {when: {tools: [count]}, reply: {text: "let me see", tool_calls: [{name: count, arguments: {}}]}}
`, nil, func(o *Options) { o.Agents[0].Tools = []agents.Tool{tool} })
		r := wait(t, start(t, p, "how many?"))
		if r.Answer != "one" || r.Usage.Calls != 2 || tool.calls != 1 {
			t.Errorf("answer %q after %d calls, the tool ran %d times", r.Answer, r.Usage.Calls, tool.calls)
		}
	})
}
