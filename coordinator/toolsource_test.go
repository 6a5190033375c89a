package coordinator

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
)

// sayer is a tool that says its name.
type sayer string

func (n sayer) Definition() backends.Tool {
	return backends.Tool{Name: string(n), Schema: []byte(`{"type":"object"}`)}
}

func (n sayer) Call(context.Context, string) (string, error) { return "I am " + string(n), nil }

// TestToolsOfATurn: each turn has the tools that there are when it begins, also those of
// which it is told while another agent is at work, and keeps them.
func TestToolsOfATurn(t *testing.T) {
	script := `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{name: one, arguments: {}}, {name: two, arguments: {}}]}}
  - {when: {}, reply: {text: "done"}}
`
	synctest.Test(t, func(t *testing.T) {
		tools := []agents.Tool{sayer("one")}
		var failure error
		p, _ := panelOf(t, 1, script, nil, func(o *Options) {
			o.Agents[0].Tools = []agents.Tool{sayer("of nobody")}
			o.Tools = func(context.Context) ([][]agents.Tool, error) { return [][]agents.Tool{tools}, failure }
		})
		first := start(t, p, "energy")
		tools[0] = sayer("two") // the turn keeps its own
		results := func(r report.Result) (list []string) {
			for _, c := range r.ToolCalls {
				list = append(list, string(c.State)+" "+c.Name+": "+c.Result)
			}
			return list
		}
		if diff := cmp.Diff([]string{"refused two: Error: there is no such tool on offer", "ran one: I am one"}, results(wait(t, first))); diff != "" {
			t.Errorf("the first turn (-want +got):\n%s", diff)
		}
		second := start(t, p, "energy")
		if diff := cmp.Diff([]string{"refused one: Error: there is no such tool on offer", "ran two: I am two"}, results(wait(t, second))); diff != "" {
			t.Errorf("the second turn (-want +got):\n%s", diff)
		}
		if sent := eventsOf[report.CallStarted](t, second)[0].Tools; len(sent) != 1 || sent[0] != "two" {
			t.Errorf("the second turn was sent %q", sent)
		}
		for want, list := range map[string][]agents.Tool{
			`second tool named "vote"`: {sayer("vote")},
			`second tool named "two"`:  {sayer("two"), sayer("two")},
		} {
			tools = list
			if _, err := p.Start(t.Context(), "s", "energy"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a turn with such tools: %v", err)
			}
		}
		failure = errors.New("no list")
		if _, err := p.Start(t.Context(), "s", "energy"); !errors.Is(err, failure) {
			t.Errorf("a turn without a list of tools: %v", err)
		}
	})
}

// boring tells its progress every tenth of a second, and once more when it is over.
type boring struct{ after func(func(agents.Progress)) }

func (boring) Definition() backends.Tool {
	return backends.Tool{Name: "bore", Schema: []byte(`{"type":"object"}`)}
}

func (b boring) Call(ctx context.Context, _ string) (string, error) {
	tell := agents.ProgressOf(ctx)
	for i := range 25 {
		tell(agents.Progress{Fraction: float64(i) / 20, Text: "deeper\x1b[2J"})
		time.Sleep(100 * time.Millisecond)
	}
	b.after(tell)
	return "a hole", nil
}

// TestProgressIsTold at once and then once in a second, and not after the end.
func TestProgressIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(tell func(agents.Progress)) {
			time.AfterFunc(2*time.Second, func() { tell(agents.Progress{Fraction: math.NaN()}) })
		}
		p, _ := panelOf(t, 1, `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{name: bore, arguments: {}}]}}
  - {when: {}, reply: {delay: 5s, text: "done"}}
`, nil, func(o *Options) { o.Agents[0].Tools = []agents.Tool{boring{after}} })
		turn := start(t, p, "energy")
		wait(t, turn)
		var got []float64
		for _, ev := range eventsOf[report.ToolProgress](t, turn) {
			got = append(got, ev.Fraction)
			if ev.Agent != "agent1" || ev.Round != 1 || ev.Tool != "bore" || ev.Text != "deeper\uFFFD[2J" {
				t.Errorf("it is told as %+v, %+v", ev, ev.Tool)
			}
		}
		if diff := cmp.Diff([]float64{0, 0.5, 1}, got); diff != "" {
			t.Errorf("the progress (-want +got):\n%s", diff)
		}
	})
}
