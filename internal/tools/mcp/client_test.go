package mcp_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/internal/tools/permission"
)

func TestCall(t *testing.T) {
	t.Parallel()
	c, _ := start(t, self("honest"), mcp.Patient(mcp.Options{}))
	if got := call(t, c, "arguments", `{"b":1,"a":"<e>"}`); got != `{"b":1,"a":"<e>"}` {
		t.Errorf("the server was given %s", got)
	}
	if got := call(t, c, "arguments", "  "); got != "{}" {
		t.Errorf("for no arguments the server was given %s", got)
	}
	for _, arguments := range []string{"[1]", "null", `{"a":`, "no"} {
		mustContain(t, fails(t, c, "arguments", arguments), "no JSON object")
	}
	mustContain(t, fails(t, c, "fail", "{}"), "no such file")
	d := find(t, c, "arguments").Definition()
	if d.Description != "does arguments" || string(d.Schema) != `{"type":"object"}` {
		t.Errorf("the definition is %+v", d)
	}
	for name, want := range map[string]bool{"arguments": true, "environment": true, "die": false, "fail": false} {
		if agents.IsIdempotent(find(t, c, name)) != want {
			t.Errorf("%s is idempotent: not %t", name, want)
		}
	}
	for name, want := range map[string]bool{"arguments": true, "environment": false, "fail": true} {
		if _, planned := permission.Planning(find(t, c, name), "{}"); planned != want {
			t.Errorf("%s is only planned: not %t", name, want)
		}
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SOME_API_KEY", "secret")
	server := self("honest")
	server.Env["OWN"] = "its own"
	c, _ := start(t, server, mcp.Options{})
	got := strings.Split(call(t, c, "environment", ""), "\n")
	isPath := func(s string) bool { return strings.HasPrefix(s, "PATH=") }
	if !slices.Contains(got, "OWN=its own") || !slices.ContainsFunc(got, isPath) {
		t.Errorf("the server lacks a variable: %v", got)
	}
	if slices.Contains(got, "SOME_API_KEY=secret") {
		t.Error("the server inherits a secret")
	}
}

func TestAllowedAndExcluded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		allowed, excluded []string
		want              []string
		note              string
	}{
		"some":   {allowed: []string{"wait", "mcp__fake__die"}, want: []string{"die", "wait"}},
		"but":    {allowed: []string{"wait", "die"}, excluded: []string{"mcp__fake__die"}, want: []string{"wait"}},
		"none":   {allowed: []string{}},
		"typing": {allowed: []string{"wait", "dye"}, want: []string{"wait"}, note: `no tool "dye"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := self("honest")
			server.AllowedTools, server.ExcludeTools = test.allowed, test.excluded
			c, lines := start(t, server, mcp.Options{})
			var want []string
			for _, tool := range test.want {
				want = append(want, "mcp__fake__"+tool)
			}
			if got := names(c); !slices.Equal(got, want) {
				t.Errorf("the tools are %v, not %v", got, want)
			}
			if test.note != "" {
				lines.await(t, test.note)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("honest"), mcp.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	wait, done := find(t, c, "wait"), make(chan error, 1)
	go func() {
		_, err := wait.Call(ctx, "")
		done <- err
	}()
	lines.await(t, "waiting")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	lines.await(t, "cancelled")
	call(t, c, "arguments", "")
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []agents.Progress
	c, _ := start(t, self("honest"), mcp.Options{})
	ctx := agents.WithProgress(t.Context(), func(p agents.Progress) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, p)
	})
	if _, err := find(t, c, "progress").Call(ctx, ""); err != nil {
		t.Fatal(err)
	}
	call(t, c, "progress", "")
	mu.Lock()
	defer mu.Unlock()
	want := []agents.Progress{{Fraction: 0.25, Text: "1 of 4"}, {Fraction: 0.5, Text: "half way"}, {Fraction: 0.75, Text: "3 of 4"}, {Text: "4"}}
	if !slices.Equal(got, want) {
		t.Errorf("the progress was %v, not %v", got, want)
	}
}

func TestListChanges(t *testing.T) {
	t.Parallel()
	c, _ := start(t, self("honest"), mcp.Patient(mcp.Options{}))
	before, version := names(c), c.Version()
	call(t, c, "grow", "")
	if got := names(c); !slices.Equal(got, before) {
		t.Errorf("the list changed without being asked for: %v", got)
	}
	// The server says so after its answer, at some time.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil && len(names(c)) == len(before) {
		if err := errors.Join(c.Refresh(ctx), c.Ping(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if got := call(t, c, "grown", ""); got != "big" {
		t.Errorf("the new tool returned %q", got)
	}
	if grown := c.Version(); grown <= version {
		t.Errorf("the version is %d, and was %d", grown, version)
	}
	version = c.Version()
	if err := c.Refresh(t.Context()); err != nil || c.Version() != version {
		t.Errorf("without a change: %v, and the version is %d and was %d", err, c.Version(), version)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("honest"), mcp.Patient(mcp.Options{}))
	got := fails(t, c, "die", "")
	mustContain(t, got, `MCP server "fake"`, "ended during the call", "exit status 3", "Error: out of luck")
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a dead server answers a ping")
	}
	if err := c.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	if got := call(t, c, "arguments", ""); got != "{}" {
		t.Errorf("after a restart the tool returned %q", got)
	}
	lines.await(t, "started anew")
}

// TestHang: a call without an answer costs the call, and not a server that lives.
func TestHang(t *testing.T) {
	t.Parallel()
	server := self("honest")
	server.CallTimeout = 300 * time.Millisecond
	c, lines := start(t, server, mcp.Patient(mcp.Options{}))
	mustContain(t, fails(t, c, "hang", ""), "did not answer within 300ms")
	mcp.SetCallTimeout(c, patience)
	call(t, c, "arguments", "")
	if len(lines) > 0 {
		t.Errorf("a server that answers pings was not left in peace: %s", <-lines)
	}
}

func TestParallelCalls(t *testing.T) {
	t.Parallel()
	c, _ := start(t, self("honest"), mcp.Options{})
	tool := find(t, c, "arguments")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := tool.Call(t.Context(), `{"x":1}`); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestClose(t *testing.T) {
	t.Parallel()
	c, lines := start(t, self("honest"), mcp.Options{})
	wait, done := find(t, c, "wait"), make(chan error, 1)
	go func() {
		_, err := wait.Call(t.Context(), "")
		done <- err
	}()
	lines.await(t, "waiting")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("a call outlived Close")
	}
	mustContain(t, fails(t, c, "arguments", ""), "it was closed")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestBadServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		server mcp.Server
		want   string
	}{
		{mcp.Server{Name: "a b", Command: "x"}, "letters, digits"},
		{mcp.Server{Name: strings.Repeat("a", 41), Command: "x"}, "at most 40"},
		{mcp.Server{Name: "a"}, "neither a command nor a url"},
		{mcp.Server{Name: "a", Command: "x", URL: "http://x"}, "a command and a url"},
		{mcp.Server{Name: "a", URL: "ftp://x"}, "http:// or https://"},
		{mcp.Server{Name: "a", URL: "http://"}, "name a host"},
		{mcp.Server{Name: "a", Command: "x", CallTimeout: -1}, "negative"},
		{mcp.Server{Name: "a", Command: "no-such-program"}, `"no-such-program" is not in the PATH`},
		{mcp.Server{Name: "a", Command: "./no/such/program"}, "no such file"},
		{mcp.Server{Name: "a", Command: "true", Dir: "/no/such/dir"}, "/no/such/dir"},
	} {
		mustContain(t, refused(t, test.server), test.want, test.server.Name)
	}
}
