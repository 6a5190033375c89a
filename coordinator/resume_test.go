package coordinator

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// finishes counts the calls of each key that came to their end.
type finishes struct {
	inner backends.Backend

	mu    sync.Mutex
	count map[backends.Key]int
}

func (c *finishes) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		for ev, err := range c.inner.Stream(ctx, req) {
			if _, ok := ev.(backends.Finish); ok {
				c.add(req.Key)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (c *finishes) add(key backends.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[key]++
}

// TestTurnIsResumedFromEveryEvent kills a turn after each event of its journal. What
// goes on comes to the same result, and makes no call whose result was there.
func TestTurnIsResumedFromEveryEvent(t *testing.T) {
	t.Parallel()
	for name, r := range replays {
		if r.cancels > 0 {
			continue // nobody cancels the second half
		}
		change := func(o *Options) {
			o.Rules = kernel.Defaults()
			if r.change != nil {
				r.change(o)
			}
		}
		whole := func(t *testing.T) (report.Result, [][]byte, *sessions.Store) {
			p, store := panelOf(t, 3, r.script, nil, change)
			turn := start(t, p, "energy")
			addNotes(t, turn, r.notes...)
			result := wait(t, turn)
			journal, err := store.Journal(t.Context(), "s", 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			return result, journal, store
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				want, journal, texts := whole(t)
				for n := firstWithNotes(t, journal, len(r.notes)); n <= len(journal) && !isCommitted(t, journal[n-1]); n++ {
					got, calls := resumeAfter(t, r.script, change, journal[:n], texts)
					for key, times := range calls {
						if times > 1 {
							t.Errorf("after %d of %d events: %v was called %d times", n, len(journal), key, times)
						}
					}
					if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
						t.Errorf("after %d of %d events: the result (-want +got):\n%s", n, len(journal), diff)
					}
				}
			})
		})
	}
}

// firstWithNotes returns the number of events after which a journal has so many notes: 1 for 0 notes.
func firstWithNotes(t *testing.T, journal [][]byte, notes int) int {
	for n := 1; n <= len(journal); n++ {
		ev, err := turn.Decode(journal[n-1])
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(turn.Noted); ok {
			notes--
		}
		if notes == 0 {
			return n
		}
	}
	t.Fatalf("the journal lacks %d notes", notes)
	return 0
}

// timeless is a result without what depends on which of two calls was the quicker, and
// on which were under way when a process was lost, if all of these are told of.
func timeless(r report.Result) report.Result {
	r.DurationMS = 0
	const repeated = "had begun when the turn was cut off: made again, and perhaps paid for twice"
	calls := fmt.Sprintf("%d calls ", r.RepeatedCalls)
	if r.RepeatedCalls == 1 {
		calls = "a call "
	}
	if n := r.RepeatedCalls; n > 0 && slices.Contains(r.Warnings, calls+repeated) {
		r.RepeatedCalls = 0
		r.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings), func(w string) bool { return w == calls+repeated })
		withoutLost(&r.Usage, n)
		session := *r.Session
		withoutLost(&session.UsageTotal, n)
		r.Session = &session
	}
	r.Agents = slices.Clone(r.Agents)
	for i := range r.Agents { // which of them are repeated is not told
		u := &r.Agents[i].Usage
		withoutLost(u, u.UnknownCalls)
	}
	byVoter := func(a, b report.ResultVote) int {
		if a.Round != b.Round {
			return a.Round - b.Round
		}
		return strings.Compare(a.Voter, b.Voter)
	}
	r.Votes = slices.SortedFunc(slices.Values(r.Votes), byVoter)
	r.VoidVotes = slices.SortedFunc(slices.Values(r.VoidVotes), byVoter)
	r.ToolCalls = slices.SortedFunc(slices.Values(r.ToolCalls), func(a, b report.ResultToolCall) int {
		return strings.Compare(a.Agent+a.Arguments, b.Agent+b.Arguments)
	})
	for i := range r.ToolCalls { // a tool that was under way runs again
		r.ToolCalls[i].DurationMS = 0
	}
	return r
}

// withoutLost takes calls of unknown cost out of a usage.
func withoutLost(u *budget.Usage, n int) { u.Calls, u.UnknownCalls = u.Calls-n, u.UnknownCalls-n }

// begin writes the beginning of a turn's journal to a store, with the texts that it names.
func begin(t *testing.T, store Store, journal [][]byte, texts *sessions.Store) {
	t.Helper()
	ctx := t.Context()
	if _, err := store.Begin(ctx, "s", "energy"); err != nil {
		t.Fatal(err)
	}
	for _, event := range journal {
		for _, ref := range sessions.Refs(event) {
			text, err := texts.Get(ctx, ref)
			if err == nil {
				_, err = store.Put(ctx, text)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Append(ctx, "s", 1, event); err != nil {
			t.Fatal(err)
		}
	}
}

// resumeAfter writes the beginning of a journal to a store on disk, as a process that
// is killed then leaves it, and resumes the turn. It returns how often each call came
// to its end, before and after.
func resumeAfter(t *testing.T, script string, change func(*Options), journal [][]byte, texts *sessions.Store) (report.Result, map[backends.Key]int) {
	t.Helper()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "sessions.db")
	store := opened(t, path)
	begin(t, store, journal, texts)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour) // nobody is at work
	store = opened(t, path)
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	parsed, err := debugbackend.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	calls := &finishes{inner: debugbackend.NewScripted(parsed), count: map[backends.Key]int{}}
	for _, event := range journal {
		if key, ok := modelDone(t, event); ok {
			calls.count[key]++
		}
	}
	opts := Options{Store: store}
	for i := range 3 {
		opts.Agents = append(opts.Agents, Agent{ID: fmt.Sprintf("agent%d", i+1), Backend: calls})
	}
	change(&opts)
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Wait()
	turn, err := p.Resume(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	r := wait(t, turn)
	if open, err := store.Interrupted(ctx, "s"); err != nil || len(open) > 0 {
		t.Errorf("after its end the turn is interrupted: %v, %v", open, err)
	}
	return r, calls.count
}

func opened(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// leaveTurn leaves the first turn of a session with these events, as a process that is killed does.
func leaveTurn(t *testing.T, store *sessions.Store, id, question string, journal ...[]byte) {
	t.Helper()
	_, err := store.Begin(t.Context(), id, question)
	if err == nil {
		err = store.Append(t.Context(), id, 1, journal...)
	}
	if err == nil {
		err = store.Leave(t.Context(), id, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestResumeRefusesAnotherPanel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		turn := start(t, p, "energy")
		wait(t, turn)
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		leaveTurn(t, store, "other", "energy", journal[0])
		two, err := New(Options{Store: store, Agents: p.opts.Agents[:2]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := two.Resume(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "agent1, agent2, agent3, and the panel is agent1, agent2") {
			t.Errorf("another panel: %v", err)
		}
		others := slices.Clone(p.opts.Agents)
		others[1].Model = "another"
		otherModel, err := New(Options{Store: store, Agents: others})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := otherModel.Resume(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), `agent agent2 was begun with the model "", and the panel's has "another": name that model again`) {
			t.Errorf("a panel with another model: %v", err)
		}
		resumed, err := p.Resume(t.Context(), "other") // the refusal has let go of it
		if err != nil {
			t.Fatal(err)
		}
		if r := wait(t, resumed); r.Status != kernel.Completed || r.Turn != 1 || r.SessionID != "other" {
			t.Errorf("resumed: %+v", r)
		}
		if _, err := p.Resume(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("nothing is left to resume: %v", err)
		}
	})
}

// TestReplayedEventsAreMarked resumes a turn in which all have answered and nobody has
// voted.
func TestReplayedEventsAreMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		wait(t, start(t, p, "energy"))
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Begin(t.Context(), "other", "energy"); err != nil {
			t.Fatal(err)
		}
		for done, i := 0, 0; done < 3; i++ {
			if err := store.Append(t.Context(), "other", 1, journal[i]); err != nil {
				t.Fatal(err)
			}
			if _, ok := modelDone(t, journal[i]); ok {
				done++
			}
		}
		if err := store.Leave(t.Context(), "other", 1); err != nil {
			t.Fatal(err)
		}
		resumed, err := p.Resume(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		wait(t, resumed)
		marked := map[bool][]string{}
		for ev := range resumed.Events(t.Context()) {
			switch ev.(type) {
			case report.StepStarted, report.Answered, report.Voted, report.Ended:
				marked[ev.Head().Replayed] = append(marked[ev.Head().Replayed], ev.Head().Kind)
			}
		}
		want := map[bool][]string{
			true:  {"step_started", "step_started", "step_started", "answered", "answered", "answered", "step_started", "step_started", "step_started"},
			false: {"voted", "voted", "voted", "ended"},
		}
		if diff := cmp.Diff(want, marked); diff != "" {
			t.Errorf("the events by whether they are replayed (-want +got):\n%s", diff)
		}
	})
}

// modelDone returns the key of the call whose result an event is.
func modelDone(t *testing.T, event []byte) (backends.Key, bool) {
	t.Helper()
	ev, err := turn.Decode(event)
	if err != nil {
		t.Fatal(err)
	}
	done, ok := ev.(turn.ModelDone)
	if !ok {
		return backends.Key{}, false
	}
	k := done.Key
	if k.Agent == effect.NoAgent {
		return backends.Key{Session: "s", Turn: 1, Purpose: string(k.Purpose)}, true
	}
	return backends.Key{
		Session: "s", Turn: 1, Agent: fmt.Sprintf("agent%d", k.Agent+1), Round: k.Round, Purpose: string(k.Purpose), Index: k.Index,
	}, true
}

// isCommitted reports whether an event comes after the turn's end.
func isCommitted(t *testing.T, event []byte) bool {
	t.Helper()
	ev, err := turn.Decode(event)
	if err != nil {
		t.Fatal(err)
	}
	_, ok := ev.(turn.Committed)
	return ok
}
