package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestProgramGoesOnWithoutAWrongKey runs the program on a config with a Claude, a
// Gemini and two agents of OpenAI's, of which one is called over the Responses API. It exits with status 0 whichever of their
// keys is wrong, and has asked that service once.
func TestProgramGoesOnWithoutAWrongKey(t *testing.T) {
	for _, wrong := range append(protocols(), protocol{name: "none"}) {
		t.Run(wrong.name, func(t *testing.T) {
			best := google()
			if wrong.name == best.name {
				best = claude()
			}
			config := "agents:\n"
			servers := map[string]*backendtest.Server{}
			for _, p := range protocols() {
				server := backendtest.NewProtocolServer(t, p.wire, func(c backendtest.Call) backendtest.Reply {
					if p.name == wrong.name {
						return failed(401, "Wrong key.", nil)
					}
					return voting(best, c)
				})
				servers[p.name] = server
				config += fmt.Sprintf("  - {id: %s, backend: {type: %s, model: %s, base_url: %q}}\n", p.name, p.kind, p.model, server.BaseURL)
			}
			status, r := runProgram(t, config)
			if status != app.ExitCompleted || r.Status != "completed" || r.Winner != best.name || r.Answer != "the answer of "+best.model {
				t.Errorf("exit status %d, %s, %s won with %q", status, r.Status, r.Winner, r.Answer)
			}
			if wrong.name == "none" {
				if len(r.Failed) != 0 || len(r.Votes) != len(servers) {
					t.Errorf("failed: %+v, votes: %+v", r.Failed, r.Votes)
				}
				return
			}
			if n := len(servers[wrong.name].Calls()); n != 1 {
				t.Errorf("the service that refuses the key was asked %d times", n)
			}
			if len(r.Failed) != 1 || r.Failed[0].Agent != wrong.name || !strings.Contains(r.Failed[0].Error, "auth (HTTP 401): Wrong key.") {
				t.Errorf("failed: %+v", r.Failed)
			}
		})
	}
}

// runProgram asks the panel of a config a question, and returns the exit status with
// what --json prints.
func runProgram(t *testing.T, config string) (int, report.Result) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "panel.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"HOME": dir}
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		environment[name] = testKey
	}
	var stdout, stderr bytes.Buffer
	status := app.Main([]string{"massgen", "--config", file, "--json", "energy?"}, app.Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Lookup:     func(name string) (string, bool) { value, set := environment[name]; return value, set },
		Interrupts: make(chan os.Signal),
	})
	var r report.Result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("exit status %d, %v: %s\n%s", status, err, stdout.String(), stderr.String())
	}
	return status, r
}
