package toolbox

import (
	"slices"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/permission"
)

// TestIdleRules: a rule that can be about no call is told, and no other.
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
		if got := idleRules(config, lists); !slices.Equal(got, want) {
			t.Errorf("of %s it tells %q, want %q", c.rule, got, want)
		}
	}
}
