package talk

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/plain"
)

// verdict names the answer of a result that has one, "winner: a.1" or, where the
// panel did not decide, "best so far: a.1", and why it won.
func verdict(r report.Result) (title, why string) {
	title = "winner: "
	if r.Status != kernel.Completed {
		title = "best so far: "
	}
	best, tied := countVotes(r)
	why = fmt.Sprintf(" with %d of %s", best, plain.Count(len(r.Votes), "vote"))
	if len(r.Votes) != len(r.Agents) {
		why += " from " + plain.Count(len(r.Agents), "agent")
	}
	switch {
	case best > 0 && tied:
		why += ", a tie that the config's order decides"
	case best > 0:
	case r.Status != kernel.Completed:
		why = ", without a vote: the newest answer"
	case len(r.Answers) > 1:
		why = ", without a vote: all answers are the same text"
	default:
		why = ", without a vote: the only answer that is left"
	}
	for _, a := range r.Answers {
		if a.Agent == r.Winner {
			return title + a.Label, why
		}
	}
	return title + r.Winner, why
}

// countVotes returns how many votes the winner's answer has, and whether another has as many.
// Answers of the same text are one candidate (DESIGN §4.4) and have their votes together.
func countVotes(r report.Result) (best int, tied bool) {
	textOf := map[string]string{}
	for _, a := range r.Answers {
		textOf[a.Agent] = strings.Join(strings.Fields(a.Content), " ") // white space does not count
	}
	votes := map[string]int{}
	for _, v := range r.Votes {
		if text, isThere := textOf[v.For]; isThere {
			votes[text]++
		}
	}
	winner := textOf[r.Winner]
	for text, n := range votes {
		tied = tied || text != winner && n == votes[winner]
	}
	return votes[winner], tied
}
