package kernel

import (
	"reflect"
	"slices"
	"testing"
)

// key identifies a state of a world by what can influence its future. Times are
// relative to now. Left out, because nothing that follows depends on them: texts
// and reasons, the acts of steps that have ended, void votes, replaced answers,
// the order of the answers but for the newest; of a busy agent, which stale set
// it saw and whom it could vote for there (the vote would be void), in what round
// it is after the first; and with pace eager, starts beyond the last in which
// an answer is offered. The walk has no quorum and no straggler_factor, for which
// Electorate, Since and Took are.
type key [80]byte

func (w world) key() key {
	var k key
	b := appendMachine(k[:0], w.m)
	b = w.appendAccount(b)
	if len(b) > len(k) {
		panic("kernel: the key of a state is too long")
	}
	copy(k[:], b)
	return k
}

func appendMachine(b []byte, m *Machine) []byte {
	s, eager := &m.s, bit(m.cfg.Pace == PaceEager)
	set, last := len(s.Answers), m.cfg.MaxRounds-1
	b = append(b, s.Stage[0], (1-eager)*byte(s.Round-s.FormerRounds), bit(s.RoundOpen)|bit(s.Presenting)<<1, bit(set > s.RoundSet),
		left(s.GraceAt, s.Now), left(s.TurnAt, s.Now), left(s.WakeAt, s.Now), newest(m), byte(winnerIn(s.Winner, s.FormerAnswers)))
	for i, x := range s.Members {
		flags := bit(x.Failed) | bit(x.InRound)<<1 | bit(x.Seen == set)<<2 | bit(x.Round == 0)<<6 | bit(x.Phase == Stopping && x.Act == ActLate)<<7
		if x.Phase != Idle {
			flags |= bit(m.isFirst(x.Round))<<3 | bit(x.MayAnswer)<<4
		}
		if at := m.standing(i); at >= 0 {
			flags |= bit(s.Answers[at].Hash == sharedText) << 5
		}
		b = append(b, x.Phase[0], flags, byte(x.Answers)<<4|eager*byte(min(x.Starts, last)))
		if x.Phase != Idle {
			b = append(b, left(x.RestrictAt, s.Now), left(x.CancelAt, s.Now))
		}
	}
	b = appendVoting(appendStrategy(b, m), m)
	for voter := range s.Members {
		for _, v := range s.Votes {
			if v.Void == "" && v.Voter == voter {
				b = append(b, byte(v.Voter)<<4|byte(v.For)|1<<7)
			}
		}
	}
	return append(b, 0xff)
}

// appendAccount adds what the checker knows, so that a machine whose state goes
// another way than the account is met as a state of its own.
func (w world) appendAccount(b []byte) []byte {
	c, eager := w.c, bit(w.c.cfg.Pace == PaceEager)
	set, last := len(c.answers), c.cfg.MaxRounds-1
	b = append(b, bit(c.open)|bit(c.decided)<<1|bit(c.presenting)<<2|bit(c.over)<<3|bit(set > c.roundSet)<<4,
		(1-eager)*byte(c.round), left(c.graceAt, c.now), left(c.timer, c.now), byte(winnerIn(c.winner, c.formerAnswers)))
	for i, s := range c.seats {
		flags := bit(s.busy) | bit(s.stopping)<<1 | bit(s.late)<<2 | bit(s.failed)<<3 | bit(s.member)<<4 | bit(s.seen == set)<<5
		if s.out() {
			flags |= bit(w.mayVoteOn(i, s.seen))<<6 | bit(w.wasShown(sharedText, s.seen))<<7
		}
		b = append(b, flags, byte(s.count)<<4|eager*byte(min(s.starts, last)))
		if s.out() {
			b = append(b, left(s.cancelAt, c.now))
		}
	}
	b = w.appendFirsts(b)
	for voter := range c.seats {
		for _, v := range c.votes {
			if v.voter == voter && !v.late && v.set == set {
				b = append(b, byte(v.voter)<<4|byte(v.target)|1<<7)
			}
		}
	}
	return b
}

// mayVoteOn says whether there is anybody to vote for in a set.
func (w world) mayVoteOn(agent, set int) bool {
	for _, e := range w.c.answers[min(w.c.formerAnswers, set):set] {
		if e.agent != agent || w.c.cfg.SelfVote {
			return true
		}
	}
	return false
}

func newest(m *Machine) byte {
	if n := len(m.s.Answers); n > m.s.FormerAnswers {
		return byte(m.s.Answers[n-1].Agent + 1)
	}
	return 0
}

// winnerIn numbers a winner within its attempt: 0 for none, 100 and more for one of an earlier attempt.
func winnerIn(winner, former int) int {
	switch {
	case winner < 0:
		return 0
	case winner < former:
		return 100 + winner
	}
	return winner - former + 1
}

// left is the time to a deadline: 0 for none, 1 for one that is past.
func left(at, now Time) byte {
	switch {
	case at == 0:
		return 0
	case at <= now:
		return 1
	}
	return byte(min(at-now, 100)) + 1
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// A field that is added to the state belongs into the key, or into the list of
// what it leaves out.
func TestKeyKnowsEveryField(t *testing.T) {
	fields := func(v any) []string {
		var names []string
		for f := range reflect.TypeOf(v).Fields() {
			names = append(names, f.Name)
		}
		return names
	}
	for _, x := range []struct {
		have, known []string
	}{
		{fields(state{}), []string{"Stage", "Now", "Members", "Answers", "Votes", "Round", "RoundOpen", "RoundSet",
			"GraceAt", "TurnAt", "WakeAt", "Status", "Winner", "Presenting", "Presented", "PresentedWork", "Warnings",
			"Final", "FormerRounds", "FormerAnswers", "Restarts", "Former", "Restarting",
			"StagesBegun", "Differing", "Consulting", "Analysis", "Judged", "Unjudged", "Outsiders", "Picks", "Tie", "Electorate"}},
		{fields(member{}), []string{"Phase", "Failed", "Reason", "Starts", "Answers", "FormerAnswers", "Round", "Seen", "InRound",
			"Act", "MayAnswer", "RestrictAt", "CancelAt", "Since", "Took"}},
		{fields(consultation{}), []string{"Purpose", "Agent", "Set", "LimitAt", "Ended"}},
	} {
		if !slices.Equal(x.have, x.known) {
			t.Errorf("the state has the fields %v, the key knows %v", x.have, x.known)
		}
	}
}
