package massgen_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/sessions"
)

// modelFunc is a model that answers as its function does.
type modelFunc func(ctx context.Context, req backends.Request) backends.Event

func (f modelFunc) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		ev := f(ctx, req)
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		_ = yield(ev, nil) && yield(backends.Finish{Reason: "stop"}, nil)
	}
}

// hanging is a model that never replies.
func hanging(ctx context.Context, _ backends.Request) backends.Event {
	<-ctx.Done()
	return nil
}

// running runs a turn in a goroutine, until the turn waits for something.
func running(ctx context.Context, p *massgen.Panel) <-chan massgen.Result {
	over := make(chan massgen.Result, 1)
	go func() {
		defer close(over)
		if r, err := p.Run(ctx, "s", "Why?"); err == nil {
			over <- r
		}
	}()
	synctest.Wait()
	return over
}

// TestRunGivesTheResult of a panel of any size, and of each turn of a session.
func TestRunGivesTheResult(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		p := made(t)(massgen.New(t.Context(), demos(size)))
		for turn := range 3 {
			if r, err := p.Run(t.Context(), "s", "Why?"); err != nil || r.Status != "completed" || r.Turn != turn+1 || r.Answer == "" {
				t.Errorf("%d agents, turn %d: %s, %q, %v", size, r.Turn, r.Status, r.Answer, err)
			}
		}
	}
}

func demos(size int) []massgen.Agent {
	list := make([]massgen.Agent, size)
	for i := range list {
		list[i] = massgen.Agent{ID: "agent" + string(rune('a'+i)), Provider: "demo"}
	}
	return list
}

// TestRunAttachesFiles: a model reads the file. A file of an unknown kind is refused, and no turn begins.
func TestRunAttachesFiles(t *testing.T) {
	model := modelFunc(func(_ context.Context, req backends.Request) backends.Event {
		return backends.TextDelta{Text: req.Messages[len(req.Messages)-1].Text()}
	})
	p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Model: "m", Backend: model}}))
	if _, err := p.Run(t.Context(), "", "What is it?", massgen.File{Name: "x", Data: []byte{0, 1, 2}}); err == nil {
		t.Error("a file of no known kind is taken")
	}
	if r, err := p.Run(t.Context(), "", "What is it?", massgen.File{Name: "x.txt", Data: []byte("green cheese")}); err != nil || r.Turn != 1 || !strings.Contains(r.Answer, "green cheese") {
		t.Errorf("turn %d is sent %q, %v", r.Turn, r.Answer, err)
	}
}

// TestRunEnds when its context or its panel ends. A closed panel refuses questions.
func TestRunEnds(t *testing.T) {
	for _, size := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			list := demos(size)
			for i := range list {
				list[i] = massgen.Agent{ID: list[i].ID, Model: "m", Backend: modelFunc(hanging)}
			}
			p, err := massgen.New(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			over := running(ctx, p)
			cancel()
			if r := <-over; r.Status != "interrupted" {
				t.Errorf("the turn of a cancelled context is %q", r.Status)
			}
			over = running(t.Context(), p)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if r := <-over; r.Status != "interrupted" {
				t.Errorf("the turn of a closed panel is %q", r.Status)
			}
			if _, err := p.Run(t.Context(), "", "And now?"); !errors.Is(err, massgen.ErrClosed) {
				t.Errorf("a question after Close: %v", err)
			}
		})
	}
}

// TestToolEndsTheGoroutineOfRun: the turn goes on without it.
func TestToolEndsTheGoroutineOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, err := agents.NewTool("leave", "Leaves.", func(context.Context, struct{}) (string, error) { runtime.Goexit(); return "", nil })
		if err != nil {
			t.Fatal(err)
		}
		model := modelFunc(func(_ context.Context, req backends.Request) backends.Event {
			last := req.Messages[len(req.Messages)-1]
			if last.Role != backends.RoleTool {
				return backends.ToolCall{ID: "1", Name: "leave", Arguments: "{}"}
			}
			return backends.TextDelta{Text: last.Parts[0].(backends.ToolResult).Content}
		})
		kept := sessions.NewMemory()
		p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Model: "m", Backend: model, Tools: []agents.Tool{tool}}}, massgen.WithStore(kept)))
		if r, returned := <-running(t.Context(), p); returned {
			t.Errorf("Run returns %+v: its goroutine did not end", r)
		}
		p.Coordinator().Wait()
		turns, err := kept.Turns(t.Context(), "s", 0)
		if err != nil || len(turns) != 1 || !strings.Contains(turns[0].Answer, "ended its goroutine") {
			t.Errorf("the turns are %+v, %v", turns, err)
		}
	})
}
