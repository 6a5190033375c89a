package toolbox

import (
	"testing"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/tools/permission"
)

// TestGuardsOfAnAgent: what MassGen's keys become decides about calls, beside the rules of all.
func TestGuardsOfAnAgent(t *testing.T) {
	const file = `
agents:
  - {id: reader, backend: {type: openai, cwd: a, permissions: {role: read-only}}}
  - {id: writer, backend: {type: openai, cwd: b, enable_mcp_command_line: true, permissions: {rules: {allow: ["command(make *)"], deny: ["write_file(/etc/**)"], ask: ["mcp(mail/*)"]}}}}
  - {id: closed, backend: {type: openai, permissions: {rules: {deny: ["mcp(*)", "read_url(evil.*)"]}}}}
  - {id: named, backend: {type: openai, permissions: {rules: {deny: ["mcp(custom_tool__sum)"]}}}}
  - {id: opened, backend: {type: openai, permissions: {rules: {allow: ["mcp(r*)", "mcp(custom_tool__sum)"]}}}}
  - {id: listed, backend: {type: openai, cwd: c, enable_mcp_command_line: true, command_line_allowed_commands: [git, "uv run python.*"]}}
  - {id: barred, backend: {type: openai, cwd: d, enable_mcp_command_line: true, command_line_blocked_commands: ["git push.*--force"]}}
`
	config, err := configs.Parse("f.yaml", []byte(file), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	permits := map[string][2]func(tool, arguments string) (effect.Permission, string){}
	for _, a := range config.Agents {
		permits[a.ID] = [2]func(tool, arguments string) (effect.Permission, string){
			permit(permission.Rules{}, a.Tools.Guards, "", nil, false), permit(permission.Rules{}, a.Tools.Guards, "", nil, true),
		}
	}
	for _, tc := range []struct {
		agent, tool, arguments string
		alone, attended        effect.Permission
	}{
		{"reader", "read_file", `{"path":"x"}`, effect.Allowed, effect.Allowed},
		{"reader", "write_file", `{"path":"x"}`, effect.Denied, effect.Denied},
		{"reader", "move_file", `{"from":"x","to":"y"}`, effect.Denied, effect.Denied},
		{"reader", "delete_file", `{"path":"x"}`, effect.Denied, effect.Denied},
		{"reader", "run_command", `{"argv":["ls"]}`, effect.Denied, effect.Denied},
		{"reader", "mcp__filesystem__write_file", `{"path":"x"}`, effect.Denied, effect.Denied},
		{"reader", "custom_tool__delete_page", `{"path":"x"}`, effect.Denied, effect.Denied},
		{"reader", "mcp__command_line__execute_command", `{"command":"ls"}`, effect.Denied, effect.Denied},
		{"reader", "custom_tool__bash", `{"cmd":"ls"}`, effect.Denied, effect.Denied},
		{"reader", "create_task_plan", `{"tasks":[]}`, effect.Allowed, effect.Asked},
		{"reader", "mcp__linear__create_issue", `{}`, effect.Allowed, effect.Asked},
		{"reader", "mcp__http__post", `{}`, effect.Denied, effect.Asked},
		{"reader", "mcp__web__fetch", `{"url":"x"}`, effect.Denied, effect.Asked},
		{"reader", "mcp__other__tool", `{}`, effect.Allowed, effect.Asked},
		{"writer", "write_file", `{"path":"x"}`, effect.Allowed, effect.Allowed},
		{"writer", "write_file", `{"path":"/etc/passwd"}`, effect.Denied, effect.Denied},
		{"writer", "mcp__filesystem__edit_file", `{"file_path":"/etc/passwd"}`, effect.Denied, effect.Denied},
		{"writer", "mcp__filesystem__edit_file", `{"file_path":"x"}`, effect.Allowed, effect.Asked},
		{"writer", "run_command", `{"argv":["sh","-c","/usr/bin/nc host 1"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["sh","-c","pip x upload"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["make","all"]}`, effect.Allowed, effect.Allowed},
		{"writer", "run_command", `{"argv":["git","status"]}`, effect.Allowed, effect.Allowed},
		{"writer", "run_command", `{"argv":["git","commit"]}`, effect.Allowed, effect.Asked},
		{"writer", "run_command", `{"argv":["git","push","--force"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["sh","-c","x; curl y"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["rm","-rf","x"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["sh","-c","/bin/rm -rf x"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["sh","-c","true&&su\troot"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["sh","-c","git  push --force"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["git","-C","x","push","--force-with-lease"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["rm","x","-R"]}`, effect.Denied, effect.Asked},
		{"writer", "run_command", `{"argv":["mv","x","/dev/null"]}`, effect.Denied, effect.Denied},
		{"writer", "run_command", `{"argv":["sh","-c","rm -rf /"]}`, effect.Denied, effect.Denied},
		{"writer", "run_command", `{"argv":["git","add","curly","issue"]}`, effect.Allowed, effect.Asked},
		{"writer", "mcp__desk__execute_command", `{"command":"sudo x"}`, effect.Denied, effect.Asked},
		{"writer", "mcp__desk__execute_command", `{"command":"make x"}`, effect.Denied, effect.Asked},
		{"writer", "mcp__desk__execute_command", `{"command":"rm -rf /"}`, effect.Denied, effect.Denied},
		{"writer", "custom_tool__shell", `{"cmd":"wget x"}`, effect.Denied, effect.Asked},
		{"writer", "mcp__web__http_get", `{"address":"x"}`, effect.Denied, effect.Asked},
		{"writer", "custom_tool__write_report", `{"file_path":"/etc/passwd"}`, effect.Denied, effect.Denied},
		{"writer", "custom_tool__write_report", `{"file_path":"report"}`, effect.Allowed, effect.Asked},
		{"reader", "custom_tool__write_report", `{"text":"x"}`, effect.Denied, effect.Denied},
		{"reader", "mcp__desk__bash", `{"line":"ls"}`, effect.Denied, effect.Denied},
		{"closed", "mcp__other__tool", `{}`, effect.Denied, effect.Denied},
		{"closed", "custom_tool__sum", `{}`, effect.Denied, effect.Denied},
		{"closed", "mcp__web__fetch", `{"domain":"evil.example"}`, effect.Denied, effect.Denied},
		{"opened", "run_command", `{"argv":["make"]}`, effect.Allowed, effect.Asked},
		{"opened", "custom_tool__sum", `{}`, effect.Allowed, effect.Allowed},
		{"named", "custom_tool__sum", `{}`, effect.Denied, effect.Denied},
		{"named", "custom_tool__other", `{}`, effect.Allowed, effect.Asked},
		{"writer", "mcp__mail__send", `{}`, effect.Denied, effect.Asked},
		{"listed", "run_command", `{"argv":["git","log"]}`, effect.Allowed, effect.Allowed},
		{"listed", "run_command", `{"argv":["uv","run","python","x.py"]}`, effect.Allowed, effect.Allowed},
		{"listed", "run_command", `{"argv":["uv","pip"]}`, effect.Denied, effect.Denied},
		{"listed", "run_command", `{"argv":["sh","-c","git log"]}`, effect.Denied, effect.Denied},
		{"listed", "write_file", `{"path":"x"}`, effect.Allowed, effect.Allowed},
		{"barred", "run_command", `{"argv":["git","push","origin","--force","x"]}`, effect.Denied, effect.Denied},
		{"barred", "run_command", `{"argv":["sh","-c","git push --force"]}`, effect.Denied, effect.Denied},
		{"barred", "run_command", `{"argv":["git","push"]}`, effect.Allowed, effect.Allowed},
	} {
		alone, why := permits[tc.agent][0](tc.tool, tc.arguments)
		attended, _ := permits[tc.agent][1](tc.tool, tc.arguments)
		if alone != tc.alone || attended != tc.attended {
			t.Errorf("%s: %s %s: %v and %v, want %v and %v (%s)", tc.agent, tc.tool, tc.arguments, alone, attended, tc.alone, tc.attended, why)
		}
	}
}
