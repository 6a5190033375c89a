//go:build clients

package clients

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClients have each client do all that the server offers it.
func TestClients(t *testing.T) {
	python, node := installed(t, "python", "bin", "python"), "node"
	for name, c := range map[string]struct {
		command string
		routes  []string // that it has to have used, of schemas
	}{
		"client.py":  {python, []string{chatRoute, chatStream, responseRoute, responseStream, modelsRoute, modelRoute, showRoute, cancelRoute, errorRoute}},
		"client.mjs": {node, []string{chatRoute, chatStream, responseRoute, responseStream, modelsRoute, modelRoute, showRoute, cancelRoute, errorRoute}},
		"aisdk.mjs":  {node, []string{chatStream}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			script := name
			if c.command == node { // modules are looked for beside a script
				script = installed(t, "node", copied(t, name))
			}
			cmd := exec.CommandContext(t.Context(), c.command, script, s.URL+"/v1", token)
			cmd.Dir = "testdata"
			run(t, cmd)
			s.checkRoutes(t, c.routes)
		})
	}
}

// copied copies a script to where its modules are, and returns its name there.
func copied(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(installed(t, "node"), name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// run runs a client and returns what it prints, and what it says beside that.
func run(t *testing.T, cmd *exec.Cmd) (printed, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

// TestCommandLine has the command line llm ask a panel, streaming, and go on with the conversation. By
// the Responses API it shows what the agents say to each other.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for protocol, c := range map[string]struct{ route, said string }{"completion: false": {chatStream, ""}, "responses: true": {responseStream, "ada voted for"}} {
		s := serve(t)
		home := t.TempDir()
		models := "- {model_id: panel, model_name: panel, api_base: \"" + s.URL + "/v1\", api_key_name: massgen, " + protocol + "}\n"
		for name, text := range map[string]string{"extra-openai-models.yaml": models, "keys.json": `{"massgen": "` + token + `"}`} {
			if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, asked := range []struct {
			args   []string
			answer string
		}{
			{[]string{"What is Go?"}, "ada on What is Go?"},
			{[]string{"--continue", "And then?"}, "ada on And then? after What is Go?"},
		} {
			cmd := exec.CommandContext(t.Context(), installed(t, "python", "bin", "llm"), append([]string{"prompt", "--model", "panel"}, asked.args...)...)
			cmd.Env = append(os.Environ(), "LLM_USER_PATH="+home)
			if printed, said := run(t, cmd); strings.TrimSpace(printed) != asked.answer || !strings.Contains(said, c.said) {
				t.Errorf("%s: %q prints %q, not %q, and says %q", protocol, asked.args, printed, asked.answer, said)
			}
		}
		s.checkRoutes(t, []string{c.route})
	}
}

// TestTerminal has the terminal program pi show what the agents say to each other while it comes, go on
// with the conversation, and run the tools that the panel calls.
func TestTerminal(t *testing.T) {
	t.Parallel()
	s := serve(t)
	home, work := t.TempDir(), t.TempDir()
	settings := filepath.Join(home, ".pi", "agent")
	models := `{"providers": {"massgen": {"baseUrl": "` + s.URL + `/v1", "api": "openai-completions", "apiKey": "` + token + `", "models": [{"id": "panel", "reasoning": true}]}}}`
	for name, text := range map[string]string{filepath.Join(settings, "models.json"): models, filepath.Join(work, "note.txt"): "rain"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, asked := range []struct {
		args   []string
		answer string
	}{
		{[]string{"--no-tools", "What is Go?"}, "ada on What is Go?"},
		{[]string{"--no-tools", "--continue", "And then?"}, "ada on And then? after What is Go?"},
		{[]string{"--no-session", "What does note.txt say?"}, "ada says rain"},
	} {
		cmd := exec.CommandContext(t.Context(), "node", append([]string{installed(t, "node", "node_modules", "@mariozechner", "pi-coding-agent", "dist", "cli.js"),
			"--offline", "--print", "--mode", "json", "--provider", "massgen", "--model", "panel"}, asked.args...)...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "HOME="+home)
		events, _ := run(t, cmd)
		if answer, thoughts, pieces := shown(t, events); answer != asked.answer || !strings.Contains(thoughts, "ada voted for") || pieces < 2 {
			t.Errorf("%q shows %q, after %d pieces of reasoning: %q", asked.args, answer, pieces, thoughts)
		}
	}
	s.checkRoutes(t, []string{chatStream})
}

// shown returns what pi has shown by its events: the last text, and the reasoning with its pieces.
func shown(t *testing.T, events string) (answer, thoughts string, pieces int) {
	t.Helper()
	for line := range strings.Lines(events) {
		var event struct {
			Update struct{ Type, Delta, Content string } `json:"assistantMessageEvent"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch event.Update.Type {
		case "thinking_delta":
			thoughts += event.Update.Delta
			pieces++
		case "text_end":
			answer = event.Update.Content
		}
	}
	return answer, thoughts, pieces
}
