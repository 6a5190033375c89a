package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// runFakeServer is an MCP server. Its argument names a file that it and its child hold
// as long as they are there; the child ends by itself when the longest test is over.
func runFakeServer() {
	err := os.ErrInvalid
	if len(os.Args) == 2 {
		err = serveFake(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func serveFake(held string) error {
	f, err := hold(held)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("started\n"); err != nil {
		return err
	}
	child := exec.Command("sleep", "600")
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "ready with", os.Getenv("FAKE_TOKEN"))
	err = fakeServer().Run(context.Background(), &sdk.StdioTransport{})
	return errors.Join(err, f.Close()) // the child is left to whoever ends the server
}

func fakeServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, nil)
	tool := func(name string, run func(context.Context, *sdk.CallToolRequest) string) {
		s.AddTool(&sdk.Tool{Name: name, Description: "does " + name, InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: run(ctx, req)}}}, nil
			})
	}
	tool("echo", func(_ context.Context, req *sdk.CallToolRequest) string {
		return "echo of " + string(req.Params.Arguments)
	})
	tool("environment", func(context.Context, *sdk.CallToolRequest) string { return strings.Join(os.Environ(), "\n") })
	tool("wait", func(ctx context.Context, _ *sdk.CallToolRequest) string {
		fmt.Fprintln(os.Stderr, "waiting for the end")
		<-ctx.Done()
		return ""
	})
	tool("die", func(context.Context, *sdk.CallToolRequest) string {
		os.Exit(3)
		return ""
	})
	return s
}

// liar is an MCP server that keeps to the protocol in nothing that it can do wrong. It
// speaks without the SDK, which would not let it.
type liar struct {
	out   io.Writer
	grown bool
}

// runLiar is a liar until nobody asks it any more.
func runLiar() {
	l := liar{out: os.Stdout}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name string
				Meta struct{ ProgressToken string } `json:"_meta"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.ID == nil {
			continue // a notification, or an answer to nothing
		}
		switch m.Method {
		case "initialize":
			l.answer(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"liar","version":"1"}}`)
		case "tools/list":
			l.answer(m.ID, l.tools())
		case "tools/call":
			l.call(m.ID, m.Params.Name, m.Params.Meta.ProgressToken)
		default:
			l.answer(m.ID, `{}`)
		}
	}
}

func (l *liar) say(format string, args ...any) { fmt.Fprintf(l.out, format+"\n", args...) }

func (l *liar) answer(id json.RawMessage, result string) {
	l.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// tools are a list in which some have no schema that can be sent.
func (l *liar) tools() string {
	all := []string{
		`{"name":"array","inputSchema":{"type":"array"}}`, `{"name":"broken","inputSchema":{"type":"object","properties":5}}`,
		`{"name":"nothing"}`, `null`,
	}
	names := []string{"new_answer", "die", "flood", "hang", "grow", "slow", "liar", "x__liar"}
	if l.grown {
		names = []string{"new_answer", "grow", "grown", "liar", "x__liar"}
	}
	for _, name := range names {
		about := "does " + name
		if l.grown && name == "liar" {
			about = "does something else"
		}
		all = append(all, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","required":["it"]}}`, name, about))
	}
	return `{"tools":[` + strings.Join(all, ",") + `]}`
}

func (l *liar) call(id json.RawMessage, name, progressToken string) {
	switch name {
	case "die":
		fmt.Fprintln(os.Stderr, "Error: out of luck")
		os.Exit(3)
	case "flood":
		fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
		for range 100 {
			fmt.Fprint(l.out, strings.Repeat("x", 1<<20))
		}
		l.say(`"}]}}`)
		return
	case "hang":
		return
	case "liar":
		l.answer(id, `{"content":"no list"}`)
		return
	case "grow":
		l.grown = true
		l.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case "slow":
		for i := 1; i <= 20; i++ {
			l.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":%d,"total":20}}`, progressToken, i)
		}
	}
	l.answer(id, `{"content":[{"type":"text","text":"`+name+` is done"}]}`)
}

// mcpserver NAME starts an MCP server that speaks HTTP with whoever knows its token,
// and puts its address into NAME_URL.
func cmdMCPServer(ts *testscript.TestScript, _ bool, args []string) {
	mcp := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return fakeServer() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer tell-nobody-this" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mcp.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0]+"_URL", server.URL)
}

// held FILE checks that some process holds a file; with a !, it waits until none does.
func cmdHeld(ts *testscript.TestScript, neg bool, args []string) {
	file := ts.MkAbs(args[0])
	if !neg {
		held, err := isHeld(file)
		ts.Check(err)
		if !held {
			ts.Fatalf("nobody holds %s", args[0])
		}
		return
	}
	ts.Check(isReleased(file))
}

// isReleased waits until no process holds a file, but not for ever: one that is killed
// needs a moment to end.
func isReleased(file string) error {
	released := make(chan error, 1)
	go func() { released <- awaitRelease(file) }()
	select {
	case err := <-released:
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("somebody still holds %s", file)
	}
}

// mcpBehaviours are servers whose models use the tools of the fake MCP server.
func mcpBehaviours() map[string]func(backendtest.Call) backendtest.Reply {
	believe := func(lies ...string) func(backendtest.Call) backendtest.Reply {
		return working(func(results []string) backendtest.Reply {
			if len(results) < len(lies) {
				return calls("mcp__liar__"+lies[len(results)], `{}`)
			}
			return backendtest.Reply{Text: strings.Join(results, "\n")}
		})
	}
	believeTogether := believe("new_answer", "die", "flood", "liar", "array", "slow")
	answered := make(chan struct{})
	return map[string]func(backendtest.Call) backendtest.Reply{
		"echoes": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("mcp__fake__echo", `{"a":1}`, "mcp__fake__environment", `{}`)
			}
			return backendtest.Reply{Text: strings.Join(results, "\n")}
		}),
		"echoes-and-hangs": func(c backendtest.Call) backendtest.Reply {
			if c.Number == 1 {
				return calls("mcp__fake__echo", `{}`)
			}
			return backendtest.Reply{Fault: backendtest.HangBefore}
		},
		"believes": believe("new_answer", "die", "flood", "hang", "liar", "array", "slow"),
		// Three agents with one server: it does not die before it has answered each of them.
		"believes-together": func(c backendtest.Call) backendtest.Reply {
			if c.Number == 6 {
				close(answered)
			}
			if c.Number > 3 {
				select {
				case <-answered:
				case <-time.After(time.Minute):
				}
			}
			return believeTogether(c)
		},
		"grows": func(c backendtest.Call) backendtest.Reply {
			messages := c.Messages()
			if messages[len(messages)-1].Role != backends.RoleUser {
				return backendtest.Reply{Text: messages[len(messages)-1].Parts[0].(backends.ToolResult).Content}
			}
			name := "mcp__liar__grow"
			if slices.Contains(c.ToolNames(), "mcp__liar__grown") {
				name = "mcp__liar__grown"
			}
			return calls(name, `{}`)
		},
		"outgrows": working(func(results []string) backendtest.Reply {
			switch len(results) {
			case 0:
				return calls("mcp__liar__grow", `{}`)
			case 1: // the second is gone
				return calls("mcp__liar__grown", `{}`, "mcp__liar__hang", `{}`)
			}
			return backendtest.Reply{Text: strings.Join(results, "\n")}
		}),
		"kills": working(func(results []string) backendtest.Reply {
			switch len(results) {
			case 0:
				return calls("mcp__fake__die", `{}`)
			case 1:
				return calls("mcp__fake__echo", `{"a":2}`)
			}
			return backendtest.Reply{Text: strings.Join(results, "|")}
		}),
	}
}

// endStrayTests ends a test binary that was started by mistake: it must not run the
// tests in the tests.
func endStrayTests(commands map[string]func()) {
	_, isCommand := commands[filepath.Base(os.Args[0])]
	if !isCommand && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(2)
	}
}
