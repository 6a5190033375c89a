package toolbox

import (
	"slices"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// TestIdleRules: a rule that can be about no call is told, and no other.
func TestIdleRules(t *testing.T) {
	lists := []toolList{{all: []backends.Tool{
		{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{},"content":{}}}`)},
		{Name: "mcp__docs__find", Schema: []byte(`{"type":"object"}`)},
	}}, {}}
	with := func(name string) map[string]string { return map[string]string{name: "*"} }
	for _, c := range []struct {
		rule configs.Permission
		want string
	}{
		{configs.Permission{Tool: "write_*", Arguments: with("Path")}, ""},
		{configs.Permission{Tool: "*", Arguments: with("word")}, ""}, // a schema that tells of none
		{configs.Permission{Tool: "mcp__docs__find", Arguments: with("word")}, ""},
		{configs.Permission{Tool: "writefile"}, "permissions.rules[0] holds for no call: no agent has a tool writefile; did you mean write_file?"},
		{configs.Permission{Tool: "find"}, "permissions.rules[0] holds for no call: no agent has a tool find; did you mean mcp__docs__find?"},
		{configs.Permission{Tool: "run_command"}, "permissions.rules[0] holds for no call: no agent has a tool run_command"},
		{configs.Permission{Tool: "write_file", Arguments: with("pth")}, "permissions.rules[0] holds for no call: write_file has no argument pth; did you mean path?"},
	} {
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		c.rule.Action = configs.PermitDeny
		config := &configs.Config{Permissions: configs.Permissions{Rules: []configs.Permission{c.rule}}}
		if got := idleRules(config, lists); !slices.Equal(got, want) {
			t.Errorf("of %s it tells %q, want %q", c.rule, got, want)
		}
	}
}
