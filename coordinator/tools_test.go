package coordinator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
)

// deafTool ignores its cancellation.
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

// user is the value of a turn, or of a panel, for its tools.
type user struct{ name string }

// again is a tool that may be called twice.
type again struct{ agents.Tool }

func (again) Idempotent() bool { return true }

// TestToolsFindTheValuesOfPanelAndTurn: a resumed turn does not have the value of Start's context.
func TestToolsFindTheValuesOfPanelAndTurn(t *testing.T) {
	t.Parallel()
	greet, err := agents.NewTool("greet", "Greets.", func(ctx context.Context, _ struct{}) (string, error) {
		language, _ := agents.PanelValue[string](ctx)
		who, ok := agents.TurnValue[user](ctx)
		info := agents.CallInfoOf(ctx)
		return fmt.Sprintf("%s %s %t, %s/%d %s", language, who.name, ok, info.Session, info.Turn, info.Agent), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const script = `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{name: greet, arguments: {}}]}}
  - {when: {}, reply: {text: "done"}}
`
	greeting := func(o *Options) {
		o.Agents = o.Agents[:1]
		o.PanelValue, o.Agents[0].Tools = "hello", []agents.Tool{again{greet}}
	}
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 1, script, nil, greeting)
		for turn, ctx := range []context.Context{agents.WithTurnValue(t.Context(), user{"ada"}), t.Context()} {
			started, err := p.Start(ctx, "s", "energy")
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"hello ada true, s/1 agent1", "hello  false, s/2 agent1"}[turn]
			if r := wait(t, started); len(r.ToolCalls) != 1 || r.ToolCalls[0].Result != want {
				t.Errorf("%+v, want %s", r.ToolCalls, want)
			}
		}
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := resumeAfter(t, script, greeting, journal[:2], store)
		if len(got.ToolCalls) != 1 || got.ToolCalls[0].Result != "hello  false, s/1 agent1" {
			t.Errorf("resumed without a value: %+v", got.ToolCalls)
		}
	})
}
