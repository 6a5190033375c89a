package server

import (
	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
)

// replyTo tells the view the results that came with its request. An earlier response ended with the calls of these
// results. It told the usage before them, also if its process was lost.
func (v *view) replyTo(at place, messages []message) {
	for _, m := range messages {
		if of, isOwn := turnOfCall(m.answers); isOwn && of == at {
			if v.answered == nil {
				v.at, v.answered, v.stepCalls = at, map[string]bool{}, map[string]int{}
			}
			v.answered[m.answers] = true
		}
	}
}

// tellBefore counts the usage before an answered call as told.
func (v *view) tellBefore(ev massgen.Event) {
	switch ev := ev.(type) {
	case report.StepStarted:
		v.stepCalls[ev.Agent] = 0
	case report.ToolStarted:
		id := callID(agents.CallInfo{Session: v.at.session, Turn: v.at.turn, Agent: ev.Agent, Round: ev.Round, Final: true, Call: v.stepCalls[ev.Agent]})
		v.stepCalls[ev.Agent]++
		if v.answered[id] {
			v.told = v.used
		}
	}
}
