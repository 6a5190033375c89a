package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/prices"
)

// SessionUpdate has the sums of a session after a turn (seed 000).
type SessionUpdate struct {
	SessionID string `json:"session_id"`
	// MessageCount counts all messages of the conversation, UsageTotal the calls of all
	// turns.
	MessageCount int          `json:"message_count"`
	UsageTotal   budget.Usage `json:"usage_total"`
}

// ContextWarning reports that a conversation comes near the end of its model's context, or has
// reached it (seed 000).
type ContextWarning struct {
	SessionID    string `json:"session_id"`
	MessageCount int    `json:"message_count"`
	// EstimatedTokens counts the agent's next input, with the history.
	EstimatedTokens int            `json:"estimated_tokens"`
	Warning         policy.Warning `json:"warning"`
	// Estimated reports whether the tokens were estimated without the model's tokenizer. Window is
	// the number of tokens that the model can read, 0 if unknown.
	Estimated bool `json:"estimated,omitempty"`
	Window    int  `json:"context_window,omitempty"`
	// Limit is the number of tokens of the largest input that is sent whole, 0 if unknown: the
	// rest of the window is for output. Shares in warn_at are shares of Limit.
	Limit int `json:"input_limit,omitempty"`
	// Round is the round of a step that has come so far. MessageCount then counts the messages
	// of the step, and EstimatedTokens its next input. It is 0 for a turn that begins.
	Round int `json:"round,omitempty"`
	// LeftOut reports whether this input omits earlier messages of the step.
	LeftOut bool `json:"left_out,omitempty"`
}

// AgentContextWarning is a warning about the context of an agent's model.
type AgentContextWarning struct {
	Agent string `json:"agent"`
	ContextWarning
}

// summarizes reports whether a turn begins with a call for a summary.
func summarizes(t *effect.Turn) bool {
	return slices.ContainsFunc(t.Sidecalls, func(a effect.Sidecall) bool { return a.Purpose == effect.Summarizing })
}

// contextWarned adds the events of the context warnings.
func (r *Report) contextWarned(told []Event) []Event {
	for _, w := range r.warnings {
		told = append(told, ContextWarned{Actor: Actor{Agent: w.Agent}, Context: w.ContextWarning})
	}
	return told
}

// warnOfStep records what a call omits of its step, and adds a warning when the call comes
// nearer to the limit of its model than any before it.
func (r *Report) warnOfStep(told []Event, call effect.ModelCall) []Event {
	agent := call.Key.Agent
	limits := r.machine.Turn().Agent(agent).Step
	if limits == nil || len(call.Transcript) == 0 {
		return told
	}
	left := call.LeftOut(limits)
	if left.Entries > 0 {
		if s := r.longStep(agent); left.Entries > s.left.Entries {
			s.left = left
		}
	}
	warning := r.stepWarning(call, *limits, left)
	isKnown := func(w AgentContextWarning) bool { return w.Agent == warning.Agent && severity(w) >= severity(warning) }
	if severity(warning) == 0 || slices.ContainsFunc(r.warnings, isKnown) {
		return told
	}
	r.warnings = append(r.warnings, warning)
	return append(told, ContextWarned{Actor: Actor{Agent: warning.Agent, Round: warning.Round}, Context: warning.ContextWarning})
}

// severity orders the warnings. A turn has each once, and none after a graver one.
func severity(w AgentContextWarning) int {
	switch {
	case w.Warning == policy.AtLimit && w.LeftOut:
		return 3
	case w.Warning == policy.AtLimit:
		return 2
	case w.Warning == policy.ApproachingLimit:
		return 1
	}
	return 0
}

// stepWarning returns the warning about a call's size for its model.
func (r *Report) stepWarning(call effect.ModelCall, limits policy.StepLimits, left effect.LeftOut) AgentContextWarning {
	sent := limits.FirstTokens + left.Bytes/prices.BytesPerToken
	most := limits.Limit(prices.BytesPerToken)
	warnAt, _ := r.member(call.Key.Agent)
	return AgentContextWarning{r.id(call.Key.Agent), ContextWarning{
		SessionID: r.source.Session, MessageCount: left.AllMessages, EstimatedTokens: sent, Estimated: true, Window: limits.Window, Limit: most,
		Round: call.Key.Round, LeftOut: left.Entries > 0,
		Warning: warnAt.Warning(policy.Use{Tokens: sent, Limit: most, NoRoom: left.NoRoom}),
	}}
}

// longStep records the entries that an agent's calls omitted.
type longStep struct {
	// left is of the call that omitted most.
	left effect.LeftOut
	// made and failed count the calls for summaries of the omitted messages.
	made, failed int
	why          string // of the last that failed
}

// longStep returns the longStep of an agent, and creates it if needed.
func (r *Report) longStep(agent int) *longStep {
	if r.longSteps == nil {
		r.longSteps = map[int]*longStep{}
	}
	if r.longSteps[agent] == nil {
		r.longSteps[agent] = &longStep{}
	}
	return r.longSteps[agent]
}

// stepSummarized records the outcome of a call for the summary of a step.
func (r *Report) stepSummarized(ev turn.ModelDone) Event {
	actor, usage := r.actorOf(ev.Key), turn.UsageOf(ev.Reply)
	s := r.longStep(ev.Key.Agent)
	if err := ev.Reply.SummaryFailure(); err != nil {
		s.failed, s.why = s.failed+1, err.Error()
		return SidecallFailed{Actor: actor, Purpose: effect.StepSummarizing, Why: s.why, Usage: usage}
	}
	s.made++
	return SidecallEnded{Actor: actor, Purpose: effect.StepSummarizing, Usage: usage}
}

// leftOutOfSteps names the agents whose steps were not sent in full, and the summaries of the
// rest that failed.
func (r *Report) leftOutOfSteps() []string {
	var lines []string
	for i, a := range r.machine.Turn().Agents {
		s := r.longSteps[i]
		if s == nil || s.left.Entries == 0 {
			continue
		}
		why := ""
		if s.left.NoRoom {
			why = ", which would not fit"
		}
		if s.made > 0 {
			why += ", and summarized"
		}
		lines = append(lines, fmt.Sprintf("in a long step of %s %s left out%s; policy %s",
			r.id(i), contextbuild.CountLeftOut(s.left.Messages, s.left.Results), why, a.Step.Kind))
		if s.failed > 0 {
			lines = append(lines, fmt.Sprintf("%s for a summary of it came to nothing: %s", calls(s.failed), s.why))
		}
	}
	return lines
}

// leftOutOfHistory names the agents that did not get the whole history, in a line for each
// selection.
func (r *Report) leftOutOfHistory() []string {
	var shown []string
	names := map[string][]string{}
	for i, a := range r.machine.Turn().Agents {
		if a.Shown == nil || !a.Shown.LeftOut {
			continue
		}
		text := a.Shown.String()
		if !slices.Contains(shown, text) {
			shown = append(shown, text)
		}
		names[text] = append(names[text], r.id(i))
	}
	for i, text := range shown {
		shown[i] = fmt.Sprintf("not all of the conversation was shown to %s; policy %s", strings.Join(names[text], ", "), text)
	}
	return shown
}
