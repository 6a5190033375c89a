package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/sessions"
)

// lookEvery is how often the journal of a turn is read that another process plays.
const lookEvery = 250 * time.Millisecond

// cursor is the place of an event in a turn. Events that follow from the journal have whole
// numbers from 1, which are the same whoever plays the turn and whenever it is read. What is not
// journaled, such as pieces of text, counts from the event before it: 3.1, 3.2.
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

// follower sends the events of a turn to a client.
type follower struct {
	turnRoutes
	of   place
	out  *stream
	seen cursor // what the client has, and needs not again
	at   cursor // of the last event that was looked at
	// masks hide secrets in texts that come in pieces, by kind and agent.
	masks map[string]*mask
}

// events answers with the events of a turn as they happen, from its beginning or from where the
// client was. After the last one comes an event named end.
func (t turnRoutes) events(w http.ResponseWriter, r *http.Request, at place) error {
	seen, err := lastSeen(r)
	if err != nil {
		return err
	}
	run := t.runs.find(at.session, at.turn)
	if run == nil {
		if _, _, err := t.turn(r.Context(), at); err != nil {
			return err
		}
	}
	f := &follower{turnRoutes: t, of: at, out: t.openStream(w), seen: seen, masks: map[string]*mask{}}
	defer f.out.close()
	if run != nil {
		f.live(r.Context(), run.turn)
	} else if err := f.kept(r.Context()); err != nil && r.Context().Err() == nil {
		f.warn(err.Error())
	}
	if r.Context().Err() == nil {
		f.out.sendNamed("end", map[string]any{})
	}
	return nil
}

// live sends the events of a turn that this process plays, and which of its tool calls wait for a
// person.
func (f *follower) live(ctx context.Context, turn *coordinator.Turn) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { f.sendPermissions(ctx) })
	for ev := range turn.Events(ctx) {
		f.send(ev)
	}
	cancel()
	asking.Wait()
}

// sendPermissions tells of the tool calls that wait, whenever there are others, until ctx is done.
func (f *follower) sendPermissions(ctx context.Context) {
	told := 0
	for {
		list, changed := f.Permissions.of(f.of.session, f.of.turn)
		if len(list) > 0 || told > 0 {
			f.out.sendNamed("permissions", map[string]any{"permissions": list})
		}
		told = len(list)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// kept sends the events that the journal of a turn has, and goes on while another process plays
// it.
func (f *follower) kept(ctx context.Context) error {
	p := inspect.NewProjection(ctx, f.Store, f.of.session, f.of.turn)
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		isOver, last, err := f.isOver(ctx)
		if err != nil {
			return err
		}
		events, err := p.Next(ctx)
		for _, ev := range events {
			f.send(ev)
		}
		switch {
		case err != nil:
			return err
		case isOver && last.Status != sessions.Running:
			f.seen = cursor{} // who was told of it while the turn ran may not have heard
			f.send(p.Ended(last))
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

// isOver says whether nobody adds to the turn's journal any more, and returns the turn.
func (f *follower) isOver(ctx context.Context) (bool, sessions.Turn, error) {
	kept, _, err := f.turn(ctx, f.of)
	if err != nil || kept.Status != sessions.Running {
		return true, kept, err
	}
	left, err := f.Store.Interrupted(ctx, f.of.session)
	return len(left) > 0, kept, err
}

// send sends an event that the client does not have.
func (f *follower) send(ev massgen.Event) {
	f.at = f.at.next(ev)
	switch piece := ev.(type) {
	case report.TextDelta:
		piece.Text = f.mask(piece.Kind, piece.Agent, piece.Text)
		ev = piece
	case report.Thinking:
		piece.Text = f.mask(piece.Kind, piece.Agent, piece.Text)
		ev = piece
	case report.CallEnded:
		f.flush(piece.Actor)
	}
	if f.at.isAfter(f.seen) {
		f.out.sendEvent(f.at.String(), ev)
	}
}

// flush sends what is held back of an agent's text when its call has ended. It has no place of its
// own: a client that has missed it has missed the end of the call, too.
func (f *follower) flush(by report.Actor) {
	actor := report.Actor{Agent: by.Agent, Round: by.Round}
	thought, said := f.rest("reasoning", by.Agent), f.rest("text", by.Agent)
	if thought != "" && f.at.isAfter(f.seen) {
		f.out.send(report.Stamp(report.Thinking{Actor: actor, Text: thought}, time.Now(), false))
	}
	if said != "" && f.at.isAfter(f.seen) {
		f.out.send(report.Stamp(report.TextDelta{Actor: actor, Text: said}, time.Now(), false))
	}
}

func (f *follower) rest(kind, agent string) string {
	if m := f.masks[kind+" "+agent]; m != nil {
		return m.rest()
	}
	return ""
}

// mask returns what may be shown of a text that goes on, "" for nothing yet.
func (f *follower) mask(kind, agent, text string) string {
	m := f.masks[kind+" "+agent]
	if m == nil {
		m = &mask{redact: f.Redact}
		f.masks[kind+" "+agent] = m
	}
	return m.add(text)
}
