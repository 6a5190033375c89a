package kernel

import (
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/system/blob"
)

// world is a machine among everything that may happen to it: agents that take
// any time and do anything that they were offered, a clock, and people.
type world struct {
	m   *Machine
	c   *checker
	may events
}

// events says what may happen, beside answers, votes and the clock.
type events struct {
	answers   int  // the most answers that one agent gives
	equal     bool // an agent may answer with a text that others may give too
	fail      bool
	abstain   bool // or an agent is out of turns
	interrupt bool
	budget    bool
	dismiss   bool // a person goes on without an agent
	overdue   bool // an event may come at the time of a wake, and before it
}

// chatter is what a model says beside calls of tools.
var chatter = blob.Ref{SHA256: "chatter", Bytes: 7}

// sharedText is the one text that several agents may come to by themselves.
const sharedText = "shared"

func newWorld(cfg Config, may events) (world, error) {
	m, err := New(cfg)
	if err != nil {
		return world{}, err
	}
	return world{m: m, c: newChecker(cfg), may: may}, nil
}

func (w world) clone() world {
	m := *w.m
	if m.index != nil {
		ix := *m.index
		ix.limits, ix.standing, ix.ballots = slices.Clone(ix.limits), slices.Clone(ix.standing), slices.Clone(ix.ballots)
		m.index = &ix // of the other lists nobody changes an element
	}
	m.s.Members = slices.Clone(m.s.Members)
	m.s.Answers = slices.Clone(m.s.Answers)
	m.s.Votes = slices.Clone(m.s.Votes)
	m.s.Warnings, m.s.Outsiders = slices.Clone(m.s.Warnings), slices.Clone(m.s.Outsiders)
	if m.s.Consulting != nil {
		m.s.Consulting = new(*m.s.Consulting)
	}
	m.s.Picks = slices.Clone(m.s.Picks)
	return world{m: &m, c: w.c.clone(), may: w.may}
}

// apply lets an event happen, and reports the first rule that is broken by what
// the machine makes of it.
func (w world) apply(ev Event) error {
	got, err := w.m.Apply(ev)
	if err != nil {
		return fmt.Errorf("an event that may happen was refused: %w", err)
	}
	if err := w.c.observe(ev, got); err != nil {
		return err
	}
	if w.m.Over() != w.c.over {
		return fmt.Errorf("the machine is over: %t, the turn: %t", w.m.Over(), w.c.over)
	}
	if w.m.Over() {
		return w.c.checkResult(w.m.Result())
	}
	return nil
}

// checkEnd is what must hold once the turn is over: whatever still comes asks for
// nothing and leaves the result as it is.
func (w world) checkEnd() error {
	for i := range w.c.seats {
		for _, ev := range []Event{
			Answered{At: w.c.now, Agent: i, Seen: w.c.seats[i].seen, Hash: "after the end"},
			Failed{At: w.c.now, Agent: i}, Stopped{At: w.c.now, Agent: i},
			Presented{At: w.c.now, Answer: blob.Ref{SHA256: "after the end"}}, Consulted{At: w.c.now, Best: i, Same: true}, Woke{At: w.c.now + 1000},
			Interrupted{At: w.c.now}, BudgetSpent{At: w.c.now}, Dismissed{At: w.c.now, Agent: i},
		} {
			got, err := w.m.Apply(ev)
			if err != nil || len(got) > 0 {
				return fmt.Errorf("%T after the end: %d commands, error %v", ev, len(got), err)
			}
		}
	}
	if err := w.c.checkResult(w.m.Result()); err != nil {
		return fmt.Errorf("changed after the end: %w", err)
	}
	return nil
}

// next lists what may happen now. It is drawn from the account, not from the
// machine.
func (w world) next() []Event {
	if !w.c.accepted {
		return []Event{Opened{At: 1000}}
	}
	var list []Event
	times := []Time{w.c.now}
	if w.may.overdue && w.c.timer > w.c.now {
		times = append(times, w.c.timer)
	}
	for _, at := range times {
		for i := range w.c.seats {
			list = w.actsOf(list, i, at)
			if w.may.dismiss && w.c.mayDismiss(i) {
				list = append(list, Dismissed{At: at, Agent: i})
			}
		}
		list = w.opinions(list, at)
		for _, outsider := range []int{len(w.c.seats), len(w.c.seats) + 1} {
			if w.may.dismiss && w.c.mayDismiss(outsider) {
				list = append(list, Dismissed{At: at, Agent: outsider})
			}
		}
		if w.c.presenting {
			list = append(list, Presented{At: at, Answer: blob.Ref{SHA256: "p", Bytes: 1}}, Presented{At: at, Reason: "it was empty"})
		}
		if w.may.interrupt {
			list = append(list, Interrupted{At: at})
		}
		if w.may.budget {
			list = append(list, BudgetSpent{At: at})
		}
	}
	if w.c.timer != 0 {
		list = append(list, Woke{At: max(w.c.timer, w.c.now)})
	}
	return list
}

// actsOf lists how an agent's call may end.
func (w world) actsOf(list []Event, i int, at Time) []Event {
	s := w.c.seats[i]
	if s.stopping {
		return append(list, Stopped{At: at, Agent: i})
	}
	if !s.busy {
		return list
	}
	if s.mayAnswer && s.count < w.may.answers {
		list = append(list, Answered{At: at, Agent: i, Seen: s.seen, Hash: fmt.Sprint(i, ".", s.count+1)})
		if w.c.cfg.Check != "" {
			list = append(list, Answered{At: at, Agent: i, Seen: s.seen, Hash: fmt.Sprint(i, ".", s.count+1), FailedCheck: true})
		}
		if w.may.equal && !w.wasShown(sharedText, s.seen) {
			list = append(list, Answered{At: at, Agent: i, Seen: s.seen, Hash: sharedText, Value: "v"})
		}
	}
	for _, seen := range w.seenBy(s) {
		list = w.votesOf(list, i, seen, at)
		if w.may.abstain {
			list = append(list, Abstained{At: at, Agent: i, Seen: seen, Reason: "r"},
				OutOfTurns{At: at, Agent: i, Seen: seen, Answer: chatter, Hash: chatter.SHA256, Reason: "r"})
			if len(w.c.seats) == 1 {
				list = append(list, OutOfTurns{At: at, Agent: i, Seen: seen, Reason: "r"})
			}
		}
	}
	if w.may.fail {
		list = append(list, Failed{At: at, Agent: i, Reason: "r"})
	}
	return list
}

// votesOf lists the votes on one set. Whom a void vote is for changes nothing
// that follows: one of them stands for all.
func (w world) votesOf(list []Event, i, seen int, at Time) []Event {
	counts := seen == len(w.c.answers) && !w.c.seats[i].late
	for target := range w.c.seats {
		if target == i && !w.c.cfg.SelfVote || !w.hadAnswer(target, seen) || counts && !slices.Contains(w.c.votableBy(i), target) {
			continue
		}
		list = append(list, Voted{At: at, Agent: i, Seen: seen, For: target, Reason: "r"})
		if !counts {
			return list
		}
	}
	return list
}

// seenBy lists the sets that may be the last in an agent's input: that of its
// start and, where it gets updates, the current one. Those between are stale like
// the first: the same follows from them.
func (w world) seenBy(s seat) []int {
	if set := len(w.c.answers); w.c.cfg.Pace == PaceEager && s.count > 0 && set != s.seen {
		return []int{s.seen, set}
	}
	return []int{s.seen}
}

func (w world) hadAnswer(agent, set int) bool {
	return slices.ContainsFunc(w.c.answers[min(w.c.formerAnswers, set):set], func(e entry) bool { return e.agent == agent })
}

// wasShown says whether a text stood in a set: giving it again is a tool error.
func (w world) wasShown(text string, set int) bool {
	shown := w.c.answers[min(w.c.formerAnswers, set):set]
	for i, e := range shown {
		replaced := slices.ContainsFunc(shown[i+1:], func(later entry) bool { return later.agent == e.agent })
		if e.hash == text && !replaced {
			return true
		}
	}
	return false
}
