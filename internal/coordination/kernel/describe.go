package kernel

import (
	"fmt"
	"strings"
)

// TurnAt returns the end of the turn's time, 0 for never.
func (m *Machine) TurnAt() Time { return m.s.TurnAt }

// GraceAt returns when stragglers may be left behind, 0 while their clock does not run.
func (m *Machine) GraceAt() Time { return m.s.GraceAt }

// Describe returns the state as text for scripts, logs and people: a line for the turn
// and one for each agent and vote.
func (m *Machine) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s round=%d set=%d", m.s.Stage, m.s.Round, m.set())
	if m.s.GraceAt != 0 {
		fmt.Fprintf(&b, " grace_at=%d", m.s.GraceAt)
	}
	if m.s.Stage != stageNew && m.s.Stage != stageRunning {
		fmt.Fprintf(&b, " status=%s winner=%s", m.s.Status, m.winnerLabel())
	}
	if m.s.StagesBegun > 0 {
		fmt.Fprintf(&b, " stage=%d", m.s.StagesBegun)
	}
	if c := m.s.Consulting; c != nil {
		fmt.Fprintf(&b, " consulting=%s by=%s", c.Purpose, m.name(c.Agent))
		if c.Ended != "" {
			fmt.Fprintf(&b, " (%s)", c.Ended)
		}
	}
	if m.s.Tie != nil {
		fmt.Fprintf(&b, " tied=%v", m.s.Tie.Among)
	}
	b.WriteByte('\n')
	for i := range m.s.Members {
		b.WriteString(m.describeMember(i))
	}
	for _, v := range m.s.Votes {
		fmt.Fprintf(&b, "  vote %s -> %s set=%d", m.cfg.Agents[v.Voter], v.Label, v.Set)
		if v.Void != "" {
			fmt.Fprintf(&b, " void: %s", v.Void)
		}
		b.WriteByte('\n')
	}
	for _, w := range m.s.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", w)
	}
	return b.String()
}

func (m *Machine) winnerLabel() string {
	if m.s.Winner < 0 {
		return "none"
	}
	return m.Label(m.s.Answers[m.s.Winner])
}

func (m *Machine) describeMember(i int) string {
	x := m.s.Members[i]
	line := fmt.Sprintf("  %s: %s", m.cfg.Agents[i], x.Phase)
	if x.Act != ActNone {
		line += " " + string(x.Act)
	}
	if x.out() {
		line += fmt.Sprintf(" round=%d saw=%d", x.Round, x.Seen)
	}
	if a := m.standing(i); a >= 0 {
		line += " answer=" + m.Label(m.s.Answers[a])
	}
	if x.Reason != "" {
		line += " (" + x.Reason + ")"
	}
	return line + "\n"
}

// DescribeCommand returns a command as one line of text, agents by their ids.
func (m *Machine) DescribeCommand(c Command) string {
	id := m.name
	switch c := c.(type) {
	case Start:
		return fmt.Sprintf("start %s round=%d %s", id(c.Agent), c.Round, m.describeOffer(c.Offer))
	case Update:
		return fmt.Sprintf("update %s %s", id(c.Agent), m.describeOffer(c.Offer))
	case Restrict:
		return "restrict " + id(c.Agent)
	case Cancel:
		return "cancel " + id(c.Agent)
	case Wake:
		return fmt.Sprintf("wake at=%d", c.At)
	case Present:
		return fmt.Sprintf("present %s synthesize=%t votes=%d %s", id(c.Agent), c.Synthesize, len(c.Votes), m.describeOffer(c.Offer))
	case Consult:
		return fmt.Sprintf("consult %s purpose=%s %s", id(c.Agent), c.Purpose, m.describeOffer(c.Offer))
	case Finish:
		return fmt.Sprintf("finish %s winner=%s", m.s.Status, m.winnerLabel())
	}
	return fmt.Sprintf("%T", c)
}

func (m *Machine) describeOffer(o Offer) string {
	var shown, vote []string
	for _, a := range o.Shown {
		shown = append(shown, m.Label(a))
	}
	for _, agent := range o.MayVote {
		vote = append(vote, m.cfg.Agents[agent])
	}
	line := fmt.Sprintf("set=%d shown=[%s] may_answer=%t may_vote=[%s]",
		o.Set, strings.Join(shown, " "), o.MayAnswer, strings.Join(vote, " "))
	if o.Reversed {
		line += " reversed"
	}
	if o.Former != (Former{}) {
		line += " former=" + o.Former.Text.SHA256
	}
	return line
}
