package mcp_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/tests/leaks"
)

// TestMain is also a guard, the servers that the tests start, and a program that is
// killed.
func TestMain(m *testing.M) {
	if status, handled := mcp.RunGuard(os.Args[1:]); handled {
		os.Exit(status)
	}
	if len(os.Args) > 2 {
		roles := map[string]func(args []string){"honest": serveHonestly, "liar": serveLies}
		maps.Copy(roles, families)
		if play, ok := roles[os.Args[1]]; ok {
			play(os.Args[2:])
			os.Exit(0)
		}
	}
	// What is no flag of a test is a mistake: it must not run the tests in the tests.
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(2)
	}
	leaks.Main(m)
}

// block waits until the process is killed, without being taken for a deadlock.
func block() {
	for {
		time.Sleep(time.Hour)
	}
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// self is a server that this program is.
func self(role string, args ...string) mcp.Server {
	if len(args) == 0 {
		args = []string{""}
	}
	return mcp.Server{
		Name: "fake", Command: os.Args[0], Args: append([]string{role}, args...),
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}, // the race detector lets a program end a second later
	}
}

// heard are the lines that a client logged.
type heard chan string

func (h heard) log(_, line string) {
	select {
	case h <- line:
	default: // more than any test reads
	}
}

// await reads lines until one has the text, and returns it.
func (h heard) await(t *testing.T, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case line := <-h:
			if strings.Contains(line, text) {
				return line
			}
		case <-ctx.Done():
			t.Fatalf("no line says %q", text)
		}
	}
}

func guarded(t *testing.T) []string {
	t.Helper()
	launcher, err := mcp.Launcher()
	if err != nil {
		t.Fatal(err)
	}
	return launcher
}

// start starts a server under a guard until t ends.
func start(t *testing.T, server mcp.Server, options mcp.Options) (*mcp.Client, heard) {
	t.Helper()
	lines := make(heard, 1000)
	options.Log = lines.log
	options.Launcher = guarded(t)
	c, err := mcp.Start(t.Context(), server, mcp.PatientToClose(options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, lines
}

// refused starts a server that must not start, and returns the error.
func refused(t *testing.T, server mcp.Server) string {
	t.Helper()
	c, err := mcp.Start(t.Context(), server, mcp.Patient(mcp.Options{Launcher: guarded(t)}))
	if err == nil {
		c.Close()
		t.Fatal("it started")
	}
	if strings.ContainsRune(err.Error(), '\n') {
		t.Errorf("an error of several lines: %q", err)
	}
	return err.Error()
}

func names(c *mcp.Client) []string {
	var all []string
	for _, tool := range c.Tools() {
		all = append(all, tool.Definition().Name)
	}
	return all
}

func find(t *testing.T, c *mcp.Client, name string) agents.Tool {
	t.Helper()
	i := slices.Index(names(c), "mcp__"+c.Name()+"__"+name)
	if i < 0 {
		t.Fatalf("there is no tool %s among %v", name, names(c))
	}
	return c.Tools()[i]
}

func call(t *testing.T, c *mcp.Client, name, arguments string) string {
	t.Helper()
	result, err := find(t, c, name).Call(t.Context(), arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result
}

// fails calls a tool that must fail, and returns the error.
func fails(t *testing.T, c *mcp.Client, name, arguments string) string {
	t.Helper()
	result, err := find(t, c, name).Call(t.Context(), arguments)
	if err == nil {
		t.Fatalf("%s returned %.100q", name, result)
	}
	return err.Error()
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}
