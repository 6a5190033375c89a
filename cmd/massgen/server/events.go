package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// lookEvery is the time between two looks at the journal of a turn that another process plays.
const lookEvery = 250 * time.Millisecond

// cursor is the place of an event in a turn. Events that follow from the journal have whole numbers
// from 1, which are the same for every reader of the turn. Other events, such as pieces of text, count
// from the event before them: 3.1, 3.2.
type cursor struct{ journaled, others int }

// next returns the place of the event that follows.
func (c cursor) next(ev massgen.Event) cursor {
	if place := ev.Head().Place; place > 0 {
		return cursor{journaled: place}
	}
	return cursor{c.journaled, c.others + 1}
}

func (c cursor) isAfter(other cursor) bool {
	return c.journaled > other.journaled || c.journaled == other.journaled && c.others > other.others
}

func (c cursor) String() string {
	if c.others == 0 {
		return strconv.Itoa(c.journaled)
	}
	return fmt.Sprintf("%d.%d", c.journaled, c.others)
}

// lastSeen returns the place of the last event that a client has seen.
func lastSeen(r *http.Request) (c cursor, err error) {
	const header = "Last-Event-ID"
	text := r.Header.Get(header)
	if text == "" {
		return c, nil
	}
	journaled, others, isPart := strings.Cut(text, ".")
	c.journaled, err = strconv.Atoi(journaled)
	if err == nil && isPart {
		c.others, err = strconv.Atoi(others)
	}
	if err != nil || c.journaled < 0 || c.others < 0 {
		return c, badRequest(header, header+" is no id of an event")
	}
	return c, nil
}

// follower follows a turn for a client.
type follower struct {
	store *sessions.Store
	asked *Permissions
	of    place
	out   *stream
	seen  cursor // of the last event that the client has
	at    cursor // of the last event that the follower has read
	// agents are the ids of the panel's agents by the turn's journal, nil for a turn that this process plays.
	agents []string
}

// events answers with the events of a turn as they happen, from its beginning or from the client's
// last event. After the last one comes an event named end.
func (t turnRoutes) events(w http.ResponseWriter, r *http.Request, at place) error {
	seen, err := lastSeen(r)
	if err != nil {
		return err
	}
	run, err := t.existing(r.Context(), at)
	if err != nil {
		return err
	}
	f := &follower{
		store: t.turns.store, asked: t.asked, of: at, out: t.respond.openStream(w), seen: seen,
	}
	defer f.out.close()
	t.finish(r, f, f.follow(r.Context(), run, f.send))
	return nil
}

// existing returns the run of a turn, nil if only the store has the turn. The error is a refusal if there is no such
// turn.
func (t turnRoutes) existing(ctx context.Context, at place) (*run, error) {
	run := t.turns.runs.find(at)
	if run != nil {
		return run, nil
	}
	_, _, err := existingTurn(ctx, t.turns.store, at)
	return nil, err
}

// finish ends the response to a client that followed a turn until an error, or nil at the turn's end. There is no
// end if the process leaves the turn: more events follow when the turn goes on.
func (t turnRoutes) finish(r *http.Request, f *follower, err error) {
	if r.Context().Err() != nil || errors.Is(err, coordinator.ErrLeft) {
		return
	}
	if err != nil {
		t.respond.warn(err.Error())
	}
	f.out.send(map[string]any{}, "event: end")
}

// follow passes the events of a turn to tell. run is nil if another process plays the turn, or did.
func (f *follower) follow(ctx context.Context, run *run, tell func(massgen.Event)) error {
	if run == nil {
		return f.kept(ctx, tell)
	}
	f.live(ctx, run.turn, tell)
	if _, err := run.turn.Wait(ctx); errors.Is(err, coordinator.ErrLeft) {
		return err
	}
	return nil
}

// live passes on the events of a turn that this process plays, and sends its tool calls that wait for a person.
func (f *follower) live(ctx context.Context, turn *coordinator.Turn, tell func(massgen.Event)) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { f.sendPermissions(ctx) })
	for ev := range turn.Events(ctx) {
		tell(ev)
	}
	cancel()
	asking.Wait()
}

// sendPermissions sends the tool calls that wait, whenever they change, until ctx is done.
func (f *follower) sendPermissions(ctx context.Context) {
	told := 0
	for {
		list, changed := f.asked.of(f.of)
		if len(list) > 0 || told > 0 {
			f.out.send(map[string]any{"permissions": list}, "event: permissions")
		}
		told = len(list)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// kept passes on the events of a turn's journal, and goes on while another process plays the turn.
func (f *follower) kept(ctx context.Context, tell func(massgen.Event)) error {
	p := inspect.NewProjection(ctx, f.store, f.of.session, f.of.turn)
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		isOver, last, err := f.isOver(ctx)
		if err != nil {
			return err
		}
		events, err := p.Next(ctx)
		f.agents = p.Agents()
		for _, ev := range events {
			tell(ev)
		}
		switch {
		case err != nil:
			return err
		case isOver && last.Status != sessions.Running:
			f.seen = cursor{} // a client that followed the running turn may have missed the end
			tell(p.Ended(last))
			return nil
		case isOver:
			return nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isOver reports whether the turn's journal is complete or abandoned, and returns the turn.
func (f *follower) isOver(ctx context.Context) (bool, sessions.Turn, error) {
	kept, _, err := existingTurn(ctx, f.store, f.of)
	if err != nil || kept.Status != sessions.Running {
		return true, kept, err
	}
	left, err := f.store.Interrupted(ctx, f.of.session)
	return len(left) > 0, kept, err
}

// send sends an event that the client does not have.
func (f *follower) send(ev massgen.Event) {
	f.at = f.at.next(ev)
	if f.at.isAfter(f.seen) {
		f.out.send(ev, "id: "+f.at.String()) // a client sends the id when it reconnects
	}
}
