package talk

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

func TestVerdict(t *testing.T) {
	cases := []struct {
		about   string
		status  kernel.Status
		answers string // agent=text
		votes   string // for whom
		agents  int
		want    string
	}{
		{"all voted", kernel.Completed, "a=x b=y", "a a b", 3, "winner: a.1 with 2 of 3 votes"},
		{"one abstained", kernel.Completed, "a=x b=y", "a a", 3, "winner: a.1 with 2 of 2 votes from 3 agents"},
		{"tie", kernel.Completed, "a=x b=y c=z", "a b", 3, "winner: a.1 with 1 of 2 votes from 3 agents, a tie that the config's order decides"},
		{"equal texts add up", kernel.Completed, "a=x b=y c=x", "b a c", 3, "winner: a.1 with 2 of 3 votes"},
		{"equal texts are no tie", kernel.Completed, "a=x b=x", "a b", 2, "winner: a.1 with 2 of 2 votes"},
		{"the same text", kernel.Completed, "a=x b=x c=x", "", 3, "winner: a.1, without a vote: all answers are the same text"},
		{"survivor", kernel.Completed, "a=x", "", 3, "winner: a.1, without a vote: the only answer that is left"},
		{"interrupted", kernel.Cut, "a=x b=y", "", 3, "best so far: a.1, without a vote: the newest answer"},
		{"out of time", kernel.Timeout, "a=x b=y", "a", 3, "best so far: a.1 with 1 of 1 vote from 3 agents"},
		{"no consensus", kernel.NoConsensus, "a=x b=y", "a b", 2, "best so far: a.1 with 1 of 2 votes, a tie that the config's order decides"},
	}
	for _, c := range cases {
		r := report.Result{Status: c.status, Winner: "a", Agents: make([]report.ResultAgent, c.agents)}
		for _, a := range strings.Fields(c.answers) {
			agent, text, _ := strings.Cut(a, "=")
			r.Answers = append(r.Answers, report.ResultAnswer{Agent: agent, Label: agent + ".1", Content: text})
		}
		for _, v := range strings.Fields(c.votes) {
			r.Votes = append(r.Votes, report.ResultVote{For: v})
		}
		title, why := verdict(r)
		if got := title + why; got != c.want {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}

// TestVerdictCountsWeights: a vote of weight 3 is three votes.
func TestVerdictCountsWeights(t *testing.T) {
	t.Parallel()
	r := report.Result{
		Status: kernel.Completed, Winner: "a", Agents: make([]report.ResultAgent, 2),
		Answers:  []report.ResultAnswer{{Agent: "a", Label: "a.1", Content: "x"}, {Agent: "b", Label: "b.1", Content: "y"}},
		Votes:    []report.ResultVote{{For: "a", Weight: 3}, {For: "b", Weight: 1}},
		Decision: &report.Decision{Agreement: new(0.75)},
	}
	if title, why := verdict(r); title+why != "winner: a.1 with 3 of 4 votes from 2 agents" {
		t.Errorf("%s%s", title, why)
	}
}
