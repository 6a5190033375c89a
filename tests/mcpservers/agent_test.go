//go:build mcpservers

package mcpservers

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/leaks"
)

// TestMain is also the guard of the servers, and the program.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		runProgram()
	}
	if status, handled := mcp.RunGuard(os.Args[1:]); handled {
		os.Exit(status)
	}
	leaks.Main(m)
}

// startLimit is how long a server may take to start on a busy machine.
const startLimit = 2 * time.Minute

// script returns the path of a server's program.
func script(t *testing.T, name string) string {
	t.Helper()
	return installed(t, name, "dist", "index.js")
}

// installed returns the path of a file of the protocol's own packages. One that is not there is a
// failure.
func installed(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".cache", "mcpservers", "node_modules", "@modelcontextprotocol"}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: scripts/mcp.sh installs it", err)
	}
	return path
}

// connect starts a client until t ends.
func connect(t *testing.T, server mcp.Server) *mcp.Client {
	t.Helper()
	launcher, err := mcp.Launcher()
	if err != nil {
		t.Fatal(err)
	}
	server.StartTimeout = startLimit
	c, err := mcp.Start(t.Context(), server, mcp.Options{
		Launcher: launcher,
		Log:      func(server, line string) { t.Logf("%s: %s", server, line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// everythingOverHTTP runs the server "everything" until t ends, and returns where.
func everythingOverHTTP(t *testing.T) mcp.Server {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command("node", script(t, "server-everything"), "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	errors, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		waiting := true
		for lines := bufio.NewScanner(errors); lines.Scan(); {
			if waiting && strings.Contains(lines.Text(), "listening on port") {
				waiting = false
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-read
		_ = cmd.Wait() // the error is that of the kill
	})
	select {
	case <-ready:
	case <-read:
		t.Fatal("the server ended and did not listen")
	case <-time.After(startLimit):
		t.Fatal("the server does not listen")
	}
	return mcp.Server{Name: "everything", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}
}

// freePort returns a port for a server that has to be told one. Until t ends, a connection
// of it keeps the system from giving it to anybody who asks for any.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}

// plan is a model that calls tools, a message at a time, and then says that it is done.
type plan struct {
	mu    sync.Mutex
	steps [][]backends.ToolCall
}

func calling(name, arguments string) backends.ToolCall {
	return backends.ToolCall{Name: name, Arguments: arguments}
}

// Stream yields the next message.
func (p *plan) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	p.mu.Lock()
	defer p.mu.Unlock()
	var events []backends.Event
	if len(p.steps) == 0 {
		events = append(events, backends.TextDelta{Text: "done"})
	} else {
		for i, c := range p.steps[0] {
			c.ID = fmt.Sprintf("call%d-%d", len(p.steps), i)
			events = append(events, c)
		}
		p.steps = p.steps[1:]
	}
	events = append(events, backends.Finish{Reason: "stop"})
	return func(yield func(backends.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// run has a panel of one agent with the client's tools follow a plan, and returns what
// that came to. See, if it is not nil, is shown what happens.
func run(t *testing.T, c *mcp.Client, see func(*coordinator.Turn, report.Event), steps ...[]backends.ToolCall) report.Result {
	t.Helper()
	panel, err := coordinator.New(coordinator.Options{
		Agents: []coordinator.Agent{{ID: "agent", Backend: &plan{steps: steps}}},
		Tools:  func(context.Context) ([][]agents.Tool, error) { return [][]agents.Tool{c.Tools()}, nil },
		Store:  sessions.NewMemory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := panel.Start(t.Context(), "s", "Go.")
	if err != nil {
		t.Fatal(err)
	}
	for ev := range turn.Events(t.Context()) {
		if see != nil {
			see(turn, ev)
		}
	}
	result, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	panel.Wait()
	return result
}

func names(tools []agents.Tool) []string {
	var all []string
	for _, tool := range tools {
		all = append(all, tool.Definition().Name)
	}
	return all
}

// check compares the results of a turn's calls with parts of what they must have.
func check(t *testing.T, r report.Result, want ...string) {
	t.Helper()
	if r.Status != kernel.Completed || len(r.ToolCalls) != len(want) {
		t.Fatalf("the turn is %s, with %d calls and not %d: %+v", r.Status, len(r.ToolCalls), len(want), r.ToolCalls)
	}
	for i, c := range r.ToolCalls {
		if !strings.Contains(c.Result, want[i]) {
			t.Errorf("%s returned %q, without %q", c.Name, c.Result, want[i])
		}
	}
}

func mustHave(t *testing.T, c *mcp.Client, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if !slices.Contains(names(c.Tools()), tool) {
			t.Errorf("there is no tool %s among %v", tool, names(c.Tools()))
		}
	}
}
