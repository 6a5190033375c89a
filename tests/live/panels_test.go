package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// The turns below have at most these calls of models: a budget ends the turn before more.
const (
	loopCalls  = 8
	mixedCalls = 6 // for each agent
)

// panelUses are the calls of a service in the tests of panels.
func (s service) panelUses(list []service) (uses []backendtest.LiveUse) {
	tokens := func(calls, input, output int) backendtest.LiveUse {
		return backendtest.LiveUse{Calls: calls, Usage: backends.Usage{InputTokens: calls * input, OutputTokens: calls * output}}
	}
	uses = append(uses, tokens(loopCalls, 3000, 500))
	if hasMixed(list) {
		mixed := tokens(mixedCalls, 3000, 1000)
		if s.live().Hosts {
			mixed = tokens(mixedCalls, 15_000, 1000)
			mixed.WebSearches, mixed.CodeRuns = 4, 2
		}
		uses = append(uses, mixed)
	}
	if s.isOnlyKeyed() {
		uses = append(uses, tokens(mixedCalls, 1500, 1000))
	}
	return uses
}

// isOnlyKeyed reports whether type: auto may choose the service.
func (s service) isOnlyKeyed() bool { return s.name != "responses" && s.key != "" && s.baseURL == "" }

// hasMixed reports whether there are enough services for a mixed panel, and hasAuto whether type: auto has one
// to choose.
func hasMixed(list []service) bool { return len(configured(list)) > 1 }
func hasAuto(list []service) bool  { return slices.ContainsFunc(list, service.isOnlyKeyed) }

func configured(list []service) []service {
	return slices.DeleteFunc(slices.Clone(list), func(s service) bool { return s.missing != "" })
}

// backend is the service in a configuration, with more keys.
func (s service) backend(more string) string {
	keys := fmt.Sprintf("type: %s, model: %s", s.kind(), s.model)
	if s.baseURL != "" {
		keys += fmt.Sprintf(", base_url: %q", s.baseURL)
	}
	if s.name == "responses" {
		keys += ", api: responses"
	} else if s.name == "openai" && s.baseURL == "" {
		keys += ", api: chat"
	}
	return "{" + keys + more + "}"
}

// ask asks a panel by the program, with variables of the environment.
func ask(t *testing.T, env func(string) string, config, question string) (got report.Result) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "panel.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	status := app.Main([]string{"massgen", "--config", file, "--json", question}, app.Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, LocalServers: map[string]string{}, Interrupts: make(chan os.Signal),
		Lookup: func(name string) (string, bool) {
			if name == "HOME" {
				return dir, true
			}
			value := env(name)
			return value, value != ""
		},
	})
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || status != app.ExitCompleted {
		t.Fatalf("exit status %d, %v: %s\n%s", status, err, stdout.String(), stderr.String())
	}
	if len(got.Failed) > 0 || got.Answer == "" {
		t.Errorf("the answer is %q, and these failed: %+v", got.Answer, got.Failed)
	}
	return got
}

// testToolLoop has an agent that thinks write a file and read it.
func testToolLoop(t *testing.T, env func(string) string, s service) {
	more := ", cwd: work, reasoning: {effort: low}"
	switch {
	case s.name != "responses" && s.kind() == "openai": // in chat completions new models think or call tools
		more = ", cwd: work"
	case s.kind() == "claude":
		more += ", cache_ttl: 1h"
	}
	got := ask(t, env, fmt.Sprintf("agents:\n  - {id: a, backend: %s}\nbudget: {max_calls: %d}\n", s.backend(more), loopCalls),
		"Write the word tide into notes.txt with a tool. After that read the file with another tool, and tell me what it says.")
	written, err := os.ReadFile(filepath.Join(got.Snapshot, "notes.txt"))
	if err != nil || !strings.Contains(string(written), "tide") || !strings.Contains(got.Answer, "tide") {
		t.Errorf("it wrote %q, %v, and says %q", written, err, got.Answer)
	}
	var names []string
	for _, c := range got.ToolCalls {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, "write_file") || !slices.Contains(names, "read_file") {
		t.Errorf("it called %q", names)
	}
}

// testMixed has one panel of all services agree; those with hosted tools search and run code.
func testMixed(t *testing.T, env func(string) string, list []service) {
	list = configured(list)
	config := "agents:\n"
	hosts := 0
	for _, s := range list {
		more := ""
		if s.live().Hosts {
			hosts++
			more = ", enable_web_search: true, enable_code_execution: true, hosted_tool_max_uses: 2"
		}
		config += fmt.Sprintf("  - {id: %s, backend: %s}\n", s.name, s.backend(more))
	}
	config += fmt.Sprintf("budget: {max_calls: %d}\n", mixedCalls*len(list))
	got := ask(t, env, config, "How high is the Eiffel Tower, and what is 123456789 modulo 9973? Search the web for the first, and run code for the second, where you can.")
	used := map[string]int{}
	for _, c := range got.ToolCalls {
		used[c.Name]++
	}
	if hosts > 0 && (used[backends.WebSearch] == 0 || used[backends.CodeExecution] == 0) {
		t.Errorf("of %d agents with hosted tools, these were used: %v", hosts, used)
	}
	if len(got.Answers) != len(list) {
		t.Errorf("%d of %d agents answered", len(got.Answers), len(list))
	}
}

// testAuto has type: auto choose.
func testAuto(t *testing.T, env func(string) string) {
	ask(t, env, fmt.Sprintf("agents:\n  - &a {id: a, backend: {type: auto}}\n  - {<<: *a, id: b}\n  - {<<: *a, id: c}\nbudget: {max_calls: %d}\n", 3*mixedCalls),
		"What is the sum of 2 and 3? Answer with the number.")
}

// runAll runs all tests of one service.
func runAll(t *testing.T, env func(string) string, s service, backend backends.Backend) {
	live := s.live()
	live.Backend = backend
	backendtest.RunLive(t, live)
	t.Run("tool loop", func(t *testing.T) { testToolLoop(t, env, s) })
}
