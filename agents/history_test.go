package agents_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// counting counts how often each text is read.
type counting struct {
	*sessions.Store
	mu    sync.Mutex
	reads map[blob.Ref]int
}

func (c *counting) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	c.mu.Lock()
	c.reads[ref]++
	c.mu.Unlock()
	return c.Store.Get(ctx, ref)
}

func TestCallsOfATurnReadItsHistoryOnce(t *testing.T) {
	w := newWorld(t)
	store := &counting{Store: w.store, reads: map[blob.Ref]int{}}
	d := agents.Doer{Blobs: store, Members: []agents.Member{{Backend: says{}}, {Backend: says{}}, {Backend: says{}}}}
	do := func(turn effect.Turn) {
		t.Helper()
		var group sync.WaitGroup
		for i := range 9 {
			call := w.call(i%3, effect.Coordination)
			group.Go(func() {
				if _, err := d.Perform(t.Context(), &turn, call); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	do(w.turn)
	if n := store.reads[w.turn.History]; n != 1 {
		t.Errorf("nine calls read the newest link %d times", n)
	}
	if n := store.reads[w.turn.Question]; n != 1 {
		t.Errorf("nine calls read the question %d times", n)
	}
	next := w.turn
	next.History = w.putJSON(sessions.Link{Previous: w.turn.History, Turn: 2, Question: w.turn.Question, Answer: w.turn.Question})
	do(next)
	if n := store.reads[next.History]; n != 1 {
		t.Errorf("the calls of another turn read its newest link %d times", n)
	}
}

func TestHistoryThatIsNotThereFailsTheCall(t *testing.T) {
	w := newWorld(t)
	gone := sessions.RefOf([]byte("gone"))
	for want, link := range map[string]sessions.Link{
		"history: the question of turn 1: no text": {Turn: 1, Question: gone, Answer: w.turn.Question},
		"history: the answer of turn 1: no text":   {Turn: 1, Question: w.turn.Question, Answer: gone},
		"history: no text":                         {Previous: gone, Turn: 2, Question: w.turn.Question, Answer: w.turn.Question},
	} {
		turn := w.turn
		turn.History = w.putJSON(link)
		_, err := agents.NewRebuilder(w.store).Input(t.Context(), &turn, w.call(analyst, effect.Coordination))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestHistoryIsReadNoFurtherThanItIsShown has one agent that is shown the last of
// three turns, and one that is shown all.
func TestHistoryIsReadNoFurtherThanItIsShown(t *testing.T) {
	w := newWorld(t)
	oldest := w.turn.History
	for number := 2; number <= 3; number++ {
		said := w.put(fmt.Sprintf("turn %d", number))
		w.turn.History = w.putJSON(sessions.Link{Previous: w.turn.History, Turn: number, Question: said, Answer: said})
	}
	w.turn.Agents[analyst].Shown = &policy.Selection{Kind: policy.Full, Turns: 1, Messages: 2, LeftOut: true}
	w.turn.Agents[creative].Shown = &policy.Selection{Kind: policy.Full, LeftOut: true, NoRoom: true}
	store := &counting{Store: w.store, reads: map[blob.Ref]int{}}
	heard := &listens{}
	d := agents.Doer{Blobs: store, Members: []agents.Member{{Backend: heard}, {Backend: heard}, {Backend: heard}}}
	for _, tc := range []struct{ agent, turns, reads int }{{creative, 0, 0}, {analyst, 1, 0}, {researcher, 3, 1}, {analyst, 1, 1}} {
		if _, err := d.Perform(t.Context(), &w.turn, w.call(tc.agent, effect.Coordination)); err != nil {
			t.Fatal(err)
		}
		if turns := strings.Count(heard.last.Messages[1].Text(), "\nUser: "); turns != tc.turns || store.reads[oldest] != tc.reads {
			t.Errorf("agent %d is shown %d turns, and the oldest was read %d times; want %d and %d", tc.agent, turns, store.reads[oldest], tc.turns, tc.reads)
		}
	}
}

// listens keeps the last request.
type listens struct {
	says
	last backends.Request
}

func (l *listens) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	l.last = req
	return l.says.Stream(ctx, req)
}

// recording counts how often each text is stored.
type recording struct {
	*sessions.Store
	mu   sync.Mutex
	puts map[blob.Ref]int
}

func (r *recording) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	ref, err := r.Store.Put(ctx, data)
	r.mu.Lock()
	r.puts[ref]++
	r.mu.Unlock()
	return ref, err
}

// TestCallsOfARoundAreRecordedOnce: agents that are shown the same answers have one user message, with one record.
// Agents that are shown others have another.
func TestCallsOfARoundAreRecordedOnce(t *testing.T) {
	w := newWorld(t)
	store := &recording{Store: w.store, puts: map[blob.Ref]int{}}
	heard := &listens{}
	d := agents.Doer{Blobs: store, Members: []agents.Member{{Backend: heard}, {Backend: heard}, {Backend: heard}}}
	sent := func(agent int, shown ...int) (user string, record blob.Ref) {
		ev, err := d.Perform(t.Context(), &w.turn, w.call(agent, effect.Coordination, shown...))
		if err != nil {
			t.Fatal(err)
		}
		return heard.last.Messages[1].Text(), ev.(effect.ModelReply).Sent.Messages[1]
	}
	first, record := sent(researcher, analyst)
	if again, same := sent(creative, analyst); again != first || same != record || store.puts[record] != 1 {
		t.Errorf("%s\nis stored %d times, after\n%s", again, store.puts[record], first)
	}
	other, _ := sent(analyst, creative)
	if !strings.Contains(first, "says analyst") || !strings.Contains(other, "says creative") || strings.Contains(other, "says analyst") {
		t.Errorf("who is shown another answer is sent\n%s", other)
	}
}
