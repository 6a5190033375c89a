package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// view is what this process knows of a turn, whichever process plays it: the machine, the projection of
// the events, and the result. One goroutine owns it.
type view struct {
	panel   *Panel
	turn    *Turn
	base    context.Context
	machine *turn.Machine
	report  *report.Report
	// unjournaled is the part of the result that is not in the journal.
	unjournaled report.Unjournaled
	// told publishes what models write while their calls run in this process.
	told *toldTexts
}

// newView returns the view of a turn that the machine plays.
func newView(ctx context.Context, p *Panel, t *Turn, m *turn.Machine) *view {
	v := &view{panel: p, turn: t, machine: m, base: agents.WithPanelValue(context.WithoutCancel(ctx), p.opts.PanelValue)}
	v.told = &toldTexts{view: v}
	v.report = report.New(m, report.Source{
		Session: t.session, Turn: t.number, Texts: agents.LookupIn(v.base, p.opts.Store), Member: v.member,
	})
	v.report.SetWarnings(t.contextWarnings)
	return v
}

func (v *view) id(agent int) string { return v.panel.opts.agent(agent).ID }

// member implements report.Source.Member. The panel of a process that watches the turn may have other
// agents, or the same agents in another order.
func (v *view) member(agent int) (warnAt policy.Thresholds, provider string) {
	id := v.machine.Turn().Agent(agent).ID
	for i := range v.panel.opts.size() {
		if a := v.panel.opts.agent(i); a != nil && a.ID == id {
			return a.Context.Policy.WarnAt, a.Provider
		}
	}
	return warnAt, provider
}

// apply applies an event of a journal, and publishes its effects.
func (v *view) apply(ev turn.Event) error {
	commands, err := v.machine.Apply(ev)
	if err == nil {
		v.tell(ev, commands)
	}
	return err
}

// tell publishes the effects of an event that the machine has applied.
func (v *view) tell(ev turn.Event, commands []turn.Command) {
	v.turn.events.add(v.report.Apply(ev, commands)...)
}

// over sets the time of the turn's result.
func (v *view) over(at time.Time) {
	v.turn.ended = at
	v.unjournaled.Duration = at.Sub(v.turn.started)
}

// announce makes the result and its error final, and wakes Wait. A turn that this process has left has no end.
func (v *view) announce(err error) {
	t := v.turn
	t.err = err
	if !errors.Is(err, ErrLeft) {
		t.events.add(report.Ended{Status: t.result.Status, Elapsed: t.ended.Sub(t.started), Usage: t.result.Usage})
	}
	close(t.done)
}

// outcome makes the result, and returns the outcome to store. failed joins err and the failures of this
// process. messagesErr is the error of storing the turn's messages, which leaves the answer as it is.
func (v *view) outcome(err error) (ended sessions.Ended, messagesErr, failed error) {
	var resultErr error
	v.turn.result, resultErr = v.report.Result(v.unjournaled)
	asked, askedErr := v.asked()
	if failed = errors.Join(err, resultErr, askedErr, v.recordSpent()); failed != nil {
		return ended, nil, failed
	}
	ended = v.ended()
	if asked != v.turn.question {
		ended.Question = asked
	}
	messagesErr = v.addMessages(&ended)
	return ended, messagesErr, nil
}

// commit stores the turn's outcome, and still holds the session if calls follow.
func (v *view) commit(ended sessions.Ended, held bool) error {
	end := v.panel.opts.Store.End
	if held {
		end = v.panel.opts.Store.Commit
	}
	return end(v.base, v.turn.session, v.turn.number, ended)
}

// finish stores the results of the calls after the answer, and releases the session.
func (v *view) finish() error {
	ended := v.ended()
	ended.Usage = v.machine.UsageAfter()
	return v.commit(ended, false)
}

// asked returns the question that the agents got, "" if the turn never began.
func (v *view) asked() (string, error) {
	ref := v.machine.Turn().Question
	if ref == (blob.Ref{}) {
		return "", nil
	}
	text, err := v.panel.opts.Store.Get(v.base, ref)
	if err != nil {
		return "", fmt.Errorf("read the question of turn %s: %w", v.turn.ID(), err)
	}
	return string(text), nil
}

// addMessages adds the messages of a panel of one to the turn's outcome. The panel sends them again in
// later turns. A larger panel, and a turn without an answer, has no such messages.
func (v *view) addMessages(ended *sessions.Ended) (err error) {
	if ended.Winner == "" || len(v.panel.opts.Agents) > 1 {
		return nil
	}
	ended.Messages, ended.MessageCount, err = agents.PutMessages(v.base, v.panel.opts.Store, v.machine.Turn(), v.report.Transcript(), ended.Answer)
	return err
}

// ended returns the part of the result to store.
func (v *view) ended() sessions.Ended {
	r := v.turn.result
	return sessions.Ended{Status: r.Status, Winner: r.Winner, Answer: r.Answer, Usage: r.Usage}
}

// afterTurn runs Options.AfterTurn.
func (v *view) afterTurn() error {
	if v.panel.opts.AfterTurn == nil {
		return nil
	}
	if err := hook(v.base, "Options.AfterTurn", func() error { return v.panel.opts.AfterTurn(v.base, v.turn, v.turn.result) }); err != nil {
		return fmt.Errorf("after turn %s: %w", v.turn.ID(), err)
	}
	return nil
}

// sessionUpdate publishes the session's sums, and returns them.
func (v *view) sessionUpdate() (*report.SessionUpdate, error) {
	s, err := v.panel.opts.Store.Session(v.base, v.turn.session)
	if err != nil {
		return nil, fmt.Errorf("read the session after turn %s: %w", v.turn.ID(), err)
	}
	update := &report.SessionUpdate{SessionID: s.ID, MessageCount: s.Messages, UsageTotal: report.Rounded(s.Usage)}
	v.turn.events.add(report.SessionUpdated{Session: *update})
	return update, nil
}
