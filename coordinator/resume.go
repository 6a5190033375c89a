package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/sessions"
)

// Resume goes on with the last turn of a session, which a process began and did not end. The turn
// repeats the calls that were under way, but no call with a result in the journal. The rules and the
// inputs are the journal's. The panel must have the same agents in the same order, with the same
// models, and gives them their backends and tools. If the tools differ from the journal's, later calls have the
// new ones. The turn repeats a tool call that was under way only if the tool is idempotent. Otherwise
// the model gets the result that the call was interrupted.
// Options.Budget holds from now on where it is tighter than the turn's budget, and
// Options.Override always does. Otherwise Resume is like Start.
//
// The error is a *Difference if the input of a finished call differs from the recorded one, for
// example after a change of the prompts. It is an *OtherPanelError if the panel may not play the turn. Abandon gives up
// such turns.
func (p *Panel) Resume(ctx context.Context, session string) (*Turn, error) {
	session = cmp.Or(session, p.own)
	if p.opts.Remote != nil {
		return p.attach(ctx, session)
	}
	begun, err := p.opts.Store.Resume(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("resume session %s: %w", session, err)
	}
	var t *Turn
	err = whileHeld(
		func() (err error) { t, err = p.resume(ctx, session, begun.Turn); return err },
		func() error { return p.opts.Store.Leave(context.WithoutCancel(ctx), session, begun.Turn) }, // the turn can be resumed later
	)
	if err != nil {
		return nil, fmt.Errorf("resume turn %d of session %s: %w", begun.Turn, session, err)
	}
	return t, nil
}

func (p *Panel) resume(ctx context.Context, session string, number int) (*Turn, error) {
	events, err := readJournal(ctx, p.opts.Store, session, number)
	if err != nil {
		return nil, err
	}
	return p.goOn(ctx, session, number, events, false)
}

// goOn feeds the events of a turn, which holds its session, to a fresh machine, and goes on
// from there.
func (p *Panel) goOn(ctx context.Context, session string, number int, events []turn.Event, branched bool) (*Turn, error) {
	t, err := p.begun(ctx, session, number, events)
	if err != nil {
		return nil, err
	}
	if err := p.giveTools(ctx, t); err != nil {
		return nil, err
	}
	e := newLocalTurn(ctx, p, t)
	defer e.closeUnopened()
	last := events[len(events)-1]
	// The difference is negative if the system's time was set back: the turn's time never goes
	// back.
	e.clock.slept = time.Since(time.UnixMilli(int64(last.When())))
	t.started = t.started.Add(e.clock.slept)
	t.events.replay(true)
	out, err := e.replay(ctx, events)
	t.events.replay(false)
	if err != nil {
		return nil, err
	}
	limits, err := e.view.allowance(ctx, branched)
	if err != nil {
		return nil, err
	}
	e.attempts.limit(limits)
	if err := e.handle(turn.Resumed{At: e.Now(), Branched: branched, Budget: limits}); err != nil {
		return nil, err
	}
	change, err := e.tools.resumed()
	if err == nil {
		err = e.driver.Handle(change)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range out {
		w.Again = true
		e.driver.Start(w)
	}
	e.open(ctx)
	return t, nil
}

// begun returns the handle of a turn of this panel that has a journal.
func (p *Panel) begun(ctx context.Context, session string, number int, events []turn.Event) (*Turn, error) {
	accepted, err := p.accepted(events)
	if err != nil {
		return nil, err
	}
	question, err := p.opts.Store.Get(ctx, accepted.Turn.Question)
	if err != nil {
		return nil, err
	}
	t := newTurn(session, number, string(question))
	t.started = time.UnixMilli(int64(accepted.At))
	return t, nil
}

// OtherPanelError is the error of a turn that another panel has begun: its agents, models or limits differ.
type OtherPanelError struct {
	// Why compares the panels. Cure says what to do.
	Why, Cure string
}

// Error implements error.
func (e *OtherPanelError) Error() string { return e.Why + ": " + e.Cure }

// accepted returns the first event of a journal. It must be of this panel, else the error is an *OtherPanelError.
func (p *Panel) accepted(events []turn.Event) (turn.Accepted, error) {
	accepted, err := firstEvent(events)
	if err != nil {
		return accepted, err
	}
	if !slices.Equal(accepted.Rules.Agents, p.opts.Rules.Agents) {
		return accepted, &OtherPanelError{
			fmt.Sprintf("it was begun by the agents %s, and the panel is %s", strings.Join(accepted.Rules.Agents, ", "), strings.Join(p.opts.Rules.Agents, ", ")),
			"use the config that it was begun with",
		}
	}
	if (accepted.Turn.Judge != nil) != (p.opts.Judge != nil) || (accepted.Turn.Verdict != nil) != (p.opts.Verdict != nil) {
		return accepted, &OtherPanelError{
			"it was begun with another judge than the panel has",
			"use the config that it was begun with, or start the turn over (--continue --fresh)",
		}
	}
	if !p.opts.sameCheck(accepted.Turn.Check) { // an imported journal could name any command
		return accepted, &OtherPanelError{"it was begun with another check of answers", "use the config that it was begun with"}
	}
	for i := range accepted.Turn.Size() {
		began := accepted.Turn.Agent(i)
		if began == nil {
			continue
		}
		// The journal's inputs have the model's name, and would take it to the panel's service.
		if now := p.opts.agent(i).Model; now != began.Model {
			return accepted, &OtherPanelError{
				fmt.Sprintf("its agent %s was begun with the model %q, and the panel's has %q", began.ID, began.Model, now),
				"name that model again, or start the turn over (--continue --fresh)",
			}
		}
	}
	if limit := accepted.Turn.Limits.Beyond(p.opts.Limits); limit != "" { // for example in an imported session
		return accepted, &OtherPanelError{
			fmt.Sprintf("it was begun with a wider %s than the panel has", limit),
			"use the config that it was begun with, or start the turn over",
		}
	}
	return accepted, nil
}

// replay applies the events of a journal and returns the effects and questions without a result
// there, in the order of their commands.
func (e *localTurn) replay(ctx context.Context, events []turn.Event) ([]driver.Work, error) {
	f := newFollower(e.view.machine, e.view.panel.opts.Store)
	for _, ev := range events {
		commands, err := f.follow(ctx, ev)
		if err != nil {
			return nil, err
		}
		e.Applied(ev, commands)
		e.publish()
		e.driver.Carry(commands) // the follower keeps the work
		e.view.keep(ev)
	}
	return f.out, nil
}

// Abandon gives up the last turn of a session, which a process began and did not end, and
// returns its question with its files. The turn stays without an answer, with its journal. Its
// calls' usage is added to the session's.
func (p *Panel) Abandon(ctx context.Context, session string) (question string, files []backends.File, err error) {
	session = cmp.Or(session, p.own)
	store := p.opts.Store
	begun, err := store.Resume(ctx, session)
	if err != nil {
		return "", nil, fmt.Errorf("abandon the turn of session %s: %w", session, err)
	}
	var ended sessions.Ended
	err = whileHeld(func() (err error) {
		if question, ended, err = abandoned(ctx, store, session, begun.Turn); err == nil {
			files, err = attachedTo(ctx, store, session, begun.Turn)
		}
		return err
	}, func() error { return store.Leave(context.WithoutCancel(ctx), session, begun.Turn) })
	if err == nil {
		err = store.End(ctx, session, begun.Turn, ended)
	}
	if err != nil {
		return "", nil, fmt.Errorf("abandon turn %d of session %s: %w", begun.Turn, session, err)
	}
	return attach.Cut(question), files, nil
}

// giveUp records the cost of the interrupted turn that a turn abandons, if there is one.
func giveUp(ctx context.Context, store Store, t *Turn, interrupted int) error {
	if interrupted == 0 {
		return nil
	}
	journal, err := store.Journal(ctx, t.session, interrupted, 0)
	if err == nil {
		err = store.RecordCut(ctx, t.session, t.number, usageOfLost(journal))
	}
	if err != nil {
		return fmt.Errorf("give up turn %d: %w", interrupted, err)
	}
	return nil
}

// usageOfLost is usageOfCut for the readable part of a stored journal.
func usageOfLost(journal [][]byte) budget.Usage {
	events, err := decoded(journal, 0)
	return usageOfCut(events, err == nil && len(events) > 0)
}

// abandoned returns a turn's question, and its outcome without a result.
func abandoned(ctx context.Context, store Store, session string, number int) (string, sessions.Ended, error) {
	ended := sessions.Ended{Status: kernel.Cut}
	events, err := readJournal(ctx, store, session, number)
	if err != nil {
		return "", ended, err
	}
	accepted, err := firstEvent(events)
	if err != nil {
		return "", ended, err
	}
	question, err := store.Get(ctx, accepted.Turn.Question)
	ended.Usage = usageOfCut(events, true)
	return string(question), ended, err
}

// usageOfCut returns the usage of a turn that nothing continues: the user may have paid for calls under
// way. If events are missing, or break the machine, it adds one call of unknown usage, so that the sums
// are unknown too.
func usageOfCut(events []turn.Event, areAll bool) budget.Usage {
	shown, err := report.Project(events, report.Source{})
	usage := usageOf(events)
	if err == nil {
		usage = shown.Machine().CutUsage()
	}
	if err != nil || !areAll {
		usage = usage.Plus(budget.Usage{Calls: 1, UnknownCalls: 1})
	}
	return usage
}
