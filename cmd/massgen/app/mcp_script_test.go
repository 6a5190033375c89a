package app_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/massgen/massgen/backends/backendtest"
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
	child := exec.Command("sleep", "60")
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
	tool("die", func(context.Context, *sdk.CallToolRequest) string {
		os.Exit(3)
		return ""
	})
	return s
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
	released := make(chan error, 1)
	go func() { released <- awaitRelease(file) }()
	select {
	case err := <-released:
		ts.Check(err)
	case <-time.After(20 * time.Second):
		ts.Fatalf("somebody still holds %s", args[0])
	}
}

// mcpBehaviours are servers whose models use the tools of the fake MCP server.
func mcpBehaviours() map[string]func(backendtest.Call) backendtest.Reply {
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
