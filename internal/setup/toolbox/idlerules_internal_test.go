package toolbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/permission"
)

// TestIdleRules: a rule that can never match is reported, and no other.
func TestIdleRules(t *testing.T) {
	lists := []toolList{{all: []backends.Tool{
		{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{},"content":{}}}`)},
		{Name: "mcp__docs__find", Schema: []byte(`{"type":"object"}`)},
	}}, {}}
	with := func(name string) map[string]string { return map[string]string{name: "*"} }
	for _, c := range []struct {
		rule permission.Rule
		want string
	}{
		{permission.Rule{Tool: "write_*", Arguments: with("Path")}, ""},
		{permission.Rule{Tool: "*", Arguments: with("word")}, ""}, // a schema that tells of none
		{permission.Rule{Tool: "mcp__docs__find", Arguments: with("word")}, ""},
		{permission.Rule{Tool: "writefile"}, "permissions.rules[0] holds for no call: no agent has a tool writefile; did you mean write_file?"},
		{permission.Rule{Tool: "find"}, "permissions.rules[0] holds for no call: no agent has a tool find; did you mean mcp__docs__find?"},
		{permission.Rule{Tool: "run_command"}, "permissions.rules[0] holds for no call: no agent has a tool run_command"},
		{permission.Rule{Tool: "write_file", Arguments: with("pth")}, "permissions.rules[0] holds for no call: write_file has no argument pth; did you mean path?"},
	} {
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		c.rule.Action = permission.Deny
		config := &configs.Config{Permissions: configs.Permissions{Rules: permission.Rules{Rules: []permission.Rule{c.rule}}}}
		if got, _ := idleRules(config, lists); !slices.Equal(got, want) {
			t.Errorf("of %s it tells %q, want %q", c.rule, got, want)
		}
	}
}

// TestForesee: without its MCP servers, a config's rules are checked as far as its own tools go.
func TestForesee(t *testing.T) {
	rule := func(tool string) permission.Rule { return permission.Rule{Action: permission.Deny, Tool: tool} }
	config := &configs.Config{
		Agents:  []configs.Agent{{ID: "a", Tools: configs.Tools{CWD: "work", AllowedTools: []string{"read_file", "find"}}}},
		Servers: []configs.MCPServer{{Name: "docs"}},
		Permissions: configs.Permissions{Rules: permission.Rules{Rules: []permission.Rule{
			rule("writefile"), rule("mcp__docs__find"), rule("mcp__dosc__find"), rule("*"), rule("write_*"), rule("MCP__*"), rule("run_command"),
		}}},
	}
	want := []string{
		"permissions.rules[0] holds for no call: no agent has a tool writefile; did you mean write_file?",
		"permissions.rules[2] holds for no call: no agent has a tool mcp__dosc__find",
		"permissions.rules[6] holds for no call: no agent has a tool run_command",
		"not checked, since only a run lists the tools of MCP servers: find in allowed_tools of a, permissions.rules[1], permissions.rules[5]",
	}
	if got := Foresee(config); !slices.Equal(got, want) {
		t.Errorf("it tells %q, want %q", got, want)
	}
	config.Servers = nil
	if got := Foresee(config); len(got) != 6 || slices.ContainsFunc(got, func(notice string) bool { return strings.Contains(notice, "not checked") }) {
		t.Errorf("without servers it tells %q", got)
	}
}
