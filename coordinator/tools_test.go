package coordinator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
)

// deafTool does not hear that it is cancelled.
type deafTool struct{ release chan struct{} }

func (deafTool) Definition() backends.Tool {
	return backends.Tool{Name: "dig", Description: "Digs.", Schema: []byte(`{"type":"object"}`)}
}

func (d deafTool) Call(context.Context, string) (string, error) {
	<-d.release
	return "a hole", nil
}

func TestToolThatIgnoresItsCancelIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dig := deafTool{make(chan struct{})}
		p, _ := panelOf(t, 3, `
rules:
  - {when: {agent: agent3}, reply: {tool_calls: [{id: a, name: dig, arguments: {}}, {id: b, name: dig, arguments: {}}]}}
  - {when: {}, reply: {delay: 1s, new_answer: "{{.Agent}}"}}
`, nil, func(o *Options) { o.Agents[2].Tools = []agents.Tool{dig} })
		turn := start(t, p, "energy")
		time.Sleep(1500 * time.Millisecond)
		turn.Cancel()
		r := wait(t, turn)
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "agent3") || !strings.Contains(r.Warnings[0], "abandoned") {
			t.Errorf("warnings %q do not name the abandoned tool once", r.Warnings)
		}
		close(dig.release)
		synctest.Wait()
	})
}
