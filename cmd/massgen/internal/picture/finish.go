package picture

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// finish adds the facts that are known only at the end of the journal. Beside an error it has added the
// readable ones.
func (p *projection) finish() error {
	p.Length, p.Over = max(p.last, time.Millisecond), p.machine.Over()
	for _, o := range p.open {
		p.Calls[o.call].To = p.Length
	}
	result, err := p.report.Result(report.Unjournaled{})
	p.Question, p.Warnings, p.Usage = result.Question, result.Warnings, result.Usage
	p.Notes, p.Partials = result.Notes, result.Partials
	if result.Decision != nil {
		p.Analysis = result.Analysis
	}
	if p.Over {
		p.Status, p.Winner, p.Answer = result.Status, result.Winner, result.Answer
	}
	p.addAgents(result)
	p.addRounds()
	p.addMarks()
	err = errors.Join(err, p.addAnswers())
	p.addVotes(result)
	err = errors.Join(err, p.addTools())
	p.resolveMarks()
	if len(p.turn) > 0 {
		p.Lanes = append(p.Lanes, Lane{Name: turnLane, Marks: p.turn})
	}
	return err
}

func (p *projection) addAgents(result report.Result) {
	usage := p.machine.Usage()
	for i, a := range result.Agents {
		lane := &p.Lanes[i]
		lane.Usage, lane.Error, lane.Wins = report.Rounded(usage[i]), a.Error, p.Winner != "" && a.ID == p.Winner
		lane.State = string(cmp.Or(a.State, kernel.Act("no act")))
		if !p.Over {
			lane.State = string(p.machine.StepState(i))
		}
	}
	for i := len(result.Agents); i < len(usage); i++ {
		if a := p.machine.Turn().Agent(i); a != nil && usage[i].Calls > 0 {
			lane := &p.Lanes[p.laneAt(i)]
			lane.Usage, lane.State = report.Rounded(usage[i]), p.state.Agent(a.ID).Doing
		}
	}
	if p.sidecall > 0 {
		p.Lanes[p.sidecall].Usage = report.Rounded(p.machine.SidecallsUsage().Plus(p.machine.UsageAfter()))
	}
}

// addRounds adds the rounds. At the eager pace they overlap, and an agent alone has none.
func (p *projection) addRounds() {
	for _, r := range p.state.Rounds {
		switch at := r.Began.Sub(p.Began); {
		case p.isEager:
		case r.Final:
			p.Rounds = append(p.Rounds, Round{Name: finalRound, At: at})
		case !p.state.IsAlone():
			p.Rounds = append(p.Rounds, Round{Name: fmt.Sprintf("round %d", r.Number), At: at})
		}
	}
}

// addMarks adds the acts of the agents.
func (p *projection) addMarks() {
	for _, act := range p.state.Acts {
		i := p.laneOf(act.Agent)
		if i < 0 {
			continue
		}
		m := Mark{Kind: markOf(act), At: act.At.Sub(p.Began), Label: act.Label, Void: act.Void != "", Target: -1}
		p.Lanes[i].Marks = append(p.Lanes[i].Marks, m)
	}
}

func markOf(act report.Act) MarkKind {
	if act.Final {
		return FinalMark
	}
	switch act.Phase {
	case step.PhaseVoted:
		return VoteMark
	case step.PhaseJudged:
		return JudgeMark
	case step.PhaseAbstained:
		return AbstainMark
	case step.PhaseFailed:
		return FailMark
	case step.PhaseCancelled:
		return CancelMark
	case step.PhaseDismissed:
		return DismissMark
	}
	return AnswerMark
}

// answeredAt returns when an answer was given.
func (p *projection) answeredAt(label string) time.Duration {
	for _, act := range p.state.Acts {
		if act.Label == label && act.Phase == step.PhaseAnswered {
			return act.At.Sub(p.Began)
		}
	}
	return 0
}

func (p *projection) addAnswers() (err error) {
	k := p.machine.Result()
	for _, a := range k.All {
		text, missing := p.text(a.Text)
		if missing != nil {
			err = fmt.Errorf("read the answer %s: %w", p.machine.Label(a), missing)
		}
		label := p.machine.Label(a)
		wins := p.Over && k.Winner != nil && *k.Winner == a
		if wins {
			p.WinnerLabel = label
		}
		p.Answers = append(p.Answers, Answer{
			Agent: p.Lanes[a.Agent].Name, Label: label, Text: text, Round: a.Round, At: p.answeredAt(label),
			Stands: slices.Contains(k.Answers, a), Wins: wins,
		})
	}
	return err
}

// addVotes adds the votes in the order of their rounds, and in each of the agents.
func (p *projection) addVotes(result report.Result) {
	for _, v := range slices.Concat(result.Votes, result.VoidVotes) {
		p.Votes = append(p.Votes, Vote{Voter: v.Voter, Label: v.Label, Reason: v.Reason, Void: v.Void, Round: v.Round})
	}
	slices.SortStableFunc(p.Votes, func(a, b Vote) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(p.laneOf(a.Voter), p.laneOf(b.Voter)))
	})
}

func (p *projection) laneOf(agent string) int {
	return slices.IndexFunc(p.Lanes, func(l Lane) bool { return l.IsAgent && l.Name == agent })
}

func (p *projection) addTools() (err error) {
	for _, c := range p.machine.ToolCalls() {
		t, missing := p.tool(c)
		if missing != nil {
			err = fmt.Errorf("read the tool call %s: %w", c.Call.Key, missing)
		}
		lane := &p.Lanes[p.laneAt(c.Call.Key.Agent)]
		lane.Tools = append(lane.Tools, len(p.Tools))
		p.Tools = append(p.Tools, t)
	}
	return err
}

func (p *projection) tool(c turn.ToolRun) (t Tool, err error) {
	key := c.Call.Key
	t = Tool{
		Agent: p.Lanes[p.laneAt(key.Agent)].Name, Name: c.Call.Name, Round: key.Round, From: p.since(c.Started), To: p.since(c.Ended),
		State: cmp.Or(c.State, report.ToolRunning), IsError: c.Error,
	}
	switch {
	case c.Ended == 0:
		t.To = p.Length
	case c.Started == 0: // refused
		t.From = t.To
	}
	if t.Arguments, err = agents.Arguments(p.lookup, c.Call); err != nil {
		return t, err
	}
	t.Result, err = agents.ReadResult(p.lookup, c.Call, c.Result, c.State, c.Why)
	return t, err
}

// since returns how long after the turn's beginning a moment was.
func (p *projection) since(at kernel.Time) time.Duration {
	return min(max(time.Duration(at-p.began)*time.Millisecond, 0), p.Length)
}

// resolveMarks marks the winner, and finds the authors of the answers that votes are for.
func (p *projection) resolveMarks() {
	authors := map[string]int{}
	for _, a := range p.Answers {
		authors[a.Label] = p.laneOf(a.Agent)
	}
	for i := range p.Lanes {
		lane := &p.Lanes[i]
		for j := range lane.Marks {
			m := &lane.Marks[j]
			if author, ok := authors[m.Label]; ok && m.Label != "" {
				m.Target = author
			}
			switch m.Kind {
			case AnswerMark:
				m.Wins = m.Label != "" && m.Label == p.WinnerLabel
			case FinalMark:
				m.Wins = lane.Wins
			}
		}
	}
}

func (p *projection) text(ref blob.Ref) (string, error) {
	data, err := p.lookup(ref)
	return string(data), err
}

func (p *projection) lookup(ref blob.Ref) ([]byte, error) {
	if ref == (blob.Ref{}) || p.source.Texts == nil {
		return nil, errors.New("there is no such text")
	}
	return p.source.Texts(ref)
}
