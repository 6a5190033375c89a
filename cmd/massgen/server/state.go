package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
)

// changeEvery is the shortest time between two changes of a state that a client is sent.
const changeEvery = 50 * time.Millisecond

// sight is the state of a turn for one client. The reader of the turn's events applies them, and another goroutine
// sends what has changed since, however slow the client is.
type sight struct {
	mu      sync.Mutex // guards state
	state   *report.State
	changed chan struct{} // has room for one
	over    chan struct{} // closed after the last event
}

func newSight(agents []string, redact func(string) string) *sight {
	state := report.NewState(agents...)
	state.Mask = redact
	return &sight{state: state, changed: make(chan struct{}, 1), over: make(chan struct{})}
}

// name makes the agents of the panel known before the first event.
func (s *sight) name(agents []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.state.Agents) == 0 && s.state.Began.IsZero() {
		mask := s.state.Mask
		s.state = report.NewState(agents...)
		s.state.Mask = mask
	}
}

// apply adds an event to the state.
func (s *sight) apply(ev massgen.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Apply(ev)
	select {
	case s.changed <- struct{}{}:
	default: // the sender knows
	}
}

func (s *sight) now() *report.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Clone()
}

// follow passes a snapshot of the state to send, and then each change, until the turn is over. What happens within
// changeEvery is one change.
func (s *sight) follow(send func(v any, fields ...string), warn func(string)) {
	pause := time.NewTimer(changeEvery) // what has happened so far is in the snapshot
	defer pause.Stop()
	var sent *report.State
	for isOver := false; !isOver; {
		select {
		case <-pause.C:
		case <-s.over:
			isOver = true
		}
		state := s.now()
		if sent == nil {
			send(state, "event: snapshot")
		} else if c, err := diff(sent, state); err != nil {
			warn(err.Error())
			send(state, "event: snapshot")
		} else if !c.isEmpty() {
			send(c, "event: change")
		}
		sent = state
		pause.Reset(changeEvery)
		select {
		case <-s.changed:
		case <-s.over:
		}
	}
}

// state answers with the state of a turn: an event named snapshot with the report.State, then an event named change
// for each change of it. A client that reconnects gets a snapshot again. The last event is named end. The events named
// permissions are as in events.
func (t turnRoutes) state(w http.ResponseWriter, r *http.Request, at place) error {
	run, err := t.existing(r.Context(), at)
	if err != nil {
		return err
	}
	f := &follower{store: t.turns.store, asked: t.asked, of: at, out: t.respond.openStream(w)}
	defer f.out.close()
	seen := newSight(t.agentsOf(run), t.respond.redact)
	var sender sync.WaitGroup
	sender.Go(func() { seen.follow(f.out.send, t.respond.warn) })
	err = f.follow(r.Context(), run, func(ev massgen.Event) {
		seen.name(f.agents)
		seen.apply(ev)
	})
	close(seen.over)
	sender.Wait()
	t.finish(r, f, err)
	return nil
}

// agentsOf returns the ids of a run's agents, nil if only the turn's journal names them.
func (t turnRoutes) agentsOf(r *run) []string {
	if r == nil {
		return nil
	}
	if m := t.turns.models.byID[r.model]; m != nil {
		return m.Agents
	}
	return nil
}
