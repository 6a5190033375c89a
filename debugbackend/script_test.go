package debugbackend

import (
	"os"
	"strings"
	"testing"
)

func TestParseScriptErrorsNameTheLine(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"empty", "", "script: line 1: it has no rules"},
		{"no rules", "rules: []", "script: line 1: it has no rules"},
		{"unknown key", "rules:\n  - when: {agnt: a}\n    reply: {text: hi}", "script: line 2: unknown key agnt"},
		{"unknown key at the top", "rule: []", "script: line 1: unknown key rule"},
		{"no YAML", "rules:\n\t- x", "script: line 2: found character that cannot start any token"},
		{"second document", "rules: [{reply: {}}]\n---\nrules: []", "script: it is more than one YAML document"},
		{"no reply", "rules:\n  - reply: {}\n  - when: {agent: a}", "script: line 3: the rule has no reply"},
		{"two ends", "rules:\n  - reply: {hang: true, cut: true}", "script: line 2: a reply ends in one way: error, hang, cut or panic"},
		{"bad template", "rules:\n  - reply:\n      text: '{{.Question'", "script: line 3: template: text:1: unclosed action"},
		{"bad template in arguments", "rules:\n- reply:\n    tool_calls:\n    - {name: x, arguments: {a: ['{{end}}']}}", "script: line 4: template: text:1: unexpected {{end}}"},
		{"text is a list", "rules:\n  - reply:\n      text: [a]", "script: line 3: a text is wanted"},
		{"bad span", "rules:\n  - when: {round: two}\n    reply: {}", `script: line 2: a number such as 2 or 2+ is wanted, not "two"`},
		{"negative span", "rules:\n  - when: {round: -1}\n    reply: {}", `script: line 2: a number such as 2 or 2+ is wanted, not "-1"`},
		{"bad duration", "rules:\n  - reply: {delay: 5}", `script: line 2: a duration such as 150ms is wanted, not "5"`},
		{"negative duration", "rules:\n  - reply: {delay: -5s}", `script: line 2: a duration such as 150ms is wanted, not "-5s"`},
		{"bad kind", "rules:\n  - reply:\n      error: {kind: broken}", `script: line 3: "broken" is not a kind of error`},
		{"no kind", "rules:\n  - reply:\n      error: {message: x}", "script: line 2: the error has no kind"},
		{"bad target", "rules:\n  - reply: {vote: {agent: best}}", `script: line 2: "best" is not agent1, agent2, …, first, last, own or most_recent`},
		{"no target", "rules:\n  - reply: {vote: {reason: x}}", "script: line 2: a vote has either agent or containing"},
		{"two targets", "rules:\n  - reply: {vote: {agent: own, containing: x}}", "script: line 2: a vote has either agent or containing"},
		{"nameless tool call", "rules:\n  - reply: {tool_calls: [{arguments: {}}]}", "script: line 2: a tool call has no name"},
		{"bad role", "rules:\n  - when: {last: robot}\n    reply: {}", `script: line 2: last: "robot" is not a role`},
		{"negative chunks", "rules:\n  - reply: {chunks: -1}", "script: line 2: chunks is less than 0"},
		{"bad usage", "rules:\n  - reply: {usage: {tokens: 3}}", "script: line 2: unknown key tokens"},
		{"usage is a text", "rules:\n  - reply: {usage: much}", "script: line 2: usage is none or has input_tokens"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseScript([]byte(tc.script))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Fatalf("got  %v\nwant %s…", err, tc.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add(demoScript)
	f.Add([]byte("rules:\n- reply: {tool_calls: [{name: x, arguments: {a: &x [1, *x]}}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ParseScript(data); err == nil && len(s.rules) == 0 {
			t.Fatal("a script without rules")
		}
	})
}

func TestScriptWithEveryKeyParses(t *testing.T) {
	source, err := os.ReadFile("script.go")
	if err != nil {
		t.Fatal(err)
	}
	_, doc, _ := strings.Cut(string(source), "// YAML:\n")
	doc, _, found := strings.Cut(doc, "// A vote's agent")
	if !found {
		t.Fatal("the documentation has no script")
	}
	script := strings.ReplaceAll(strings.ReplaceAll(doc, "//\t", ""), "//\n", "")
	if _, err := ParseScript([]byte(script)); err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
}
