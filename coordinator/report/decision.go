package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
)

// Decision says how a turn with a strategy was decided.
type Decision struct {
	Strategy string `json:"strategy"`
	// Stage is the stage of the cascade that the turn has come to, from 1; 0 without a cascade.
	Stage int `json:"stage,omitempty"`
	// Analysis compares the answers, which it names by their labels; nil without one.
	Analysis *contextbuild.Analysis `json:"analysis"`
	// Agreement is the winner's share of the valid votes, or in a turn without votes of the standing
	// answers; nil without a winner.
	Agreement *float64 `json:"agreement"`
	// Dissent are the items of the analysis that the winning answer does not make; nil without an
	// analysis.
	Dissent []contextbuild.Claim `json:"dissent"`
	// Flips are the changes of mind, answers before votes.
	Flips []Flip `json:"flips"`
	// Checks are those of all accepted answers, in their order; nil in a turn without checks.
	Checks []ResultCheck `json:"checks,omitempty"`
	// Consultants were consulted and are no members of the panel.
	Consultants []ResultAgent `json:"consultants,omitempty"`
	// Saved says which part of a cascade was not needed, "" without a cascade.
	Saved string `json:"saved,omitempty"`

	reason string
}

// Reason says why the winner won without a vote, "" if votes decided or there is no winner.
func (d *Decision) Reason() string { return d.reason }

// Flip is an agent's next answer after it was shown others', or its next vote for another agent's
// answer. From and To are labels.
type Flip struct {
	Agent string `json:"agent"`
	// Kind is "answer" or "vote".
	Kind  string `json:"kind"`
	From  string `json:"from"`
	To    string `json:"to"`
	Round int    `json:"round"`
}

// ResultCheck is the check of an accepted answer.
type ResultCheck struct {
	Label  string `json:"label"`
	Passed bool   `json:"passed"`
	Exit   int    `json:"exit"`
	Output string `json:"output"`
}

// checks returns Decision.Checks.
func (r *Report) checks(k kernel.Result) (list []ResultCheck, err error) {
	for _, a := range k.All {
		if a.Check == (blob.Ref{}) {
			continue
		}
		c, err := agents.ReadChecked(r.texts, a.Check)
		if err != nil {
			return list, err
		}
		list = append(list, ResultCheck{r.machine.Label(a), c.Passed, c.Exit, c.Output})
	}
	return list, nil
}

// isDescribed reports whether a result says how a turn was decided: its config has one of the keys for
// that.
func (r *Report) isDescribed() bool {
	rules := r.machine.Rules()
	if rules.Strategy() != "" || rules.Values && len(rules.Agents) > 1 || rules.Analysis || rules.StopEarly || rules.Weights != nil || rules.Peers != (kernel.Peers{}) {
		return true
	}
	isNewRule := slices.Contains([]election.Rule{election.Quorum, election.Approval, election.Ranked}, rules.Decision)
	return isNewRule || rules.Ties != "" || rules.Check != "" || r.machine.Turn().Shuffle != nil
}

// decision returns how the turn was decided, nil for a turn without a strategy.
func (r *Report) decision(k kernel.Result) (*Decision, error) {
	rules := r.machine.Rules()
	if !r.isDescribed() {
		return nil, nil
	}
	d := &Decision{Strategy: cmp.Or(rules.Strategy(), string(kernel.Consensus)), Stage: k.Stage, Agreement: agreement(k)}
	d.Flips = append(r.changedAnswers(k), r.changedVotes(k)...)
	d.reason, d.Saved = r.reason(k), r.saved(k)
	var err error
	if d.Checks, err = r.checks(k); err != nil {
		return d, err
	}
	usage := r.machine.Usage()
	for i := len(k.Agents); i < len(usage); i++ {
		if a := r.machine.Turn().Agent(i); a != nil {
			d.Consultants = append(d.Consultants, ResultAgent{ID: a.ID, Model: r.model(i), Usage: Rounded(usage[i])})
		}
	}
	if d.Analysis, err = r.analysis(k.Analysis, k); err != nil || d.Analysis == nil {
		return d, err
	}
	d.Dissent = []contextbuild.Claim{}
	for _, item := range d.Analysis.Items() {
		if k.Winner != nil && !slices.Contains(item.Answers, r.machine.Label(*k.Winner)) {
			d.Dissent = append(d.Dissent, item)
		}
	}
	return d, nil
}

// analysis reads an analysis, and names the answers by their labels. It returns nil without one.
func (r *Report) analysis(ref blob.Ref, k kernel.Result) (*contextbuild.Analysis, error) {
	if ref == (blob.Ref{}) {
		return nil, nil
	}
	text, err := r.texts(ref)
	if err != nil {
		return nil, err
	}
	var a contextbuild.Analysis
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("blob %.12s: %w", ref.SHA256, err)
	}
	return new(a.Renamed(r.labels(k))), nil
}

// reason returns Decision.Reason.
func (r *Report) reason(k kernel.Result) string {
	rules := r.machine.Rules()
	same, standing, passed := 0, k.Answers, ""
	isFailed := func(a kernel.Answer) bool { return a.FailedCheck }
	if rules.Check == kernel.CheckRequired && slices.ContainsFunc(standing, isFailed) && k.Winner != nil && !k.Winner.FailedCheck {
		standing, passed = slices.DeleteFunc(slices.Clone(standing), isFailed), " that passed the check"
	}
	for _, a := range standing {
		if k.Winner != nil && r.areEqual(a, *k.Winner) {
			same++
		}
	}
	switch {
	case k.Winner == nil || len(k.Votes) > 0 || k.Status != kernel.Completed && k.Status != kernel.NoConsensus:
		return ""
	case k.Judged:
		return "found best by " + rules.Judge
	case same > 1 && same == len(standing):
		return "all answers" + passed + " agree"
	case len(standing) == 1 && passed != "":
		return "the only answer" + passed
	case rules.Decider == kernel.ByValue && same < 2:
		return "no two answers have the same value"
	case rules.Decider == kernel.ByValue:
		return fmt.Sprintf("with the value of %d of %d answers", same, len(k.Answers))
	case len(k.Answers) == 1:
		return "the only answer that is left"
	case len(rules.Stages) > 0 && k.Status == kernel.Completed:
		return "the answers say the same"
	}
	return ""
}

// saved returns the value of Decision.Saved.
func (r *Report) saved(k kernel.Result) string {
	all := len(r.machine.Rules().Stages)
	if all == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s", k.Stage, plain.Count(all, "stage"))
	notAsked := 0
	for _, a := range k.Agents {
		if a.State == kernel.ActNotAsked {
			notAsked++
		}
	}
	if notAsked > 0 {
		text += ", " + plain.Count(notAsked, "agent") + " not asked"
	}
	return text
}

// labels returns a function from a name that models use to the label of its agent's standing answer.
// It returns other names unchanged.
func (r *Report) labels(k kernel.Result) func(string) string {
	ids := make([]string, len(k.Agents))
	for i := range ids {
		ids[i] = r.id(i)
	}
	byName := contextbuild.Participants(ids)
	return func(name string) string {
		for _, a := range k.Answers {
			if r.id(a.Agent) == byName[name] {
				return r.machine.Label(a)
			}
		}
		return name
	}
}

// Agreement returns Decision.Agreement, also for a turn without a strategy.
func (r *Report) Agreement() *float64 { return agreement(r.machine.Result()) }

// agreement returns Decision.Agreement.
func agreement(k kernel.Result) *float64 {
	if k.Winner == nil || k.Ballots == 0 { // the winner of an earlier attempt has no votes
		return nil
	}
	return new(float64(k.Backing) / float64(k.Ballots))
}

// areEqual reports whether two answers are one candidate.
func (r *Report) areEqual(a, b kernel.Answer) bool {
	switch {
	case a.Agent == b.Agent && a.N == b.N:
		return true
	case r.machine.Rules().Values:
		return a.Value != "" && a.Value == b.Value
	}
	return a.Hash == b.Hash
}

// labelled returns the answer with a label, the zero Answer for an unknown label.
func (r *Report) labelled(k kernel.Result, label string) kernel.Answer {
	for _, a := range k.All {
		if r.machine.Label(a) == label {
			return a
		}
	}
	return kernel.Answer{}
}

// recordSeen records the set of answers that the author of an answer was shown.
func (r *Report) recordSeen(c turn.StepEnded) {
	if c.Outcome.Kind != step.Answered || c.Label == "" {
		return
	}
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	r.seen[c.Label] = c.Outcome.Seen
}

// changedAnswers returns the flips of kind answer, in the order of the answers.
func (r *Report) changedAnswers(k kernel.Result) []Flip {
	flips, before := []Flip{}, map[int]kernel.Answer{}
	for _, a := range k.All[k.FormerAnswers:] { // those of another attempt were not shown
		was, isNext := before[a.Agent]
		before[a.Agent] = a
		seen := max(k.FormerAnswers, r.seen[r.machine.Label(a)])
		sawOthers := slices.ContainsFunc(k.All[k.FormerAnswers:seen], func(o kernel.Answer) bool { return o.Agent != a.Agent })
		if isNext && sawOthers && !r.areEqual(was, a) {
			flips = append(flips, Flip{r.id(a.Agent), "answer", r.machine.Label(was), r.machine.Label(a), a.Round})
		}
	}
	return flips
}

// changedVotes returns the flips of kind vote, by round.
func (r *Report) changedVotes(k kernel.Result) []Flip {
	votes := slices.DeleteFunc(slices.Concat(k.Votes, k.Void), func(v kernel.Vote) bool { return v.Round <= k.FormerRounds })
	slices.SortStableFunc(votes, func(a, b kernel.Vote) int {
		return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Voter, b.Voter))
	})
	flips, before := []Flip{}, map[int]kernel.Vote{}
	for _, v := range votes {
		was, isNext := before[v.Voter]
		before[v.Voter] = v
		from := r.labelled(k, was.Label)
		to := r.labelled(k, v.Label)
		if isNext && from.Agent != to.Agent && !r.areEqual(from, to) {
			flips = append(flips, Flip{r.id(v.Voter), "vote", was.Label, v.Label, v.Round})
		}
	}
	return flips
}
