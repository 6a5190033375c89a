package configs_test

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
)

// TestDigest is the same for what may differ from machine to machine, and for nothing else.
func TestDigest(t *testing.T) {
	const config = `
orchestrator: {planning_mode: false, max_turns: 7, answer_novelty_requirement: strict}
timeout_settings: {tool_timeout_seconds: 99}
agents:
  - id: ada
    system_message: Think.
    backend: {model: m, base_url: "http://127.0.0.1:1/v1", api_key: secret1, temperature: 0.5, cwd: here}
  - id: bob
    backend: {model: n, base_url: "http://127.0.0.1:1/v1", mcp_servers: [{name: own, command: server, env: {TOKEN: secret2}}], custom_tools: [{path: x.py, function: f, preset_args: {a: secret3}, env: {A: secret4}}]}
`
	digest := func(replaced ...string) string {
		t.Helper()
		c, err := configs.Parse("panel.yaml", []byte(strings.NewReplacer(replaced...).Replace(config)), configs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := digest()
	paths := func(permission string) string {
		return digest("planning_mode: false", "planning_mode: false, context_paths: [{path: site, permission: "+permission+"}]")
	}
	if paths("read") == paths("write") {
		t.Error("a folder to read and one to write are the same")
	}
	for _, same := range [][]string{{"secret1", "another"}, {"secret2", "another"}, {"cwd: here", "cwd: there"}, {"command: server", "command: its"}, {"secret3", "another"}, {"secret4", "another"}, {"x.py", "y.py"}} {
		if got := digest(same...); got != want {
			t.Errorf("with %q it is %s, not %s", same, got, want)
		}
	}
	for _, other := range [][]string{{"Think.", "Guess."}, {"model: n", "model: m"}, {"0.5", "0.6"}, {", cwd: here", ""}, {"name: own", "name: its"}, {"function: f", "function: g"}, {"id: bob", "id: bo"}, {":1/v1", ":2/v1"},
		{"planning_mode: false", "planning_mode: true"}, {"max_turns: 7", "max_turns: 8"}, {"strict", "lenient"}, {"99", "98"},
		{"planning_mode: false", "planning_mode: false, voting_sensitivity: balanced"}, {"planning_mode: false", "planning_mode: false, voting_threshold: 8"},
		{"planning_mode: false", "planning_mode: false, coordination: {planning_mode_instruction: Wait.}"}} {
		if got := digest(other...); got == want {
			t.Errorf("with %q it is the same", other)
		}
	}
}
