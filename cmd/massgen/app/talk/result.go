package talk

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/failures"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// results prints what turns came to.
type results struct {
	answers answers
	kept    *archive.Archive
	store   *store.Store
	feed    *feed
	// notices are the warnings that every result of the session has, beside those of its panel.
	notices []string
}

// allNotices returns the warnings that every result has.
func (o *results) allNotices() []string {
	return append(append([]string{}, o.notices...), o.feed.asked.panel.Notices()...)
}

// deliver prints a result, writes the file, and returns the exit status that the
// result stands for.
func (o *results) deliver(r report.Result) (int, error) {
	known := o.allNotices() // also those that came while the turn ended
	for _, w := range r.Warnings {
		if !slices.Contains(known, w) && !(failures.Explain(r) && isFallback(w)) {
			o.feed.console.Warn(w)
		}
	}
	if !o.feed.isShown() {
		for _, w := range r.ContextWarnings {
			o.feed.console.Warn(w.Words())
		}
	}
	if !o.feed.isShown() && r.Winner != "" {
		for _, line := range failures.Lines(r.Failed) {
			o.feed.console.Warn(line)
		}
	}
	if err := o.printResult(r); err != nil {
		return cmdline.ExitFailed, err
	}
	if r.Winner != "" && o.feed.flags.OutputFile != "" {
		if err := os.WriteFile(o.feed.flags.OutputFile, []byte(o.feed.console.Secrets.Redact(wording.WithNewline(r.Answer))), 0o644); err != nil {
			place := "the answer is on standard output"
			if o.feed.run.prints() {
				place = o.kept.Command("sessions", "show", r.SessionID) + " has the answer"
			}
			return cmdline.ExitUsage, fmt.Errorf("--output-file: %w; %s", err, place)
		}
		if err := o.feed.run.putOutput(o.feed.flags.OutputFile); err != nil {
			return cmdline.ExitFailed, err
		}
	}
	for _, line := range o.explanation(r) {
		o.feed.console.Say("massgen: %s", line)
	}
	return cmdline.ResultStatus(r), nil
}

func (o *results) printResult(r report.Result) error {
	if o.feed.flags.JSON {
		line, err := plain.JSONLine(r)
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		return o.print(r.SessionID, line)
	}
	if run := o.feed.run; run.prints() {
		if r.Winner != "" && run.tree == nil && o.feed.flags.OutputFile == "" && o.store.Lasts() {
			o.feed.console.Say("massgen: no file has the answer; %s prints it", o.kept.Command("sessions", "show", r.SessionID))
		}
		return run.putResult(r)
	}
	if r.Winner == "" {
		return nil
	}
	if !cmdline.IsTerminal(o.answers.env.Stdout) {
		return o.print(r.SessionID, r.Answer)
	}
	return o.printAnswer(r)
}

// print writes an answer or a result to standard output. If its reader has left, the error names the
// command that shows the answer.
func (o *results) print(session, text string) error {
	_, err := o.feed.console.Out.Write([]byte(wording.WithNewline(text)))
	switch {
	case errors.Is(err, syscall.EPIPE) && o.store.Lasts():
		return fmt.Errorf("%w: standard output was closed; %s has it", errUnread, o.kept.Command("sessions", "show", session))
	case errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%w: standard output was closed", errUnread)
	case err != nil:
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	return nil
}

// errUnread reports that an answer could not be written. Further questions would be paid for in vain.
var errUnread = errors.New("write the answer")

// summary returns what stands above the answer of a turn on a full screen: what the turn took, where the winner's files
// are, and why there is no answer, or one without consensus.
func (o *results) summary(r report.Result) []string {
	lines := []string{figuresOf(r)}
	if len(r.Agents) > 1 {
		title, rest := winnerLine(r)
		lines[0] = title + rest
	}
	if r.Snapshot != "" {
		lines = append(lines, workOf(r))
	}
	return append(lines, o.explanation(r)...)
}

// explanation returns why a result has no answer, or one without consensus, and the command that shows partial messages.
func (o *results) explanation(r report.Result) []string {
	why, hint := r.Status, ""
	switch r.Status {
	case kernel.Cut:
		why = "interrupted"
	case kernel.NoConsensus:
		why = "no consensus"
	case kernel.Budget:
		why = outOfBudget(r.Budget)
	case kernel.Timeout:
		why, hint = "out of time", "; --orchestrator-timeout gives more"
		if r.Winner == "" {
			why += " after " + plain.Seconds(time.Duration(r.DurationMS)*time.Millisecond)
		}
	case kernel.MaxTurns:
		why, hint = "out of turns", "; max_turns and max_tool_calls in the config give more"
	}
	var lines []string
	switch {
	case r.Winner != "" && r.Status == kernel.Completed:
		return nil
	case r.Winner != "":
		why += ": this is the best answer so far, by " + r.Winner + hint
	case failures.EndedEarly(r):
		why += ": there is no answer yet" + hint
	case len(r.Failed) > 0:
		lines = reasonsOf(r.Failed)
	default:
		why = "no answer: no agent gave one"
	}
	if lines == nil {
		lines = []string{why}
	}
	if r.Winner != "" || len(r.Partials) == 0 || o.feed.flags.JSON { // which has the texts
		return lines
	}
	var names []string
	for _, p := range r.Partials {
		if !slices.Contains(names, p.Agent) {
			names = append(names, p.Agent)
		}
	}
	return append(lines, fmt.Sprintf("what %s had written until then is kept: %s", plain.List(names), o.kept.Command("sessions", "show", r.SessionID)))
}

// outOfBudget returns what was spent of each limit, and what the next call needs.
func outOfBudget(b *report.BudgetReport) string {
	parts := spentOf("", b.BudgetLimits, b.SpentUSD, b.SpentTokens, b.SpentCalls)
	needs := neededOf("", b.Needs)
	if s := b.Session; s != nil {
		parts = append(parts, spentOf("the session's ", s.BudgetLimits, s.SpentUSD, s.SpentTokens, s.SpentCalls)...)
		needs = append(needs, neededOf("the session's ", s.Needs)...)
	}
	text := "out of budget: " + strings.Join(parts, ", ") + " spent"
	if len(needs) > 0 {
		text += "; the next call needs " + strings.Join(needs, " and ") + " for its input and 256 tokens of output (4,096 with reasoning_effort)"
	}
	return text
}

// neededOf returns the least limits on dollars and tokens for the next call.
func neededOf(whose string, least report.BudgetLimits) (parts []string) {
	if least.MaxUSD != nil {
		parts = append(parts, fmt.Sprintf("%smax_usd %s", whose, strings.TrimPrefix(budget.Dollars(*least.MaxUSD).String(), "$")))
	}
	if least.MaxTokens != nil {
		parts = append(parts, fmt.Sprintf("%smax_tokens %d", whose, *least.MaxTokens))
	}
	return parts
}

// spentOf returns what was spent of each limit.
func spentOf(whose string, most report.BudgetLimits, usd float64, tokens, calls int) (parts []string) {
	if most.MaxUSD != nil {
		parts = append(parts, fmt.Sprintf("%s of %smax_usd %s", budget.Dollars(usd), whose, budget.Dollars(*most.MaxUSD)))
	}
	if most.MaxTokens != nil {
		parts = append(parts, fmt.Sprintf("%s of %smax_tokens %s", plain.Thousands(tokens), whose, plain.Thousands(*most.MaxTokens)))
	}
	if most.MaxCalls != nil {
		parts = append(parts, fmt.Sprintf("%s of %smax_calls %s", plain.Thousands(calls), whose, plain.Thousands(*most.MaxCalls)))
	}
	return parts
}

// verdict names the answer of a result that has one, "winner: a.1" or, where the
// panel did not decide, "best so far: a.1", and why it won.
func verdict(r report.Result) (title, why string) {
	title = "winner: "
	if r.Status != kernel.Completed {
		title = "best so far: "
	}
	best, tied := countVotes(r)
	all := 0 // a vote of weight 3 is 3 votes
	for _, v := range r.Votes {
		all += max(v.Weight, 1)
	}
	if r.Decision != nil && r.Agreement != nil && len(r.Votes) > 0 { // equal values have their votes together
		best = int(math.Round(*r.Agreement * float64(all)))
	}
	why = fmt.Sprintf(" with %d of %s", best, plain.Count(all, "vote"))
	if all != len(r.Agents) {
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
	if r.Decision != nil {
		if reason := r.Decision.Reason(); reason != "" {
			why = ", " + reason
		}
		if saved := r.Saved; saved != "" {
			why += " · " + saved
		}
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
			votes[text] += max(v.Weight, 1)
		}
	}
	winner := textOf[r.Winner]
	for text, n := range votes {
		tied = tied || text != winner && n == votes[winner]
	}
	return votes[winner], tied
}
