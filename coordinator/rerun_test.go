package coordinator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// TestRerunGoesOnFromARound in a session of its own: what was before the round is not
// called again, and the session that it comes from stays as it was.
func TestRerunGoesOnFromARound(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]struct {
		turn, round int
		called      []string
	}{
		"the votes":  {2, 2, []string{"agent1 2", "agent2 2", "agent3 2"}},
		"the start":  {2, 1, []string{"agent1 1", "agent1 2", "agent2 1", "agent2 2", "agent3 1", "agent3 2"}},
		"first turn": {1, 2, []string{"agent1 2", "agent2 2", "agent3 2"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			recorder := debugbackend.NewRecorder(debugbackend.Options{})
			p, store := panelOf(t, 3, agree, nil, nil)
			ask(t, p, weather[:2])
			before, err := store.Turns(t.Context(), "s", 0)
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.opts.Agents {
				p.opts.Agents[i].Backend = recorder.Wrap(p.opts.Agents[i].Backend)
			}
			running, err := p.Rerun(t.Context(), Point{"s", from.turn, from.round}, "other")
			if err != nil {
				t.Fatal(name, err)
			}
			r := wait(t, running)
			if r.SessionID != "other" || r.Turn != from.turn || r.Status != kernel.Completed || r.Answer != before[from.turn-1].Answer {
				t.Errorf("%s: it came to %+v", name, r)
			}
			called := map[string]bool{}
			for _, c := range recorder.Calls() {
				called[c.Request.Key.Agent+" "+string(rune('0'+c.Request.Key.Round))] = true
				if c.Request.Key.Session != "other" {
					t.Errorf("%s: %s was called for session %q", name, c.Request.Key, c.Request.Key.Session)
				}
			}
			want := map[string]bool{}
			for _, c := range from.called {
				want[c] = true
			}
			if diff := cmp.Diff(want, called); diff != "" {
				t.Errorf("%s: the calls (-want +got):\n%s", name, diff)
			}
			after, err := store.Turns(t.Context(), "s", 0)
			if diff := cmp.Diff(before, after); diff != "" || err != nil {
				t.Errorf("%s: the session that it comes from, %v (-before +after):\n%s", name, err, diff)
			}
			made, err := store.Turns(t.Context(), "other", 0)
			if err != nil || len(made) != from.turn {
				t.Fatalf("%s: the new session has %d turns, %v", name, len(made), err)
			}
			if replayed, err := Replay(t.Context(), store, "other", made[from.turn-1]); err != nil || replayed.Inputs != 6 {
				t.Errorf("%s: the new turn replays as %+v, %v", name, replayed, err)
			}
		})
	}
}

func TestRerunRefusesWhatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		ask(t, p, weather[:2])
		for want, try := range map[string]struct {
			from Point
			to   string
		}{
			"2 rounds, and none":      {Point{"s", 2, 3}, "other"},
			"its journal is empty":    {Point{"s", 3, 1}, "other"},
			"a session already":       {Point{"s", 2, 1}, "s"},
			"a session already with ": {Point{"s", 1, 1}, "s"},
		} {
			if _, err := p.Rerun(t.Context(), try.from, try.to); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", try, err, want)
			}
		}
		if _, err := store.Session(t.Context(), "other"); !errors.Is(err, sessions.ErrNoSession) {
			t.Errorf("a session was made: %v", err)
		}
	})
}

// leave writes the beginning of the journal of turn 1 of the session "s", changed, to
// another session, as a process that was killed leaves it.
func leave(t *testing.T, store *sessions.Store, events int, change func(*turn.Accepted)) {
	t.Helper()
	list, err := readJournal(t.Context(), store, "s", 1)
	if err != nil {
		t.Fatal(err)
	}
	accepted := list[0].(turn.Accepted)
	change(&accepted)
	list[0] = accepted
	var journal [][]byte
	for _, ev := range list[:events] {
		data, err := turn.Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		journal = append(journal, data)
	}
	leaveTurn(t, store, "left", "energy", journal...)
}

// TestResumeStopsAtAnotherInput, shows both, leaves the turn as it was, and lets it be
// abandoned.
func TestResumeStopsAtAnotherInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		wait(t, start(t, p, "energy"))
		system, err := store.Put(t.Context(), []byte("You are another."))
		if err != nil {
			t.Fatal(err)
		}
		leave(t, store, 4, func(a *turn.Accepted) { a.Turn.Agents[1].System = system })
		_, err = p.Resume(t.Context(), "left")
		var d *Difference
		if !errors.As(err, &d) || d.Kind != InputDiffers || d.Call.Agent != "agent2" || d.Event < 2 || d.Event > 4 || d.Lost != nil {
			t.Fatalf("resumed with %v", err)
		}
		was, is := d.Recorded.Messages[0].Text(), d.Rebuilt.Messages[0].Text()
		if strings.Contains(was, "another.") || !strings.HasPrefix(is, "You are another.") || !strings.HasSuffix(is, was) {
			t.Errorf("recorded: %q, rebuilt: %q", was, is)
		}
		question, _, err := p.Abandon(t.Context(), "left")
		if err != nil || question != "energy" {
			t.Fatalf("abandoned %q, %v", question, err)
		}
		turns, err := store.Turns(t.Context(), "left", 0)
		if err != nil || turns[0].Status != kernel.Cut || turns[0].Usage.Calls != 6 || turns[0].Usage.UnknownCalls != 3 || turns[0].Link != (blob.Ref{}) {
			t.Errorf("the turn is %+v, %v", turns[0], err)
		}
		if s, err := store.Session(t.Context(), "left"); err != nil || s.Usage.Calls != 6 {
			t.Errorf("the session is %+v, %v", s, err)
		}
		if _, _, err := p.Abandon(t.Context(), "left"); err == nil {
			t.Error("it was abandoned twice")
		}
	})
}

// TestAnotherQuestionGivesUp the interrupted turn. The session's usage includes its calls.
func TestAnotherQuestionGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		wait(t, start(t, p, "energy"))
		leave(t, store, 4, func(*turn.Accepted) {})
		next, err := p.Start(t.Context(), "left", "wind")
		if err != nil {
			t.Fatal(err)
		}
		wait(t, next)
		turns, err := store.Turns(t.Context(), "left", 0)
		if err != nil || len(turns) != 2 || turns[0].Status != kernel.Cut || turns[0].Usage.Calls != 6 || turns[0].Usage.UnknownCalls != 3 {
			t.Errorf("the turns are %+v, %v", turns, err)
		}
		if s, err := store.Session(t.Context(), "left"); err != nil || s.Usage.Calls != 6+turns[1].Usage.Calls {
			t.Errorf("the session is %+v, %v", s, err)
		}
	})
}

// TestJournalThatBreaksTheMachine: an import may have one. No turn is shown a negative number of turns.
func TestJournalThatBreaksTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		wait(t, start(t, p, "energy"))
		wait(t, start(t, p, "and wind"))
		journal, err := store.Journal(t.Context(), "s", 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := turn.Decode(journal[0])
		accepted, ok := ev.(turn.Accepted)
		if err != nil || !ok {
			t.Fatalf("the journal begins with %T, %v", ev, err)
		}
		accepted.Turn.Agents[0].Shown = &policy.Selection{Turns: -9, LeftOut: true}
		if journal[0], err = turn.Encode(accepted); err != nil {
			t.Fatal(err)
		}
		_, err = Replay(t.Context(), cutJournal{store, journal}, "s", sessions.Turn{Number: 2})
		if err == nil || !strings.Contains(err.Error(), "of its journal panicked: ") {
			t.Errorf("replayed with %v", err)
		}
	})
}

// TestTurnWithoutJournal has neither way on, as a store may have lost it, and does not keep
// another question from being asked: what it has cost is unknown then.
func TestTurnWithoutJournal(t *testing.T) {
	t.Parallel()
	_, store := panelOf(t, 3, agree, nil, nil)
	leaveTurn(t, store, "left", "energy", []byte("{}"))
	p, _ := panelOf(t, 3, agree, nil, func(o *Options) { o.Store = cutJournal{Store: store} })
	_, resumed := p.Resume(t.Context(), "left")
	_, _, abandoned := p.Abandon(t.Context(), "left")
	for _, err := range []error{resumed, abandoned} {
		if err == nil || !strings.Contains(err.Error(), "its journal is empty") {
			t.Errorf("%v", err)
		}
	}
	next, err := p.Start(t.Context(), "left", "wind")
	if err != nil {
		t.Fatal(err)
	}
	wait(t, next)
	if s, err := store.Session(t.Context(), "left"); err != nil || s.Usage.UnknownCalls != 1 {
		t.Errorf("the session is %+v, %v", s, err)
	}
}

// TestWhatLostTurnsHaveCost: what a journal has is known, and what it does not have is known
// to be missing.
func TestWhatLostTurnsHaveCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		wait(t, start(t, p, "energy"))
		whole, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			journal [][]byte
			want    budget.Usage
		}{
			"nothing":       {nil, budget.Usage{Calls: 1, UnknownCalls: 1}},
			"not readable":  {[][]byte{[]byte("{}")}, budget.Usage{Calls: 1, UnknownCalls: 1}},
			"half readable": {slices.Concat(whole[:3], [][]byte{[]byte("{}")}, whole[3:]), budget.Usage{Calls: 4, UnknownCalls: 2}},
			"of no machine": {slices.Concat(whole[:2], whole[1:2]), budget.Usage{Calls: 3, UnknownCalls: 1}},
			"two of three":  {whole[:3], budget.Usage{Calls: 3, UnknownCalls: 1}},
		} {
			if got := usageOfLost(c.journal); got.Calls != c.want.Calls || got.UnknownCalls != c.want.UnknownCalls {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}

// TestJournalWithoutInputsIsResumed: older programs did not journal inputs.
func TestJournalWithoutInputsIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		wait(t, start(t, p, "energy"))
		events, err := readJournal(t.Context(), store, "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		f := newFollower(new(turn.Machine), store)
		for _, ev := range events {
			if done, ok := ev.(turn.ModelDone); ok {
				done.Reply.Sent = nil
				ev = done
			}
			if _, err := f.follow(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		if f.unchecked != 6 || f.checked != 0 || !f.machine.Over() {
			t.Errorf("%d were not checked, %d were", f.unchecked, f.checked)
		}
	})
}

// once is a tool that may not be called twice.
type once struct{ agents.Tool }

// TestToolsUnderWayAreNotRunAgain unless they say that it does no harm: the model is told.
func TestToolsUnderWayAreNotRunAgain(t *testing.T) {
	script := `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{id: a, name: work, arguments: {}}, {id: b, name: gauge, arguments: {of: it}}]}}
  - {when: {}, reply: {text: "done"}}
`
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 1, script, nil, func(o *Options) { o.Agents[0].Tools = []agents.Tool{once{slow{}}, gauge{}} })
		wait(t, start(t, p, "energy"))
		leave(t, store, 2, func(*turn.Accepted) {})
		turns, err := store.Turns(t.Context(), "left", 0)
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := Replay(t.Context(), store, "left", turns[0])
		want := []UnfinishedCall{
			{Agent: "agent1", Round: 1, Purpose: effect.Tool, Number: 1, Tool: "work"},
			{Agent: "agent1", Round: 1, Purpose: effect.Tool, Number: 2, Tool: "gauge"},
		}
		if diff := cmp.Diff(want, replayed.Unfinished); diff != "" || err != nil {
			t.Errorf("unfinished, %v (-want +got):\n%s", err, diff)
		}
		resumed, err := p.Resume(t.Context(), "left")
		if err != nil {
			t.Fatal(err)
		}
		calls := wait(t, resumed).ToolCalls
		if len(calls) != 2 || !calls[0].Error || !strings.HasPrefix(calls[0].Result, "unknown: interrupted: ") || calls[0].DurationMS != 0 {
			t.Errorf("the tool that is not idempotent: %+v", calls)
		}
		if calls[1].Error || calls[1].Result != `measured {"of":"it"}` {
			t.Errorf("the tool that is: %+v", calls[1])
		}
	})
}

// TestRerunThatFailsLeavesNoSession: at each write of it, and when the turn cannot go on.
func TestRerunThatFailsLeavesNoSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, number := range []int{1, 2} {
			p, store := panelOf(t, 3, agree, nil, nil)
			ask(t, p, weather[:2])
			for writes := 0; ; writes++ {
				p.opts.Store = &failing{store, writes}
				running, err := p.Rerun(t.Context(), Point{"s", number, 2}, "other")
				if err == nil {
					if writes < 3 { // Begin, the copied journal, and Resumed
						t.Errorf("a turn went on after %d writes", writes)
					}
					if _, err := running.Wait(t.Context()); err == nil {
						t.Errorf("a turn ended after %d writes", writes)
					}
					break
				}
				if _, noSession := store.Session(t.Context(), "other"); !errors.Is(noSession, sessions.ErrNoSession) || !strings.Contains(err.Error(), "no room") {
					t.Fatalf("turn %d after %d writes: %v, and of the session %v", number, writes, err, noSession)
				}
			}
		}
	})
}

// failing is a store that takes so many writes.
type failing struct {
	*sessions.Store
	writes int
}

func (f *failing) take() error {
	if f.writes--; f.writes < 0 {
		return errors.New("no room")
	}
	return nil
}

func (f *failing) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	if err := f.take(); err != nil {
		return sessions.Begun{}, err
	}
	return f.Store.Begin(ctx, id, question)
}

func (f *failing) Append(ctx context.Context, id string, number int, events ...[]byte) error {
	if err := f.take(); err != nil {
		return err
	}
	return f.Store.Append(ctx, id, number, events...)
}

func (f *failing) EndWith(ctx context.Context, id string, number int, e sessions.Ended, events ...[]byte) error {
	if err := f.take(); err != nil {
		return err
	}
	return f.Store.EndWith(ctx, id, number, e, events...)
}
