package coordinator

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// ResultFormat is the version of Result's JSON.
const ResultFormat = 1

// Result is how a turn ended, in the form that --json prints (DESIGN §8). Agents
// are named by their config ids.
type Result struct {
	Format    int           `json:"format"`
	SessionID string        `json:"session_id"`
	Turn      int           `json:"turn"`
	Status    kernel.Status `json:"status"`
	// Winner is the agent whose answer won, "" when there is none.
	Winner string `json:"winner"`
	Answer string `json:"answer"`
	// Snapshot is the folder in which the winner's workspace is kept as it was when the
	// answer was given, "" if there is none.
	Snapshot  string         `json:"snapshot"`
	Answers   []ResultAnswer `json:"answers"`
	Votes     []ResultVote   `json:"votes"`
	VoidVotes []ResultVote   `json:"void_votes"`
	Agents    []ResultAgent  `json:"agents"`
	Failed    []FailedAgent  `json:"failed"`
	// ToolCalls are those of the agents' own tools, in the order in which they began or
	// were refused.
	ToolCalls []ResultToolCall `json:"tool_calls"`
	// Partials are what had come of messages whose calls were cancelled, cut or timed
	// out, in the order in which the calls ended. None of them is an answer.
	Partials []PartialText `json:"partials"`
	// Notes are what a person has added to the question, in the order in which they came.
	Notes    []ResultNote `json:"notes"`
	Warnings []string     `json:"warnings"`
	// ContextWarnings are those that the turn began with, in the order of the agents,
	// none that were told before the turn was resumed; then those of its steps, in the
	// order in which they came.
	ContextWarnings []AgentContextWarning `json:"context_warnings"`
	// Session is what the session has come to, nil if the store failed.
	Session *SessionUpdate `json:"session"`
	Rounds  int            `json:"rounds"`
	// RepeatedCalls are those of Usage that were under way when a process was lost: they were
	// made again, and nobody knows what they cost.
	RepeatedCalls int `json:"repeated_calls"`
	// Budget is what was spent of it, nil without one.
	Budget     *BudgetReport `json:"budget"`
	Usage      turn.Usage    `json:"usage"`
	DurationMS int64         `json:"duration_ms"`
}

// ResultAnswer is an answer that stands at the end.
type ResultAnswer struct {
	Agent   string `json:"agent"`
	Label   string `json:"label"`
	Content string `json:"content"`
	// Snapshot is as in Result.
	Snapshot string `json:"snapshot"`
}

// ResultVote is one vote: Label names the answer that it was for. Void is there
// when the vote does not count, and says why.
type ResultVote struct {
	Voter  string `json:"voter"`
	For    string `json:"for"`
	Label  string `json:"label"`
	Reason string `json:"reason"`
	Round  int    `json:"round"`
	Void   string `json:"void,omitempty"`
}

// ResultAgent is what an agent came to: voted, answered, abstained, late,
// cancelled or failed. Error is why the others had to do without it.
type ResultAgent struct {
	ID    string     `json:"id"`
	State kernel.Act `json:"state"`
	Error string     `json:"error"`
	Usage turn.Usage `json:"usage"`
}

// AgentContextWarning is a warning about the context of an agent's model.
type AgentContextWarning struct {
	Agent string `json:"agent"`
	ContextWarning
}

// FailedAgent is an agent that gave no answer and no vote because its calls did
// not: it is out, or its call had not come back at the end.
type FailedAgent struct {
	Agent string `json:"agent"`
	Error string `json:"error"`
}

func (e *engine) usage() turn.Usage {
	return told(usageOfAnswer(e.machine))
}

// usageOfAnswer is that of all calls but those that followed the answer.
func usageOfAnswer(m *turn.Machine) turn.Usage {
	sum := m.AsidesUsage()
	for _, u := range m.Usage() {
		sum = sum.Plus(u)
	}
	return sum
}

// told is a usage for people: what no call was made for costs nothing, and a sum
// shows no rest of binary fractions.
func told(u turn.Usage) turn.Usage {
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

// result reads the machine's result with the texts that it refers to.
func (e *engine) result() (Result, error) {
	k := e.machine.Result()
	r := Result{
		Format: ResultFormat, SessionID: e.turn.session, Turn: e.turn.number, Status: k.Status,
		Answers: []ResultAnswer{}, Votes: e.votes(k.Votes), VoidVotes: e.votes(k.Void),
		Agents: []ResultAgent{}, Failed: []FailedAgent{}, Warnings: e.warnings(k),
		ContextWarnings: append([]AgentContextWarning{}, e.turn.contextWarnings...),
		Rounds:          k.Rounds, Usage: e.usage(), RepeatedCalls: e.machine.Repeated(), Budget: budgetReport(e.machine.Ledger()),
		DurationMS: (e.turn.ended.Sub(e.turn.started) - e.paused).Milliseconds(),
	}
	if r.Status == "" { // the store failed before there was a result
		r.Status = kernel.AllFailed
	}
	for i, a := range k.Agents {
		agent := e.resultAgent(i, a)
		if agent.Error != "" {
			r.Failed = append(r.Failed, FailedAgent{Agent: agent.ID, Error: agent.Error})
		}
		r.Agents = append(r.Agents, agent)
	}
	var err error
	if r.ToolCalls, err = e.toolCalls(); err != nil {
		return r, err
	}
	if r.Partials, err = e.partials(); err != nil {
		return r, err
	}
	if r.Notes, err = e.notes(); err != nil {
		return r, err
	}
	return r, e.resultTexts(k, &r)
}

// resultAgent says what became of an agent. One whose call was cancelled, and did not even
// come back for that, is lost, which is more than cancelled.
func (e *engine) resultAgent(i int, a kernel.AgentState) ResultAgent {
	agent := ResultAgent{ID: e.id(i), State: a.State, Usage: told(e.machine.Usage()[i])}
	if a.State != kernel.ActFailed && a.State != kernel.ActLate && a.State != kernel.ActCancelled {
		return agent
	}
	agent.Error = a.Reason
	if slices.Contains(e.machine.Abandoned(), i) {
		lost := fmt.Sprintf("a call of it ignored its cancellation for %s and was abandoned", agents.AbandonAfter)
		agent.Error = strings.TrimPrefix(agent.Error+"; "+lost, "; ")
	}
	return agent
}

// warnings are those of the coordination and what is to be known of single calls.
func (e *engine) warnings(k kernel.Result) []string {
	list := append([]string{}, k.Warnings...)
	for _, agent := range e.machine.Abandoned() {
		list = append(list, fmt.Sprintf("a call of %s ignored its cancellation for %s and was abandoned", e.id(agent), agents.AbandonAfter))
	}
	list = append(list, unseen(e.machine.Notes())...)
	list = append(list, e.leftOut()...)
	list = append(list, e.leftOutOfSteps()...)
	list = append(list, e.unkeptWork()...)
	list = append(list, e.doer.Repairs()...)
	var without []string
	for _, agent := range slices.Sorted(slices.Values(e.machine.WithoutTools())) {
		without = append(without, e.id(agent))
	}
	if len(without) > 0 {
		list = append(list, strings.Join(without, ", ")+
			" called no tools and had to be asked for JSON objects instead (tool_mode: json asks for them from the start)")
	}
	for _, agent := range e.machine.Truncated() {
		list = append(list, fmt.Sprintf("a message of %s was cut at its max_tokens: what it says may be incomplete", e.id(agent)))
	}
	if n := e.machine.Repeated(); n > 0 {
		list = append(list, repeatedWarning(n))
	}
	if over := budgetReport(e.machine.Ledger()).overshoot(); over != "" {
		list = append(list, over)
	}
	for _, f := range e.machine.Fallbacks() {
		list = append(list, fallbackWarning(calls(f.Calls), e.id(f.Agent), f.Fallback))
	}
	for _, o := range append(e.machine.AsideOutcomes(), e.unkept...) {
		if o.Fallback != nil {
			list = append(list, fallbackWarning(calls(1), "the "+string(o.Purpose), *o.Fallback))
		}
		if o.Truncated {
			list = append(list, fmt.Sprintf("the reply for the %s was cut at its max_tokens: what it says may be incomplete", o.Purpose))
		}
		if o.Failure != "" && k.Status != kernel.Cut { // who interrupts knows why
			list = append(list, fmt.Sprintf("the call for the %s came to nothing: %s", o.Purpose, o.Failure))
		}
	}
	return list
}

func fallbackWarning(calls, of string, f machine.Fallback) string {
	return fmt.Sprintf("%s of %s went to %s, because %s could not be used: %s", calls, of, f.To, f.From, f.Reason)
}

func repeatedWarning(n int) string {
	return calls(n) + " had begun when the turn was cut off: made again, and perhaps paid for twice"
}

func calls(n int) string {
	if n == 1 {
		return "a call"
	}
	return fmt.Sprintf("%d calls", n)
}

func (e *engine) votes(votes []kernel.Vote) []ResultVote {
	list := []ResultVote{}
	for _, v := range votes {
		list = append(list, ResultVote{
			Voter: e.id(v.Voter), For: e.id(v.For), Label: v.Label, Reason: v.Reason, Round: v.Round, Void: v.Void,
		})
	}
	return list
}

func (e *engine) resultTexts(k kernel.Result, r *Result) error {
	text := func(ref kernel.Ref) (string, error) {
		data, err := e.panel.opts.Store.Get(e.base, ref)
		if err != nil {
			return "", fmt.Errorf("read the result of turn %s: %w", e.turn.ID(), err)
		}
		return string(data), nil
	}
	for _, a := range k.Answers {
		content, err := text(a.Text)
		if err != nil {
			return err
		}
		work, err := e.snapshot(a.Work)
		if err != nil {
			return err
		}
		r.Answers = append(r.Answers, ResultAnswer{Agent: e.id(a.Agent), Label: e.machine.Label(a), Content: content, Snapshot: work.Dir})
	}
	if k.Winner == nil {
		return nil
	}
	r.Winner = e.id(k.Winner.Agent)
	work, err := e.snapshot(k.Work)
	if err != nil {
		return err
	}
	r.Snapshot = work.Dir
	r.Answer, err = text(k.Text)
	return err
}
