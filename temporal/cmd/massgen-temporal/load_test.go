package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/temporal/postgres"
	"github.com/massgen/massgen/tests/backendtest"
)

// load is a service of models that records when it got each request, for many turns with different questions.
type load struct {
	*service
	mu       sync.Mutex
	arrivals map[string][]time.Time // by body
}

// newLoad returns a service whose answers take up to longest.
func newLoad(t testing.TB, longest time.Duration, reply func(backendtest.Call) backendtest.Reply) *load {
	l := &load{arrivals: map[string][]time.Time{}}
	l.service = newService(t, func(c backendtest.Call) backendtest.Reply {
		l.mu.Lock()
		l.arrivals[string(c.Body)] = append(l.arrivals[string(c.Body)], time.Now())
		l.mu.Unlock()
		time.Sleep(rand.N(longest))
		return reply(c)
	})
	return l
}

// questionOf returns the text of a question that is part of each request of its turn, and of no other.
func questionOf(session string) string { return "What about " + session + "?" }

// requests returns the times of the requests of a session's turn for each agent and body.
func (l *load) requests(session string) map[string]map[string][]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string]map[string][]time.Time{}
	for body, times := range l.arrivals {
		if !strings.Contains(body, questionOf(session)) {
			continue
		}
		var request struct{ Model string }
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			continue // the server reports it
		}
		if found[request.Model] == nil {
			found[request.Model] = map[string][]time.Time{}
		}
		found[request.Model][body] = slices.Clone(times)
	}
	return found
}

// again counts the requests that were made before.
func (l *load) again() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, times := range l.arrivals {
		n += len(times) - 1
	}
	return n
}

// checkTurn checks that the only turn of a session is over, that no call was made again after its result was in
// the journal, that the turn counts all requests, and that it kept to its budget of calls.
func (l *load) checkTurn(t testing.TB, store *postgres.Store, session string, mostCalls int) {
	t.Helper()
	const jitter = time.Second // of a request on its way
	kept, err := store.Turns(t.Context(), session, 0)
	if err != nil || len(kept) != 1 || kept[0].Ended.IsZero() {
		t.Errorf("session %s: %d turns, %v: %+v", session, len(kept), err, kept)
		return
	}
	events, err := store.Journal(t.Context(), session, 1, 0)
	ok(t, err)
	done := map[string][]time.Time{} // when calls were finished, by agent
	lost := 0
	for _, data := range events {
		event, err := turn.Decode(data)
		ok(t, err)
		switch event := event.(type) {
		case turn.ModelDone:
			agent := fmt.Sprint("agent", event.Key.Agent+1)
			done[agent] = append(done[agent], time.UnixMilli(int64(event.At)))
		case turn.Lost:
			lost++
		}
	}
	requests, again := 0, 0
	for agent, bodies := range l.requests(session) {
		byTime := slices.SortedFunc(maps.Values(bodies), func(a, b []time.Time) int { return a[0].Compare(b[0]) })
		for i, times := range byTime {
			requests, again = requests+len(times), again+len(times)-1
			if last := times[len(times)-1]; i < len(done[agent]) && last.After(done[agent][i].Add(jitter)) {
				t.Errorf("session %s: call %d of %s was finished at %s, and made again at %s", session, i+1, agent, done[agent][i], last)
			}
		}
	}
	if again > lost || requests > kept[0].Usage.Calls || requests > mostCalls {
		t.Errorf("session %s: %d requests, of which %d were made again, and %d calls were lost; %s, %+v, at most %d",
			session, requests, again, lost, kept[0].Status, kept[0].Usage, mostCalls)
	}
}
