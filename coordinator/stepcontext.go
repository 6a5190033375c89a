package coordinator

import (
	"fmt"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends/tokens"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/contextbuild/policy"
)

// noteStep notes what a call is not sent of its step, and tells when that brings the
// agent nearer to the end of its context. It is called for each call, in a turn that is
// resumed for those before that too.
func (e *engine) noteStep(effect machine.Effect) {
	call, ok := effect.(machine.ModelCall)
	if !ok || call.Aside != nil {
		return
	}
	agent := call.Key.Agent
	limits := e.machine.Turn().Agents[agent].Step
	if limits == nil || len(call.Transcript) == 0 {
		return
	}
	left := call.LeftOut(limits)
	if left.Entries > e.leftOutMost[agent].Entries {
		e.leftOutMost[agent] = left
	}
	warning := e.stepWarning(call, *limits, left)
	for _, told := range e.turn.contextWarnings {
		if told.Agent == warning.Agent && severity(told) >= severity(warning) {
			return
		}
	}
	if severity(warning) > 0 {
		e.turn.contextWarnings = append(e.turn.contextWarnings, warning)
		e.turn.events.add(Event{Kind: ContextWarned, Agent: warning.Agent, Round: warning.Round, Context: &warning.ContextWarning})
	}
}

// severity orders the warnings: each is told once in a turn, and none after a graver one.
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

// stepWarning says how near a call is to what its model can read.
func (e *engine) stepWarning(call machine.ModelCall, limits policy.StepLimits, left machine.LeftOut) AgentContextWarning {
	a := e.panel.opts.Agents[call.Key.Agent]
	sent := limits.FirstTokens + left.Bytes/tokens.BytesPerToken
	return AgentContextWarning{a.ID, ContextWarning{
		SessionID: e.turn.session, MessageCount: left.AllMessages, EstimatedTokens: sent, Estimated: true, Window: limits.Window,
		Round: call.Key.Round, LeftOut: left.Entries > 0,
		Warning: a.Context.Policy.WarnAt.Warning(policy.Use{Tokens: sent, Window: limits.Window, NoRoom: left.NoRoom}),
	}}
}

// leftOutOfSteps says of which agents' steps not everything was sent.
func (e *engine) leftOutOfSteps() []string {
	var lines []string
	for i, a := range e.machine.Turn().Agents {
		left := e.leftOutMost[i]
		if left.Entries == 0 {
			continue
		}
		why := ""
		if left.NoRoom {
			why = ", which would not fit"
		}
		lines = append(lines, fmt.Sprintf("in a long step of %s %s left out%s; policy %s",
			e.id(i), contextbuild.CountLeftOut(left.Messages, left.Results), why, a.Step.Kind))
	}
	return lines
}
