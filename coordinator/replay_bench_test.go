package coordinator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// BenchmarkReplay replays a turn of 16 agents that call tools in each of their steps,
// after a turn before it. A journal of 1,000 events is to take less than 50 ms.
func BenchmarkReplay(b *testing.B) {
	var script strings.Builder
	script.WriteString("rules:\n")
	for i := range 8 {
		fmt.Fprintf(&script, "  - {when: {purpose: coordination, index: %d}, reply: {tool_calls: [{id: a, name: gauge, arguments: {of: %d}}, {id: b, name: gauge, arguments: {}}]}}\n", i, i)
	}
	script.WriteString("  - {when: {round: 1}, reply: {new_answer: \"" + strings.Repeat("{{.Agent}} on {{.Question}}. ", 20) + "\"}}\n")
	script.WriteString("  - {when: {}, reply: {vote: {agent: agent1, reason: good}}}\n")
	parsed, err := debugbackend.ParseScript([]byte(script.String()))
	if err != nil {
		b.Fatal(err)
	}
	store := sessions.NewMemory()
	opts := Options{Store: store, Rules: kernel.Defaults()}
	for i := range 16 {
		opts.Agents = append(opts.Agents, Agent{ID: fmt.Sprintf("agent%d", i+1), Backend: debugbackend.NewScripted(parsed), Tools: []agents.Tool{gauge{}}})
	}
	p, err := New(opts)
	if err != nil {
		b.Fatal(err)
	}
	for range 2 {
		turn, err := p.Start(b.Context(), "s", "energy")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := turn.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	turns, err := store.Turns(b.Context(), "s", 0)
	if err != nil {
		b.Fatal(err)
	}
	events := 0
	for b.Loop() {
		r, err := Replay(b.Context(), store, "s", turns[1])
		if err != nil {
			b.Fatal(err)
		}
		events = r.Events
	}
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)*1000/float64(events), "ms/1000-events")
}
