package kernel

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/massgen/massgen/internal/system/blob"
)

// checker is a second account of a turn, kept from the events that went in and
// the commands that came out, and from DESIGN §4 alone: it calls nothing of the
// kernel. It says when the kernel's commands or its result break a rule.
type checker struct {
	cfg     Config
	now     Time
	timer   Time // the last Wake that has not come yet, 0: none
	turnAt  Time
	graceAt Time

	accepted, over  bool
	decided         bool
	presenting      bool
	open            bool // a round is open
	round, roundSet int

	seats   []seat
	answers []entry
	votes   []ballot

	status Status
	winner int      // index in answers, or -1
	shown  blob.Ref // what was presented

	panelFirsts
	panelVotes
	attempts
}

// panelVotes is what the checker knows of a quorum and of ties.
type panelVotes struct {
	electors  int   // under quorum, the weight of the members of the closed round
	tied      []int // what the judge is to decide between
	tieStatus Status
	picks     []int // the judgements in both orders so far
}

// seat is what the checker knows of one agent.
type seat struct {
	busy, stopping, late, failed, member bool

	round, starts, count, seen int

	mayAnswer            bool
	restrictAt, cancelAt Time
	act                  Act

	former   int  // answers of earlier attempts
	asked    bool // by a stage
	recalled bool // its late call was cancelled for a consultation
}

// entry is an accepted answer, ballot a vote as it was cast: the set that its
// voter saw, and whether it came from a late call. Nothing is ever struck out.
type entry struct {
	agent int
	hash  string
	value string
	// failed: its check
	failed bool
}

type ballot struct {
	voter, target, set int
	late               bool
	others             []int
}

func newChecker(cfg Config) *checker {
	return &checker{cfg: cfg, seats: make([]seat, len(cfg.Agents)), winner: -1}
}

func (c *checker) clone() *checker {
	d := *c
	d.seats, d.answers, d.votes = slices.Clone(c.seats), slices.Clone(c.answers), slices.Clone(c.votes)
	d.outsiders, d.picks = slices.Clone(c.outsiders), slices.Clone(c.picks)
	return &d
}

func (s seat) out() bool { return s.busy || s.stopping }

// observe takes one event and what the kernel answered, and reports the first
// rule that was broken.
func (c *checker) observe(ev Event, got []Command) error {
	if err := c.invariants(ev, got); err != nil {
		return err
	}
	want := c.expect(ev)
	if err := compareCommands(want, got); err != nil {
		return err
	}
	isWaitedFor := func(s seat) bool { return s.out() && !s.failed }
	if !c.over && !c.presenting && !c.consulting.open && !slices.ContainsFunc(c.seats, isWaitedFor) {
		return errors.New("a dead end: the turn is not over, and nobody is at work")
	}
	return c.checkTimer(got)
}

// invariants are those of rule 10 that a list of commands shows by itself.
func (c *checker) invariants(ev Event, got []Command) error {
	_, newSet := ev.(Answered)
	cancelled, finishes := map[int]bool{}, 0
	for _, cmd := range got {
		if c.over || finishes > 0 {
			return fmt.Errorf("%T after the end", cmd)
		}
		switch cmd := cmd.(type) {
		case Start:
			if s := c.seats[cmd.Agent]; s.out() && !endsStep(ev, cmd.Agent) {
				return fmt.Errorf("agent %d started twice", cmd.Agent)
			} else if s.failed {
				return fmt.Errorf("agent %d started, and is out for the turn", cmd.Agent)
			}
			if slices.Contains(cmd.Offer.MayVote, cmd.Agent) && !c.cfg.SelfVote {
				return fmt.Errorf("agent %d was offered a vote for itself", cmd.Agent)
			}
			if c.inAttempt(cmd.Round) >= c.lastRound() && cmd.Offer.MayAnswer {
				return fmt.Errorf("agent %d was offered new_answer in round %d", cmd.Agent, cmd.Round)
			}
			newSet = newSet || len(c.answers) != c.roundSet || c.round == 0 || c.followsFirsts(c.inAttempt(cmd.Round)) || c.final
			if c.cfg.Pace == PaceRounds && !newSet && !c.allMembersFailed(ev) {
				return fmt.Errorf("a round opened on an unchanged set")
			}
		case Cancel:
			if cancelled[cmd.Agent] {
				return fmt.Errorf("agent %d cancelled twice", cmd.Agent)
			}
			cancelled[cmd.Agent] = true
		case Finish:
			finishes++
		}
	}
	return nil
}

// allMembersFailed says whether the round had only members that failed, with ev.
func (c *checker) allMembersFailed(ev Event) bool {
	failedNow := -1
	switch ev := ev.(type) {
	case Failed:
		failedNow = ev.Agent
	case Stopped:
		failedNow = ev.Agent
	case Dismissed:
		failedNow = ev.Agent
	}
	for i, s := range c.seats {
		if s.member && !s.failed && i != failedNow {
			return false
		}
	}
	return true
}

// endsStep says whether ev is the end of that agent's call.
func endsStep(ev Event, agent int) bool {
	switch ev := ev.(type) {
	case Answered:
		return ev.Agent == agent
	case Voted:
		return ev.Agent == agent
	case Abstained:
		return ev.Agent == agent
	case OutOfTurns:
		return ev.Agent == agent
	case Stopped:
		return ev.Agent == agent
	}
	return false
}

// compareCommands compares all but the wakes, which checkTimer judges.
func compareCommands(want, got []Command) error {
	i := 0
	for _, cmd := range got {
		if _, wake := cmd.(Wake); wake {
			continue
		}
		if i == len(want) {
			return fmt.Errorf("%s, and nothing more was due", describe(cmd))
		}
		if !sameCommand(want[i], cmd) {
			return fmt.Errorf("%s, where %s was due", describe(cmd), describe(want[i]))
		}
		i++
	}
	if i < len(want) {
		return fmt.Errorf("no %s, which was due", describe(want[i]))
	}
	return nil
}

func describe(c Command) string { return fmt.Sprintf("%T%+v", c, c) }

func sameCommand(a, b Command) bool {
	switch a := a.(type) {
	case Start:
		b, ok := b.(Start)
		return ok && a.Agent == b.Agent && a.Round == b.Round && sameOffer(a.Offer, b.Offer)
	case Update:
		b, ok := b.(Update)
		return ok && a.Agent == b.Agent && sameOffer(a.Offer, b.Offer)
	case Present:
		b, ok := b.(Present)
		return ok && a.Agent == b.Agent && a.Round == b.Round && a.Synthesize == b.Synthesize && a.Analysis == b.Analysis &&
			len(a.Votes) == len(b.Votes) && sameOffer(a.Offer, b.Offer)
	case Consult:
		b, ok := b.(Consult)
		return ok && a.Agent == b.Agent && a.Round == b.Round && a.Purpose == b.Purpose && sameOffer(a.Offer, b.Offer)
	case Cancel, Restrict, Finish:
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

func sameOffer(a, b Offer) bool {
	return a.Set == b.Set && a.Reversed == b.Reversed && a.MayAnswer == b.MayAnswer && slices.Equal(a.MayVote, b.MayVote) &&
		slices.EqualFunc(a.Shown, b.Shown, func(x, y Answer) bool {
			return x.Agent == y.Agent && x.N == y.N && x.Hash == y.Hash
		})
}

// checkTimer asks that nothing that is due at a time can be missed: the clock
// that was asked for comes at the first deadline, or before it.
func (c *checker) checkTimer(got []Command) error {
	for _, cmd := range got {
		if w, ok := cmd.(Wake); ok {
			if w.At <= c.now {
				return fmt.Errorf("a wake at %d, which is past", w.At)
			}
			c.timer = w.At
		}
	}
	if next := c.nextDeadline(); !c.over && next != 0 && (c.timer == 0 || c.timer > next) {
		return fmt.Errorf("nothing wakes the machine at %d, a deadline", next)
	}
	return nil
}

func (c *checker) nextDeadline() Time {
	var next Time
	for _, t := range c.deadlines() {
		if t > c.now && (next == 0 || t < next) {
			next = t
		}
	}
	return next
}

func (c *checker) deadlines() []Time {
	list := []Time{c.turnAt, c.graceAt}
	if c.consulting.open && !c.consulting.ended {
		list = append(list, c.consulting.limitAt)
	}
	for _, s := range c.seats {
		if s.busy {
			list = append(list, s.restrictAt, s.cancelAt)
		}
	}
	return list
}

// checkResult compares the kernel's result with the checker's account.
func (c *checker) checkResult(r Result) error {
	if !c.over {
		return fmt.Errorf("the turn has not ended")
	}
	if r.Status != c.status {
		return fmt.Errorf("the result says %s, the account %s", r.Status, c.status)
	}
	if (r.Winner == nil) != (c.winner < 0) {
		return fmt.Errorf("the result's winner is %v, the account's answer %d", r.Winner, c.winner)
	}
	if r.Winner != nil {
		want := c.answers[c.winner]
		if r.Winner.Agent != want.agent || r.Winner.Hash != want.hash {
			return fmt.Errorf("the winner is %+v, by the account's votes it is %+v", *r.Winner, want)
		}
		if text := r.Text; text != c.shown && (c.shown != blob.Ref{} || text != r.Winner.Text) {
			return fmt.Errorf("the text to show is %+v", text)
		}
	}
	standing := 0
	for _, s := range c.seats {
		standing += min(s.count, 1)
	}
	if len(r.All) != len(c.answers) || len(r.Answers) != standing {
		return fmt.Errorf("the result has %d answers of %d, the account %d of %d",
			len(r.Answers), len(r.All), standing, len(c.answers))
	}
	if r.Stage != c.stages || (r.Analysis != blob.Ref{}) != c.hasAnalysis {
		return fmt.Errorf("the result has come to stage %d with analysis %v, the account to stage %d with analysis %t", r.Stage, r.Analysis, c.stages, c.hasAnalysis)
	}
	return c.checkVotesAndAgents(r)
}

func (c *checker) checkVotesAndAgents(r Result) error {
	valid := c.valid()
	if len(r.Votes) != len(valid) || len(r.Votes)+len(r.Void) != len(c.votes) {
		return fmt.Errorf("a stale or late vote was counted: %d votes and %d void, in the account %d of %d",
			len(r.Votes), len(r.Void), len(valid), len(c.votes))
	}
	for i, v := range r.Votes {
		if v.Voter != valid[i].voter || v.For != valid[i].target {
			return fmt.Errorf("vote %+v, in the account it is %+v", v, valid[i])
		}
	}
	for _, v := range r.Void {
		if v.Void == "" {
			return fmt.Errorf("a void vote gives no reason: %+v", v)
		}
	}
	for i, a := range r.Agents {
		if a.State != c.seats[i].act {
			return fmt.Errorf("agent %d is %q, by the account %q", i, a.State, c.seats[i].act)
		}
	}
	return nil
}
