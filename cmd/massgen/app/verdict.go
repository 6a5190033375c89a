package app

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/plain"
)

// verdict names the answer of a result that has one, "winner: a.1" or, where the
// panel did not decide, "best so far: a.1"; and says what it stands on.
func verdict(r report.Result) (title, why string) {
	title = "winner: "
	if r.Status != kernel.Completed {
		title = "best so far: "
	}
	tally := countVotes(r)
	best := tally.of[r.Winner]
	why = fmt.Sprintf(" with %d of %s", best, plain.Count(len(r.Votes), "vote"))
	if len(r.Votes) != len(r.Agents) {
		why += " from " + plain.Count(len(r.Agents), "agent")
	}
	switch {
	case best > 0 && tally.tied(best):
		why += ", a tie that the config's order decides"
	case best > 0:
	case r.Status != kernel.Completed:
		why = ", without a vote: the newest answer"
	case len(r.Answers) > 1:
		why = ", without a vote: all answers are the same text"
	default:
		why = ", without a vote: the only answer that is left"
	}
	return title + tally.label[r.Winner], why
}

// tally are the votes of each answer, by its agent. Answers of the same text are
// one candidate (DESIGN §4.4) and have their votes together.
type tally struct {
	of    map[string]int
	label map[string]string
	text  map[string]string // white space does not count
}

func countVotes(r report.Result) tally {
	t := tally{of: map[string]int{}, label: map[string]string{r.Winner: r.Winner}, text: map[string]string{}}
	for _, a := range r.Answers {
		t.label[a.Agent], t.text[a.Agent] = a.Label, strings.Join(strings.Fields(a.Content), " ")
	}
	for agent, text := range t.text {
		for _, v := range r.Votes {
			if t.text[v.For] == text {
				t.of[agent]++
			}
		}
	}
	return t
}

// tied says that different texts have so many votes.
func (t tally) tied(votes int) bool {
	texts := map[string]bool{}
	for agent, n := range t.of {
		if n == votes {
			texts[t.text[agent]] = true
		}
	}
	return len(texts) > 1
}
