package agents_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// tool is a tool that does what it is made of.
type tool func(ctx context.Context) (string, error)

func (tool) Definition() backends.Tool { return backends.Tool{Name: "work", Schema: []byte(`{}`)} }

func (f tool) Call(ctx context.Context, _ string) (string, error) { return f(ctx) }

// callTool runs a tool under limits.
func callTool(t *testing.T, ctx context.Context, limits effect.Limits, member agents.Member) (effect.ToolReply, *world) {
	t.Helper()
	w := newWorld(t)
	w.turn.Limits = limits
	d := agents.Doer{Blobs: w.store, Members: []agents.Member{member}}
	call := effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "work"}).Text, Name: "work"}
	ev, err := d.Perform(ctx, &w.turn, call)
	if err != nil {
		t.Fatal(err)
	}
	return ev.(effect.ToolReply), w
}

// TestToolIsStoppedAtItsLimit, whether it listens or not; the model is told so.
func TestToolIsStoppedAtItsLimit(t *testing.T) {
	for name, work := range map[string]struct {
		tool  tool
		after time.Duration
	}{
		"listens": {func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, time.Second},
		"deaf":    {func(context.Context) (string, error) { time.Sleep(time.Minute); return "late", nil }, time.Second + agents.AbandonAfter},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				r, w := callTool(t, t.Context(), effect.Limits{ToolLimit: 1000}, agents.Member{Tools: []agents.Tool{work.tool}})
				if got := w.text(r.Result); !r.Error || got != "Error: the tool work was stopped after 1s, the most that a call may take. Go on without it, or ask it for less." {
					t.Errorf("%v %q", r.Error, got)
				}
				if r.Abandoned != (name == "deaf") || r.State != "" || r.ElapsedMS != work.after.Milliseconds() {
					t.Errorf("%+v", r)
				}
				if took := time.Since(begun); took != work.after {
					t.Errorf("it took %v, want %v", took, work.after)
				}
				time.Sleep(time.Minute) // what was left behind ends at last
			})
		})
	}
}

// TestLateResultCounts: a tool that ends soon after its limit with a result has done its work.
func TestLateResultCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := tool(func(ctx context.Context) (string, error) {
			<-ctx.Done()
			time.Sleep(agents.AbandonAfter / 2)
			return "done", nil
		})
		r, w := callTool(t, t.Context(), effect.Limits{ToolLimit: 1000}, agents.Member{Tools: []agents.Tool{late}})
		if got := w.text(r.Result); r.Error || r.Abandoned || got != "done" || r.ElapsedMS != 2000 {
			t.Errorf("%+v: %q", r, got)
		}
	})
}

// slow is a store that takes its time to store a text.
type slow struct{ agents.Blobs }

func (s slow) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	time.Sleep(10 * time.Second)
	return s.Blobs.Put(ctx, data)
}

// TestLimitIsOfTheToolAlone: what is done before and after a tool's call takes none of its time.
func TestLimitIsOfTheToolAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.turn.Limits = effect.Limits{ToolLimit: 1000}
		half := tool(func(ctx context.Context) (string, error) {
			time.Sleep(500 * time.Millisecond)
			return "done", ctx.Err()
		})
		permit := func(string, string) (effect.Permission, string) {
			time.Sleep(10 * time.Second)
			return effect.Allowed, ""
		}
		call := effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "work"}).Text, Name: "work"}
		d := agents.Doer{Blobs: slow{w.store}, Members: []agents.Member{{Tools: []agents.Tool{half}, Permit: permit}}}
		ev, err := d.Perform(t.Context(), &w.turn, call)
		if err != nil {
			t.Fatal(err)
		}
		if r := ev.(effect.ToolReply); w.text(r.Result) != "done" || r.Error || r.Abandoned || r.ElapsedMS != 500 {
			t.Errorf("%+v: %q", r, w.text(r.Result))
		}
	})
}

// TestToolThatIsQuickHasNoLimit: what comes in time is the result, an error too.
func TestToolThatIsQuickHasNoLimit(t *testing.T) {
	limits := effect.Limits{ToolLimit: 60_000}
	r, w := callTool(t, t.Context(), limits, agents.Member{Tools: []agents.Tool{tool(func(context.Context) (string, error) { return "done", nil })}})
	if got := w.text(r.Result); r.Error || got != "done" {
		t.Errorf("%v %q", r.Error, got)
	}
	r, w = callTool(t, t.Context(), limits, agents.Member{Tools: []agents.Tool{tool(func(context.Context) (string, error) { return "", errors.New("no disk") })}})
	if got := w.text(r.Result); !r.Error || got != "Error: no disk" {
		t.Errorf("%v %q", r.Error, got)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	r, w = callTool(t, cancelled, limits, agents.Member{Tools: []agents.Tool{tool(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })}})
	if got := w.text(r.Result); !r.Error || r.State != effect.ToolCancelled || got != "Error: the call was cancelled" {
		t.Errorf("a cancelled call: %v %q", r.Error, got)
	}
}

// TestLongResultIsCutInTheMiddle, between characters, and the whole is kept.
func TestLongResultIsCutInTheMiddle(t *testing.T) {
	long := strings.Repeat("ä", 500) + "middle" + strings.Repeat("ö", 500)
	says := []agents.Tool{tool(func(context.Context) (string, error) { return long, nil })}
	for name, c := range map[string]struct {
		keep func(name, result string) (string, error)
		word string
	}{
		"not kept": {nil, "\n[... 1906 of 2006 bytes are left out here ...]\n"},
		"kept": {func(name, result string) (string, error) {
			if result != long {
				t.Errorf("kept is %q", result)
			}
			return ".massgen/results/" + name, nil
		}, "\n[... 1906 of 2006 bytes are left out here; the whole is in .massgen/results/work ...]\n"},
		"full disk": {func(string, string) (string, error) { return "", errDisk }, "; the whole could not be kept: "},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := callTool(t, t.Context(), effect.Limits{ResultLimit: 101}, agents.Member{Tools: says, KeepResult: c.keep})
			got := w.text(r.Result)
			if r.Error || !strings.HasPrefix(got, strings.Repeat("ä", 25)+"\n[") || !strings.HasSuffix(got, "]\n"+strings.Repeat("ö", 25)) || !strings.Contains(got, c.word) || !utf8.ValidString(got) {
				t.Errorf("%v %q", r.Error, got)
			}
			if w.text(r.Whole) != long {
				t.Errorf("the whole is %q", w.text(r.Whole))
			}
		})
	}
	if r, w := callTool(t, t.Context(), effect.Limits{ResultLimit: len(long)}, agents.Member{Tools: says}); w.text(r.Result) != long || r.Whole.Bytes != 0 {
		t.Errorf("a result that just fits: %+v", r)
	}
}

// masking is a store that masks a secret.
type masking struct{ agents.Blobs }

func (m masking) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return m.Blobs.Put(ctx, bytes.ReplaceAll(data, []byte("hunter2"), []byte("[hidden]")))
}

// TestSecretIsMaskedBeforeItIsCut: no part of it is left at the place, nor in what is kept.
func TestSecretIsMaskedBeforeItIsCut(t *testing.T) {
	w := newWorld(t)
	w.turn.Limits = effect.Limits{ResultLimit: 100}
	says := tool(func(context.Context) (string, error) {
		return strings.Repeat("x", 46) + "hunter2" + strings.Repeat("y", 100), nil
	})
	kept := ""
	d := agents.Doer{Blobs: masking{w.store}, Members: []agents.Member{{Tools: []agents.Tool{says}, KeepResult: func(_, result string) (string, error) {
		kept = result
		return "file", nil
	}}}}
	ev, err := d.Perform(t.Context(), &w.turn, effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "work"}).Text, Name: "work"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.text(ev.(effect.ToolReply).Result); strings.Contains(got, "hunt") || strings.Contains(kept, "hunter2") || kept == "" {
		t.Errorf("the model is sent %q, and %q is kept", got, kept)
	}
}
