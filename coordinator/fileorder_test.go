package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// diary is a tool that works on files, and notes when its calls begin and end. A call takes as many seconds as
// its argument says.
type diary struct {
	name    string
	changes bool
	mu      *sync.Mutex
	lines   *[]string
}

func (d diary) Definition() backends.Tool {
	return backends.Tool{Name: d.name, Schema: json.RawMessage(`{"type":"object"}`)}
}

func (d diary) OnFiles() (touches, changes bool) { return true, d.changes }

func (d diary) Call(ctx context.Context, arguments string) (string, error) {
	var args struct {
		Seconds int `json:"seconds"`
	}
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return "", err
	}
	d.note("begins", args.Seconds)
	select {
	case <-time.After(time.Duration(args.Seconds) * time.Second):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	d.note("ends", args.Seconds)
	return "done", nil
}

func (d diary) note(what string, seconds int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*d.lines = append(*d.lines, fmt.Sprint(d.name, " ", seconds, " ", what))
}

// TestFilesAreChangedInTheMessagesOrder: a change waits for all earlier calls on files, and readings run at
// once between two changes.
func TestFilesAreChangedInTheMessagesOrder(t *testing.T) {
	const script = `
rules:
  - when: {index: 0}
    reply:
      tool_calls:
        - {id: a, name: read, arguments: {seconds: 5}}
        - {id: b, name: read, arguments: {seconds: 4}}
        - {id: c, name: write, arguments: {seconds: 3}}
        - {id: d, name: write, arguments: {seconds: 2}}
        - {id: e, name: read, arguments: {seconds: 1}}
  - {when: {}, reply: {text: "all is done"}}
`
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		p, _ := panelOf(t, 1, script, nil, func(o *Options) {
			o.Agents[0].Tools = []agents.Tool{diary{"read", false, &mu, &lines}, diary{"write", true, &mu, &lines}}
		})
		wait(t, start(t, p, "energy"))
		slices.Sort(lines[:2]) // both begin in the same moment
		want := []string{
			"read 4 begins", "read 5 begins", "read 4 ends", "read 5 ends", "write 3 begins", "write 3 ends",
			"write 2 begins", "write 2 ends", "read 1 begins", "read 1 ends",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("the calls (-want +got):\n%s", diff)
		}
	})
}

// TestCancelledCallsAreNotMade: a call that waits for another one when the turn is interrupted is never made.
func TestCancelledCallsAreNotMade(t *testing.T) {
	const script = `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{id: a, name: write, arguments: {seconds: 3600}}, {id: b, name: write, arguments: {seconds: 1}}]}}
  - {when: {}, reply: {text: "all is done"}}
`
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		p, _ := panelOf(t, 1, script, nil, func(o *Options) {
			o.Agents[0].Tools = []agents.Tool{diary{"write", true, &mu, &lines}}
		})
		began := time.Now()
		turn := start(t, p, "energy")
		synctest.Wait()
		turn.Cancel()
		if r := wait(t, turn); len(r.ToolCalls) != 2 || time.Since(began) > time.Minute {
			t.Errorf("after %s: %+v", time.Since(began), r.ToolCalls)
		}
		mu.Lock()
		defer mu.Unlock()
		if slices.Contains(lines, "write 1 begins") {
			t.Errorf("a cancelled call was made: %v", lines)
		}
	})
}

// TestAbandonedCallsHoldUpNobody: after a call on files that ignores its limit, others go on.
func TestAbandonedCallsHoldUpNobody(t *testing.T) {
	const script = `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{id: a, name: stuck, arguments: {}}, {id: b, name: write, arguments: {seconds: 1}}]}}
  - {when: {}, reply: {text: "all is done"}}
`
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		free := make(chan struct{})
		defer close(free)
		p, _ := panelOf(t, 1, script, nil, func(o *Options) {
			o.Limits = effect.DefaultLimits()
			o.Limits.ToolLimit = 5000
			o.Agents[0].Tools = []agents.Tool{deaf{free}, diary{"write", true, &mu, &lines}}
		})
		wait(t, start(t, p, "energy"))
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"write 1 begins", "write 1 ends"}; !slices.Equal(lines, want) {
			t.Errorf("the calls are %v, want %v", lines, want)
		}
	})
}

// deaf is a tool on files that ignores its context.
type deaf struct{ free chan struct{} }

func (deaf) Definition() backends.Tool {
	return backends.Tool{Name: "stuck", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (deaf) OnFiles() (touches, changes bool) { return true, true }

func (d deaf) Call(context.Context, string) (string, error) {
	<-d.free
	return "", nil
}
