package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/finish"
	"github.com/massgen/massgen/internal/system/plain"
)

// resultFormat is the version of Result's JSON.
const resultFormat = 1

// Result is how a turn ended, in the form that --json prints (DESIGN §8). Agents
// are named by their config ids.
type Result struct {
	Format    int    `json:"format"`
	SessionID string `json:"session_id"`
	Turn      int    `json:"turn"`
	// Question is the question as it was asked, without notes.
	Question string        `json:"question"`
	Status   kernel.Status `json:"status"`
	// Winner is the agent whose answer won, "" when there is none.
	Winner string `json:"winner"`
	Answer string `json:"answer"`
	// Snapshot is the folder with the winner's workspace at the time of the answer, "" if there
	// is none.
	Snapshot string `json:"snapshot"`
	// Citations are the sources of Answer that its author named, none for most answers.
	Citations []backends.Citation `json:"citations,omitempty"`
	Answers   []ResultAnswer      `json:"answers"`
	Votes     []ResultVote        `json:"votes"`
	VoidVotes []ResultVote        `json:"void_votes"`
	Agents    []ResultAgent       `json:"agents"`
	Failed    []FailedAgent       `json:"failed"`
	Activity
	Warnings []string `json:"warnings"`
	// ContextWarnings are the warnings at the turn's start, in the order of the agents, without
	// those before a resume; then those of its steps, in their order.
	ContextWarnings []AgentContextWarning `json:"context_warnings"`
	// Session has the sums of the session, nil if the store failed.
	Session *SessionUpdate `json:"session"`
	Rounds  int            `json:"rounds"`
	// Decision says how the turn was decided, nil for a turn without a strategy.
	*Decision
	// RepeatedCalls counts the calls of Usage that were under way when a process was lost. They
	// were made again, and the cost of the first try is unknown.
	RepeatedCalls int `json:"repeated_calls"`
	// Budget is the spending of the budget, nil without one.
	Budget     *BudgetReport `json:"budget"`
	Usage      budget.Usage  `json:"usage"`
	DurationMS int64         `json:"duration_ms"`
}

// ResultAnswer is an answer that stands at the end.
type ResultAnswer struct {
	Agent   string `json:"agent"`
	Label   string `json:"label"`
	Content string `json:"content"`
	// Snapshot is as in Result.
	Snapshot string `json:"snapshot"`
	// Citations is as in Result.
	Citations []backends.Citation `json:"citations,omitempty"`
}

// ResultVote is one vote: Label names its answer. Void is the reason why the vote does not
// count, empty if it does.
type ResultVote struct {
	Voter  string `json:"voter"`
	For    string `json:"for"`
	Label  string `json:"label"`
	Reason string `json:"reason"`
	Round  int    `json:"round"`
	Void   string `json:"void,omitempty"`
	// Others are the labels of the answers that the vote names after Label. Weight is its weight, 0 for
	// 1. Saw has the labels in the order in which the voter was shown the answers, nil for the
	// config's.
	Others []string `json:"others,omitempty"`
	Weight int      `json:"weight,omitempty"`
	Saw    []string `json:"saw,omitempty"`
}

// Reason returns in one line why a turn has no answer: its status, and why its agents failed.
func (r Result) Reason() string {
	line := "its status is " + r.Status
	for _, f := range r.Failed {
		line += "; " + f.Agent + ": " + f.Error
	}
	return plain.Line(line)
}

// ResultAgent is the outcome of an agent. Error is the reason for the state late, cancelled,
// max_turns or failed, and empty for the others.
type ResultAgent struct {
	ID string `json:"id"`
	// Model is the provider's type, if known, and the provider's name of the model, as in
	// "openai gpt-5".
	Model string       `json:"model"`
	State kernel.Act   `json:"state"`
	Error string       `json:"error"`
	Usage budget.Usage `json:"usage"`
}

// FailedAgent is an agent that gave no answer and no vote because its calls failed: it is out,
// or its call had not returned at the end, or it requested tools to its last call.
type FailedAgent struct {
	Agent string `json:"agent"`
	Error string `json:"error"`
}

// Unjournaled is the part of a result that is not in the journal.
type Unjournaled struct {
	Duration time.Duration
	// Repairs are those of agents.Doer. Unkept are sidecalls whose outcome could not be stored.
	Repairs []string
	Unkept  []turn.SidecallOutcome
}

// Usage returns the usage of all calls except those after the answer.
func (r *Report) Usage() budget.Usage {
	sum := r.machine.SidecallsUsage()
	for _, u := range r.machine.Usage() {
		sum = sum.Plus(u)
	}
	return Rounded(sum)
}

// Rounded returns a usage for people: no calls cost $0, and a sum has no binary remainders.
func Rounded(u budget.Usage) budget.Usage {
	cost := 0.0
	if u.Calls > 0 {
		if u.CostUSD == nil {
			return u
		}
		cost = math.Round(*u.CostUSD*1e12) / 1e12
	}
	u.CostUSD = &cost
	return u
}

// Result returns the turn's result without its Session. With an error it has the readable part.
func (r *Report) Result(u Unjournaled) (result Result, err error) {
	if !r.machine.Begun() {
		return Result{Format: resultFormat, SessionID: r.source.Session, Turn: r.source.Turn, Status: kernel.AllFailed}, nil
	}
	k := r.machine.Result()
	result = Result{
		Format: resultFormat, SessionID: r.source.Session, Turn: r.source.Turn, Question: r.textOf(r.machine.Turn().Question), Status: k.Status,
		Votes: r.votes(k, k.Votes), VoidVotes: r.votes(k, k.Void),
		Agents: make([]ResultAgent, 0, len(k.Agents)), Failed: []FailedAgent{}, Warnings: r.warningsOf(k, u),
		ContextWarnings: append([]AgentContextWarning{}, r.warnings...),
		Rounds:          k.Rounds, Usage: r.Usage(), RepeatedCalls: r.machine.Repeated(), Budget: budgetReport(r.machine.Ledger()),
		DurationMS: u.Duration.Milliseconds(),
	}
	if result.Status == "" { // the store failed before there was a result
		result.Status = kernel.AllFailed
	}
	usage := r.machine.Usage()
	for i, a := range k.Agents {
		agent := r.resultAgent(i, a, usage[i])
		if agent.Error != "" {
			result.Failed = append(result.Failed, FailedAgent{Agent: agent.ID, Error: agent.Error})
		}
		result.Agents = append(result.Agents, agent)
	}
	if result.Decision, err = r.decision(k); err != nil {
		return result, fmt.Errorf("read the analysis of turn %s/%d: %w", r.source.Session, r.source.Turn, err)
	}
	var activityErr error
	result.Activity, activityErr = r.activity()
	if err := cmp.Or(activityErr, r.readAnswers(k, &result)); err != nil {
		return result, fmt.Errorf("read the result of turn %s/%d: %w", r.source.Session, r.source.Turn, err)
	}
	return result, nil
}

// resultAgent returns the outcome of an agent. An agent whose call did not even return after
// its cancellation is lost, which is more than cancelled.
func (r *Report) resultAgent(i int, a kernel.AgentState, u budget.Usage) ResultAgent {
	agent := ResultAgent{ID: r.id(i), Model: r.model(i), State: a.State, Usage: Rounded(u)}
	switch a.State {
	case kernel.ActFailed, kernel.ActLate, kernel.ActCancelled, kernel.ActMaxTurns:
	default:
		return agent
	}
	agent.Error = a.Reason
	if slices.Contains(r.machine.Abandoned(), i) {
		lost := fmt.Sprintf("a call of it ignored its cancellation for %s and was abandoned", agents.AbandonAfter)
		agent.Error = strings.TrimPrefix(agent.Error+"; "+lost, "; ")
	}
	return agent
}

// model names an agent's model by the journal, with its provider.
func (r *Report) model(agent int) string {
	a := r.machine.Turn().Agent(agent)
	if _, provider := r.member(agent); provider != "" && provider != a.Model {
		return provider + " " + a.Model
	}
	return a.Model
}

// warningsOf returns the warnings of the coordination and of single calls.
func (r *Report) warningsOf(k kernel.Result, u Unjournaled) []string {
	list := append([]string{}, k.Warnings...)
	for _, agent := range r.machine.Abandoned() {
		list = append(list, fmt.Sprintf("a call of %s ignored its cancellation for %s and was abandoned", r.id(agent), agents.AbandonAfter))
	}
	list = append(list, unseen(r.machine.Notes())...)
	list = append(list, r.leftOutOfHistory()...)
	list = append(list, r.leftOutOfSteps()...)
	list = append(list, r.unkeptWork()...)
	list = append(list, u.Repairs...)
	var without []string
	for _, agent := range slices.Sorted(slices.Values(r.machine.WithoutTools())) {
		without = append(without, r.id(agent))
	}
	if len(without) > 0 {
		list = append(list, strings.Join(without, ", ")+
			" called no tools and had to be asked for JSON objects instead (tool_mode: json asks for them from the start)")
	}
	for _, agent := range r.machine.Truncated() {
		list = append(list, fmt.Sprintf("a message of %s was cut at its max_tokens: what it says may be incomplete", r.id(agent)))
	}
	for _, e := range r.machine.Endings() {
		list = append(list, finish.Warning("a message of "+r.id(e.Agent), e.Finish, e.Cut))
	}
	if n := r.machine.Repeated(); n > 0 {
		list = append(list, calls(n)+" had begun when the turn was cut off: made again, and perhaps paid for twice")
	}
	if over := budgetReport(r.machine.Ledger()).overshoot(); over != "" {
		list = append(list, over)
	}
	for _, f := range r.machine.Fallbacks() {
		list = append(list, fallbackWarning(calls(f.Calls), r.id(f.Agent), f.Fallback))
	}
	for _, o := range append(r.machine.SidecallOutcomes(), u.Unkept...) {
		if o.Fallback != nil {
			list = append(list, fallbackWarning(calls(1), "the "+string(o.Purpose), *o.Fallback))
		}
		if o.Truncated {
			list = append(list, fmt.Sprintf("the reply for the %s was cut at its max_tokens: what it says may be incomplete", o.Purpose))
		} else if o.Finish != "" {
			list = append(list, finish.Warning(fmt.Sprintf("the reply for the %s", o.Purpose), o.Finish, true))
		}
		if o.Failure != "" && k.Status != kernel.Cut { // who interrupts knows why
			list = append(list, fmt.Sprintf("the call for the %s came to nothing: %s", o.Purpose, o.Failure))
		}
	}
	return list
}

func fallbackWarning(calls, of string, f effect.Fallback) string {
	return fmt.Sprintf("%s of %s went to %s, because %s could not be used: %s", calls, of, f.To, f.From, f.Reason)
}

func calls(n int) string {
	if n == 1 {
		return "a call"
	}
	return fmt.Sprintf("%d calls", n)
}

func (r *Report) votes(k kernel.Result, votes []kernel.Vote) []ResultVote {
	list, weights := make([]ResultVote, 0, len(votes)), r.machine.Rules().Weights
	for _, v := range votes {
		vote := ResultVote{
			Voter: r.id(v.Voter), For: r.id(v.For), Label: v.Label, Reason: v.Reason, Round: v.Round, Void: v.Void, Saw: v.Saw,
		}
		for _, agent := range v.Others {
			vote.Others = append(vote.Others, r.labelIn(k, agent, v.Set))
		}
		if weights != nil {
			vote.Weight = weights[v.Voter]
		}
		list = append(list, vote)
	}
	return list
}

// labelIn returns the label of an agent's newest answer among the first so many.
func (r *Report) labelIn(k kernel.Result, agent, set int) string {
	for _, a := range slices.Backward(k.All[:set]) {
		if a.Agent == agent {
			return r.machine.Label(a)
		}
	}
	return ""
}

// answers returns the readable answers that stand.
func (r *Report) answers(k kernel.Result) ([]ResultAnswer, error) {
	list := make([]ResultAnswer, 0, len(k.Answers))
	for _, a := range k.Answers {
		content, err := r.texts(a.Text)
		if err != nil {
			return list, err
		}
		work, err := agents.ReadSnapshot(r.texts, a.Work)
		if err != nil {
			return list, err
		}
		sources, err := r.citations(a.Text)
		if err != nil {
			return list, err
		}
		list = append(list, ResultAnswer{Agent: r.id(a.Agent), Label: r.machine.Label(a), Content: string(content), Snapshot: work.Dir, Citations: sources})
	}
	return list, nil
}

func (r *Report) readAnswers(k kernel.Result, result *Result) (err error) {
	if result.Answers, err = r.answers(k); err != nil {
		return err
	}
	work, err := agents.ReadSnapshot(r.texts, k.Work)
	if err != nil {
		return err
	}
	result.Snapshot = work.Dir
	if result.Citations, err = r.citations(k.Text); err != nil {
		return err
	}
	result.Winner, result.Answer, err = r.answer(k)
	return err
}

// Answer returns the winner's id and answer, both empty if there is no winner.
func (r *Report) Answer() (winner, answer string, err error) { return r.answer(r.machine.Result()) }

func (r *Report) answer(k kernel.Result) (winner, answer string, err error) {
	if k.Winner == nil {
		return "", "", nil
	}
	text, err := r.texts(k.Text)
	return r.id(k.Winner.Agent), string(text), err
}
