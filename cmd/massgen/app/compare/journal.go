package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// cell is what the journal of one turn says: the answer of a unit to a question in a run.
type cell struct {
	// isOver reports whether the turn has its final result.
	isOver bool
	// answer is the winner's text. hasAnswer is false for a turn without a winner.
	answer    string
	hasAnswer bool
	agreement *float64
	calls     []call
	// lost counts the calls that were under way when a process ended, and that were made again.
	lost int
	// changes are the first and the last answers of the members that gave more than one.
	changes []change
	picks   []pick
	// seconds is how long the turn ran, without the time when no process worked on it.
	seconds float64
}

// call is one model call with a result.
type call struct {
	key   effect.Key
	agent string
	reply effect.ModelReply
	// shown are the answers that the call was shown, in their order.
	shown []kernel.Answer
}

// name returns the name under which strategies share the call. ok is false for one that is not shared.
func (c call) name() (name callName, ok bool) {
	if c.reply.Failure != nil || c.reply.Sent == nil || !isFirst(c.key.Purpose, c.key.Round) {
		return callName{}, false
	}
	return callName{c.agent, c.key.Index, c.reply.Sent.Digest}, true
}

// change is a member's first answer and its last one.
type change struct{ first, last string }

// pick is one choice of a judge: the texts of the answer it picked, of the one that stood first, and its
// own, "" for none. rights are the texts of all answers that it was shown.
type pick struct {
	best, first, own string
	hasOwn           bool
	shown            []string
	candidate        string // names equal answers
}

// statusOf returns the status of a session's turn, "" if there is none.
func statusOf(ctx context.Context, store *sessions.Store, session string) (kernel.Status, error) {
	turns, err := store.Turns(ctx, session, 1)
	if errors.Is(err, sessions.ErrNoSession) || err == nil && len(turns) == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return turns[0].Status, nil
}

// journalReader reads one journal.
type journalReader struct {
	machine *turn.Machine
	report  *report.Report
	texts   agents.Lookup
	out     map[effect.Key]effect.ModelCall
	cell    cell
}

// readCell reads the turn of a session. ok is false if there is none.
func readCell(ctx context.Context, store *sessions.Store, session string) (c cell, ok bool, err error) {
	const number = 1
	status, err := statusOf(ctx, store, session)
	if err != nil || status == "" {
		return c, false, err
	}
	journal, err := store.Journal(ctx, session, number, 0)
	if err != nil {
		return c, false, err
	}
	r := journalReader{machine: new(turn.Machine), texts: agents.LookupIn(ctx, store), out: map[effect.Key]effect.ModelCall{}}
	r.report = report.New(r.machine, report.Source{Session: session, Turn: number, Texts: r.texts})
	var began kernel.Time
	for i, data := range journal {
		ev, err := turn.Decode(data)
		if err == nil {
			err = r.apply(ev)
		}
		if err != nil {
			return c, false, fmt.Errorf("session %s, event %d of its journal: %w", session, i+1, err)
		}
		if i == 0 {
			began = ev.When()
		}
		r.cell.seconds = float64(ev.When()-began) / 1000
	}
	r.cell.isOver = status != sessions.Running && status != kernel.Cut
	return r.cell, true, r.end()
}

func (r *journalReader) apply(ev turn.Event) error {
	if done, ok := ev.(turn.ModelDone); ok {
		of := r.out[done.Key]
		delete(r.out, done.Key)
		one := call{key: done.Key, reply: done.Reply}
		if played := r.machine.Turn(); done.Key.Agent != effect.NoAgent {
			one.agent, one.shown = played.Agent(done.Key.Agent).ID, played.InOrder(done.Key.Agent, done.Key.Round, of.Offer)
		}
		r.cell.calls = append(r.cell.calls, one)
	}
	commands, err := r.machine.Apply(ev)
	if err != nil {
		return err
	}
	r.report.Apply(ev, commands)
	for _, c := range commands {
		if run, ok := c.(turn.Run); ok {
			if call, ok := run.Effect.(effect.ModelCall); ok {
				r.out[call.Key] = call
			}
		}
	}
	return nil
}

// end reads what the turn came to.
func (r *journalReader) end() (err error) {
	k := r.machine.Result()
	c := &r.cell
	c.lost = r.machine.Repeated()
	if c.hasAnswer = k.Winner != nil; c.hasAnswer {
		if _, c.answer, err = r.report.Answer(); err != nil {
			return err
		}
	}
	if len(k.Agents) > 1 {
		c.agreement = r.report.Agreement()
	}
	if c.changes, err = r.changes(k.All); err != nil {
		return err
	}
	c.picks, err = r.picks()
	return err
}

// changes returns the members that answered more than once.
func (r *journalReader) changes(all []kernel.Answer) (list []change, err error) {
	for agent := range r.machine.Turn().Agents {
		var own []kernel.Answer
		for _, a := range all {
			if a.Agent == agent {
				own = append(own, a)
			}
		}
		if len(own) < 2 {
			continue
		}
		var of change
		if of.first, err = r.text(own[0].Text); err == nil {
			of.last, err = r.text(own[len(own)-1].Text)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, of)
	}
	return list, nil
}

// picks returns the judgements of a judge that was asked in both orders.
func (r *journalReader) picks() (list []pick, err error) {
	var judged []call
	for _, c := range r.cell.calls {
		if c.key.Purpose == effect.Judgement && c.reply.Opinion != nil {
			judged = append(judged, c)
		}
	}
	if len(judged) < 2 {
		return nil, nil
	}
	for _, c := range judged[:2] {
		p := pick{}
		for at, a := range c.shown {
			text, err := r.text(a.Text)
			if err != nil {
				return nil, err
			}
			p.shown = append(p.shown, text)
			if a.Agent == c.key.Agent {
				p.own, p.hasOwn = text, true
			}
			if a.Agent == c.reply.Opinion.Best {
				p.best = text
				if p.candidate = a.Value; p.candidate == "" {
					p.candidate = a.Hash
				}
			}
			if at == 0 {
				p.first = text
			}
		}
		list = append(list, p)
	}
	return list, nil
}

func (r *journalReader) text(ref blob.Ref) (string, error) {
	data, err := r.texts(ref)
	return string(data), err
}

// loadReplies adds the first replies of a turn to those that strategies share.
func (c cell) loadReplies(ctx context.Context, store *sessions.Store, known *replies) error {
	for _, call := range c.calls {
		name, ok := call.name()
		if !ok {
			continue
		}
		data, err := store.Get(ctx, call.reply.Message)
		if err != nil {
			return err
		}
		var events []backends.Event
		if events, err = eventsOf(data, call.reply); err != nil {
			return err
		}
		known.keep(name, events)
	}
	return nil
}
