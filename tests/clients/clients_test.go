//go:build clients

package clients

import (
	"bytes"
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

// run runs a client and returns what it prints.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// TestCommandLine has the command line llm ask a panel, streaming, and go on with the conversation.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := serve(t)
	home := t.TempDir()
	models := "- {model_id: panel, model_name: panel, api_base: \"" + s.URL + "/v1\", api_key_name: massgen}\n"
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
		if got := strings.TrimSpace(run(t, cmd)); got != asked.answer {
			t.Errorf("%q prints %q, not %q", asked.args, got, asked.answer)
		}
	}
	s.checkRoutes(t, []string{chatStream})
}
