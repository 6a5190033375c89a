package coordinator

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// plain is a Remote that does one thing after the other, with a Worker. It
// loses the first call of each agent, and does it again.
type plain struct {
	t      *testing.T
	worker *Worker
	store  *sessions.Store
	// waits makes a turn wait for a note after its first event.
	waits    bool
	attached *plainTurn
}

// plainTurn is one turn of it; done is closed at its end.
type plainTurn struct {
	number int
	done   chan struct{}
	err    error
	put    func(ctx context.Context, text string) blob.Ref
	// noted takes the one note that the turn waits for, if it does.
	noted chan turn.Noted
	// grown gets a value with each new event, while there is room.
	grown chan struct{}
}

func (p *plainTurn) Number() int                     { return p.number }
func (p *plainTurn) Interrupt(context.Context) error { return nil }

// grow reports a new event of the journal.
func (p *plainTurn) grow() {
	select {
	case p.grown <- struct{}{}:
	default:
	}
}

func (p *plainTurn) SetPaused(context.Context, bool) error { return nil }

func (p *plainTurn) Wait(ctx context.Context, changed func()) error {
	changed()
	for {
		select {
		case <-p.grown:
			changed()
		case <-p.done:
			return p.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// workersKey is a key that only the workers know: what they store has it masked.
const workersKey = "the key of a worker"

func (p *plainTurn) Note(ctx context.Context, id, text string) error {
	noted := turn.Noted{ID: id, Note: p.put(ctx, strings.ReplaceAll(text, workersKey, "[key]"))}
	select {
	case p.noted <- noted:
		return nil
	case <-p.done:
		return nil
	}
}

func (e *plain) Attach(context.Context, string) (RemoteTurn, error) {
	if e.attached == nil {
		return nil, sessions.ErrNoSession
	}
	return e.attached, nil
}

func (e *plain) Begin(ctx context.Context, session, question string, terms TurnOptions) (RemoteTurn, error) {
	begun, err := e.store.Begin(ctx, session, question)
	if err != nil {
		return nil, err
	}
	accepted, err := e.worker.Prepare(ctx, session, question, begun, terms)
	if err != nil {
		return nil, err
	}
	remote := &plainTurn{number: begun.Turn, done: make(chan struct{}), noted: make(chan turn.Noted), grown: make(chan struct{}, 1), put: e.put}
	if e.waits {
		e.attached = remote
	}
	go func() {
		defer close(remote.done)
		ctx := context.WithoutCancel(ctx)
		remote.err = e.playAll(ctx, session, remote, accepted)
	}()
	return remote, nil
}

func (e *plain) put(ctx context.Context, text string) blob.Ref {
	ref, err := e.store.Put(ctx, []byte(text))
	if err != nil {
		e.t.Error(err)
	}
	return ref
}

// playAll plays a turn, and what follows its answer.
func (e *plain) playAll(ctx context.Context, session string, remote *plainTurn, accepted turn.Accepted) error {
	number := remote.number
	var m turn.Machine
	if err := e.play(ctx, &m, session, remote, accepted); err != nil {
		return err
	}
	done, err := e.worker.Conclude(ctx, session, number)
	following := done.Following
	if err != nil || len(following) == 0 {
		return err
	}
	again, err := e.worker.Following(ctx, session, number)
	if diff := cmp.Diff(following, again); diff != "" || err != nil {
		e.t.Errorf("what follows, asked again: %v\n%s", err, diff)
	}
	if err := e.play(ctx, &m, session, remote, turn.Committed{At: accepted.At, Sidecalls: following}); err != nil {
		return err
	}
	return e.worker.Finish(ctx, session, number)
}

func (e *plain) play(ctx context.Context, m *turn.Machine, session string, remote *plainTurn, first turn.Event) error {
	events := []turn.Event{first}
	for len(events) > 0 {
		ev := events[0]
		events = events[1:]
		if _, isReply := ev.(turn.ModelDone); e.waits && isReply {
			e.waits = false
			noted := <-remote.noted
			noted.At = ev.When()
			ev, events = noted, append([]turn.Event{ev}, events...)
		}
		data, err := turn.Encode(ev)
		if err == nil {
			err = e.store.Append(ctx, session, remote.number, data)
		}
		if err != nil {
			return err
		}
		remote.grow()
		commands, err := m.Apply(ev)
		if err != nil {
			return err
		}
		for _, c := range commands {
			run, ok := c.(turn.Run)
			if !ok {
				continue
			}
			key, at := run.Effect.EffectKey(), ev.When()+1
			if key.Round == 1 {
				events = append(events, turn.Lost{At: at, Key: key})
			}
			reply, err := e.worker.Perform(ctx, m.Turn(), run.Effect)
			if err != nil {
				return err
			}
			events = append(events, turn.ModelDone{At: at, Key: key, Reply: reply.(effect.ModelReply)})
		}
	}
	return nil
}

// TestAnotherEnginePlaysTheTurn, and the panel tells of it, and of calls that were made
// again, from the journal.
func TestAnotherEnginePlaysTheTurn(t *testing.T) {
	remote := &plain{t: t}
	p, store := panelOf(t, 3, "rules:\n  - {when: {round: 1}, reply: {new_answer: \"{{.Agent}} on {{.Question}}\"}}\n  - {when: {}, reply: {vote: {agent: agent2, reason: \"it is short\"}}}\n",
		nil, func(o *Options) { o.Remote = remote })
	remote.worker, remote.store = p.Worker(p.opts.Store), store
	running := start(t, p, "energy")
	r := wait(t, running)
	if r.Status != kernel.Completed || r.Winner != "agent2" || r.Answer != "agent2 on energy" || r.Usage.Calls != 9 || r.RepeatedCalls != 3 || r.Usage.UnknownCalls != 3 {
		t.Errorf("result %+v", r)
	}
	kinds := map[string]int{}
	for ev := range running.Events(t.Context()) {
		kinds[ev.Head().Kind]++
	}
	want := map[string]int{"step_started": 6, "call_started": 6, "call_ended": 6, "awaited": 2, "answered": 3, "voted": 3, "session_updated": 1, "ended": 1}
	if !reflect.DeepEqual(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	history, err := store.History(t.Context(), "s")
	if err != nil || len(history) != 1 || history[0].Answer != r.Answer || history[0].Usage.Calls != 9 {
		t.Errorf("history %+v, %v", history, err)
	}
	p.Wait()
	if _, err := p.Rerun(t.Context(), Point{Session: "s", Turn: 1, Round: 1}, "other"); err == nil {
		t.Error("it goes on from a round in another process")
	}
	if _, err := p.Resume(t.Context(), "s"); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("resume: %v", err)
	}
}

// readJournals counts the events that are read of journals, and the readings.
type readJournals struct {
	Store
	events, looks *atomic.Int64
}

func (r readJournals) Journal(ctx context.Context, session string, number, from int) ([][]byte, error) {
	events, err := r.Store.Journal(ctx, session, number, from)
	r.events.Add(int64(len(events)))
	r.looks.Add(1)
	return events, err
}

// TestWatcherReadsEachEventOnce, however often it looks, and looks whenever there are new ones.
func TestWatcherReadsEachEventOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		remote := &plain{t: t}
		var read, looks atomic.Int64
		p, store := panelOf(t, 3, sidecalls, nil, func(o *Options) { o.Store = readJournals{o.Store, &read, &looks} })
		remote.worker, remote.store = p.Worker(store), store
		p.opts.Remote = remote
		running := start(t, p, "energy")
		wait(t, running)
		p.Wait()
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if int(read.Load()) != len(journal) || looks.Load() < 3 || err != nil {
			t.Errorf("read %d events in %d looks; the journal has %d, %v", read.Load(), looks.Load(), len(journal), err)
		}
	})
}

// TestWorkerPreparesAsThePanelAccepts: a turn has the same rules and description whoever plays it. Rules
// that need what the worker lacks are refused.
func TestWorkerPreparesAsThePanelAccepts(t *testing.T) {
	seed := uint64(7)
	p, store := panelOf(t, 3, "rules:\n  - {when: {round: 1}, reply: {new_answer: \"{{.Agent}}\"}}\n  - {when: {}, reply: {vote: {agent: agent2, reason: short}}}\n",
		nil, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.Decider, o.Rules.Decision, o.Rules.Peers, o.Rules.Check = kernel.Blind, election.Approval, kernel.Peers{Random: 1}, kernel.CheckShown
			o.Check, o.AnswerPattern, o.Shuffle, o.Seed = &effect.Check{Pattern: "2", Tries: 1}, "[0-9]", true, &seed
		})
	wait(t, start(t, p, "energy"))
	events, err := readJournal(t.Context(), p.opts.Store, "s", 1)
	if err != nil {
		t.Fatal(err)
	}
	here, err := firstEvent(events)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := store.Begin(t.Context(), "there", "energy")
	if err != nil {
		t.Fatal(err)
	}
	there, err := p.Worker(p.opts.Store).Prepare(t.Context(), "there", "energy", begun, TurnOptions{Rules: p.opts.Rules})
	if err != nil {
		t.Fatal(err)
	}
	there.At, there.Turn.Session = here.At, here.Turn.Session
	if diff := cmp.Diff(here, there); diff != "" || here.Turn.Check == nil || here.Turn.Shuffle == nil || here.Turn.Rule != election.Approval || here.Rules.Peers.Seed != seed || !here.Rules.Values {
		t.Errorf("rules %+v, turn %+v; the difference (-panel +worker):\n%s", here.Rules, here.Turn, diff)
	}
	for name, change := range map[string]func(*kernel.Config){
		"judge": func(c *kernel.Config) { c.Judge = kernel.JudgeID }, "verdict": func(c *kernel.Config) { c.VerdictByOther = true },
	} {
		terms := TurnOptions{Rules: p.opts.Rules}
		change(&terms.Rules)
		if _, err := p.Worker(p.opts.Store).Prepare(t.Context(), "there", "energy", begun, terms); err == nil || !strings.Contains(err.Error(), "give both the same config") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
