package turn_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// toolsChanged reads the command "tools".
func (s *script) toolsChanged() turn.Event {
	ev := turn.ToolsChanged{At: s.at, Agent: slices.Index(s.ids, s.d.CmdArgs[0].Key)}
	if len(s.d.CmdArgs) > 1 && s.d.CmdArgs[1].Key != "at" {
		ev.Tools = ref(s.d.CmdArgs[1].Key)
	}
	return ev
}

// describeTools names the tools of a call that are not those of the accepted turn.
func describeTools(e effect.Effect) string {
	call, ok := e.(effect.ModelCall)
	if !ok || call.Tools == nil {
		return ""
	}
	return fmt.Sprintf(" tools=%q", call.Tools.SHA256)
}

// changeTools draws other tools for an agent, or none.
func (p *play) changeTools() turn.Event {
	ev := turn.ToolsChanged{At: p.now, Agent: rapid.IntRange(0, len(p.m.Turn().Agents)-1).Draw(p.t, "whose")}
	ev.Tools = rapid.SampledFrom([]blob.Ref{ref("first"), ref("second"), {}}).Draw(p.t, "tools")
	p.list[ev.Agent] = ev.Tools
	return ev
}

// checkTools: a model call is sent the tools that its agent has when it is asked for.
func (p *play) checkTools(e effect.Effect) {
	call, ok := e.(effect.ModelCall)
	if !ok || call.Sidecall != nil {
		return
	}
	want, changed := p.list[call.Key.Agent]
	if !changed {
		want = ref("first")
	}
	if got := p.m.Turn().ToolsOf(call); got != want || changed != (call.Tools != nil) {
		p.t.Fatalf("%s has the tools %v, want %v", call.Key, got, want)
	}
	if got := p.m.Tools(call.Key.Agent); got != want {
		p.t.Fatalf("agent %d has the tools %v, want %v", call.Key.Agent, got, want)
	}
}
