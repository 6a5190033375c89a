package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// deskVariable has the address of a desk, for a process that is an MCP server.
const deskVariable = "MASSGEN_TEST_DESK"

// desk is where the MCP servers of agents, which run beside their workers, ask the test what
// to say. It notes what it was asked for.
type desk struct {
	*httptest.Server
	// before is called for each question, and answered when it returns.
	before func(what string)

	mu   sync.Mutex
	told []string
}

func newDesk(t testing.TB) *desk {
	d := &desk{before: func(string) {}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what := r.FormValue("what")
		d.mu.Lock()
		d.told = append(d.told, what)
		d.mu.Unlock()
		d.before(what)
		if _, err := io.WriteString(w, what); err != nil {
			t.Logf("whoever asked for %s is gone: %v", what, err)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

// asked is what the desk was asked for until now.
func (d *desk) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.told...)
}

// server is the config of an MCP server that asks the desk.
func (d *desk) server() string {
	return fmt.Sprintf("mcp_servers: {own: {command: %q, env: {GORACE: atexit_sleep_ms=10, %s: %q}}}", os.Args[0], deskVariable, d.URL)
}

// serveTools is an MCP server whose tool ask passes a word on to the desk, and says how many
// it has passed on. It does not say that it may be called twice.
func serveTools(address string) int {
	s := sdk.NewServer(&sdk.Implementation{Name: "own", Version: "1"}, nil)
	var mu sync.Mutex
	calls := 0
	s.AddTool(&sdk.Tool{Name: "ask", Description: "asks", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			mu.Lock()
			calls++
			n := calls
			mu.Unlock()
			answer, err := askDesk(ctx, address, r.Params.Arguments)
			if err != nil {
				return nil, err
			}
			text := fmt.Sprintf("%s, as call %d of this server", answer, n)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: answer == "fail"}, nil
		})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func askDesk(ctx context.Context, address string, arguments json.RawMessage) (string, error) {
	var a struct{ What string }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?what="+url.QueryEscape(a.What), nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	return string(text), errors.Join(err, response.Body.Close())
}
