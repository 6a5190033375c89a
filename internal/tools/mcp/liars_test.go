package mcp_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/tools/mcp"
)

// impatient is a liar that is not waited for long.
func impatient(lie string) mcp.Server {
	server := self("liar", lie)
	server.CallTimeout = 300 * time.Millisecond
	return server
}

func TestLiesAtStart(t *testing.T) {
	for lie, want := range map[string][]string{
		"dies at start":     {"ended during the start", "exit status 7", "Error: no database"},
		"silent":            {"did not answer within 500ms"},
		"silent list":       {"did not answer within 500ms"},
		"a schema of 10 MB": {"its answer has more than the 8 MiB that are taken"},
		"no tools":          {"start"},
	} {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			server := self("liar", lie)
			if strings.HasPrefix(lie, "silent") {
				server.StartTimeout = 500 * time.Millisecond
			}
			mustContain(t, refused(t, server), append(want, `MCP server "fake"`)...)
		})
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "prints garbage"), mcp.Options{})
	if got := call(t, c, "tool", ""); got != "fine" {
		t.Errorf("the tool returned %q", got)
	}
	lines.await(t, "what is no message")
	if len(lines) > 0 {
		t.Errorf("it was said more than once: %s", <-lines)
	}
}

// TestQuestions: a server may ask for what we do not offer, and send what nobody
// asked for.
func TestQuestions(t *testing.T) {
	t.Parallel()
	c, _ := start(t, self("liar", "asks"), mcp.Options{})
	ctx := agents.WithProgress(t.Context(), func(agents.Progress) { t.Error("progress that is nobody's was told") })
	if got, err := find(t, c, "tool").Call(ctx, ""); got != "fine" {
		t.Errorf("the tool returned %q: %v", got, err)
	}
}

func TestEndlessQuestions(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "asks for ever"), mcp.Options{})
	mustContain(t, fails(t, c, "tool", ""), "without reading an answer")
	fails(t, c, "tool", "")
	lines.await(t, "started anew")
}

func TestStrangeResults(t *testing.T) {
	t.Parallel()
	server := impatient("results")
	server.CallTimeout = patience
	c, lines := start(t, server, mcp.Options{})
	for name, want := range map[string]string{"number": "has not the form", "torn": "cannot be read"} {
		mustContain(t, fails(t, c, name, ""), want)
	}
	for name, want := range map[string]string{
		"nulls": "The tool returned nothing.", "kind": "[content of a kind that is not shown: smell]", "text": "text", "no_part": "The tool returned nothing.",
	} {
		if got := call(t, c, name, ""); got != want {
			t.Errorf("%s is shown as %q", name, got)
		}
	}
	if len(lines) > 0 {
		t.Errorf("a strange result cost the server: %s", <-lines)
	}
}

func TestClosedOutput(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "closes output"), mcp.Options{})
	mustContain(t, fails(t, c, "tool", ""), "ended during the call")
	if c.Ping(t.Context()) == nil {
		t.Error("it answers without an output")
	}
	fails(t, c, "tool", "")
	lines.await(t, "started anew")
}

// TestSilence: who answers neither a call nor a ping is killed, and started anew at
// the next call.
func TestSilence(t *testing.T) {
	t.Parallel()
	c, lines := start(t, impatient("silent forever"), mcp.Options{})
	mustContain(t, fails(t, c, "tool", ""), "did not answer within 300ms")
	mustContain(t, fails(t, c, "tool", ""), "did not answer within 300ms")
	lines.await(t, "started anew")
}

// ending is a context whose time is over when a test says so.
type ending struct {
	context.Context
	over chan struct{}
}

func (e *ending) Done() <-chan struct{} { return e.over }

func (e *ending) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestImpatience: whoever's time is over, a server that hangs is found out.
func TestImpatience(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "silent forever"), mcp.Options{})
	ctx := &ending{Context: t.Context(), over: make(chan struct{})}
	tool, done := find(t, c, "tool"), make(chan error, 1)
	go func() {
		_, err := tool.Call(ctx, "")
		done <- err
	}()
	lines.await(t, "called") // a call that was never sent would say nothing of the server
	close(ctx.over)
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call ended with %v", err)
	}
	mcp.SetCallTimeout(c, 300*time.Millisecond)
	fails(t, c, "tool", "")
	lines.await(t, "started anew")
}

// TestDeaf: a call to a server that does not read ends in time, as do those after
// it, although they cannot be sent.
func TestDeaf(t *testing.T) {
	t.Parallel()
	c, _ := start(t, impatient("deaf"), mcp.Options{})
	tool := find(t, c, "tool")
	large := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	done := make(chan error, 3)
	for range cap(done) {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := tool.Call(ctx, large)
			done <- err
		}()
	}
	for range cap(done) {
		select {
		case err := <-done:
			if err == nil {
				t.Error("a deaf server answered")
			}
		case <-time.After(patience):
			t.Fatal("a call did not end")
		}
	}
}

// TestFlood: 100 MB cost the call, and no memory.
func TestFlood(t *testing.T) {
	for name, want := range map[string]string{
		"id_first":   `MCP server "fake": its answer has more than the 8 MiB that are taken: ask it for less`,
		"id_last":    `MCP server "fake": its answer has more than the 8 MiB that are taken: ask it for less`,
		"no_message": "it sent a line of 104857601 bytes that is no message, and of one at most 8 MiB are read",
		"many":       "",
		"errors":     "",
	} {
		t.Run(name, func(t *testing.T) {
			server := self("liar", "floods")
			server.CallTimeout = 5 * time.Minute // under the race detector, on a busy machine
			c, _ := start(t, server, mcp.Options{})
			before := heap()
			if want == "" {
				call(t, c, name, "")
			} else {
				mustContain(t, fails(t, c, name, ""), want)
			}
			grown := int64(heap()-before) >> 20
			t.Logf("the heap grew by %d MB", grown)
			if grown > 80 {
				t.Errorf("the heap grew by %d MB", grown)
			}
			if got := call(t, c, "tool", ""); got != "fine" {
				t.Errorf("after the flood the tool returned %q", got)
			}
		})
	}
}

// heap is how much memory the heap has taken from the system, in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapSys
}

func TestStrangeTools(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "schemas"), mcp.Options{})
	got := names(c)
	want := []string{
		"good", "no_type", "a_b_c_8640d2e2", "a_b_c_7509d20a", "a_b_c",
		"very-long-name-very-long-name-very-long-name_b0383899", "twice", "nothing", "broken", "required",
	}
	for i := range want {
		want[i] = "mcp__fake__" + want[i]
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tools are\n%q, not\n%q", got, want)
	}
	for _, name := range got {
		if len(name) > 64 {
			t.Errorf("%s has %d characters", name, len(name))
		}
	}
	if got := find(t, c, "twice").Definition().Description; got != "the first" {
		t.Errorf("of two tools %q counts", got)
	}
	if got := string(find(t, c, "no_type").Definition().Schema); got != `{"properties":{}}` {
		t.Errorf("a schema without a type became %s", got)
	}
	for _, note := range []string{
		`"twice" twice`, `"string" is left out`, `"array" is left out`, `"large" is left out`, `"" is left out`,
	} {
		lines.await(t, note)
	}
}

func TestEndlessList(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "lists for ever"), mcp.Options{})
	if got := len(c.Tools()); got != 1 {
		t.Errorf("it has %d tools", got)
	}
	lines.await(t, "more than 256 tools")
}

// TestManyDefinitions: what a server lists cannot fill a model's context.
func TestManyDefinitions(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "large schemas"), mcp.Options{})
	if got := len(c.Tools()); got != 5 {
		t.Errorf("of 100 tools of 50 KB each there are %d", got)
	}
	lines.await(t, "allowed_tools can choose")
}

// TestPages: pages without tools come to an end.
func TestPages(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("liar", "empty pages"), mcp.Options{})
	if got := len(c.Tools()); got != 0 {
		t.Errorf("it has %d tools", got)
	}
	lines.await(t, "32 pages")
}

// TestModern: a server that knows no initialization is spoken to without one, and what
// it says of how long its list holds is no reason not to ask for the list when it changes.
func TestModern(t *testing.T) {
	t.Parallel()
	c, _ := start(t, self("liar", "modern"), mcp.Options{})
	if got := call(t, c, "tool", ""); got != "fine" {
		t.Errorf("the tool returned %q", got)
	}
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(c); !slices.Equal(got, []string{"mcp__fake__other"}) {
		t.Errorf("after a change the tools are %v", got)
	}
}
