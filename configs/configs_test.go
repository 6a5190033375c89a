package configs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
)

func testTypes() []string {
	return []string{"auto", "openai", "azure_openai", "claude", "gemini", "chatcompletion"}
}

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	}
}

// everyIssue is what an error would say if it were not cut short.
func everyIssue(err error) string {
	var issues issuesError
	if !errors.As(err, &issues) {
		return err.Error()
	}
	lines := make([]string, len(issues))
	for i, issue := range issues {
		lines[i] = issue.String()
	}
	return strings.Join(lines, "\n")
}

func TestErrorsAreCutShort(t *testing.T) {
	var file strings.Builder
	for i := range 23 {
		fmt.Fprintf(&file, "unknown%d: 1\n", i)
	}
	_, err := Parse("f", []byte(file.String()), Options{})
	if err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.HasSuffix(err.Error(), "\nand 3 more") {
		t.Errorf("got %v", err)
	}
}

// TestParse runs the scripts in testdata. The command parse takes env=(A=1,B=2)
// and prints the errors, or the warnings and what Describe says; with only=WORD,
// the lines of it that hold WORD.
func TestParse(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if filepath.Base(filepath.Dir(path)) == "fuzz" || strings.Contains(path, "FuzzParse") {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			env := map[string]string{}
			for _, arg := range d.CmdArgs {
				if arg.Key != "env" {
					continue
				}
				for _, pair := range arg.Vals {
					name, value, _ := strings.Cut(pair, "=")
					env[name] = value
				}
			}
			config, err := Parse("panel.yaml", []byte(d.Input), Options{Lookup: lookupIn(env), BackendTypes: testTypes()})
			if err != nil {
				return everyIssue(err)
			}
			var b strings.Builder
			for _, w := range config.Warnings {
				b.WriteString("warning: " + w.String() + "\n")
			}
			if err := config.Describe(&b); err != nil {
				t.Fatal(err)
			}
			var only string
			if !d.HasArg("only") {
				return b.String()
			}
			d.ScanArgs(t, "only", &only)
			lines := slices.DeleteFunc(strings.SplitAfter(b.String(), "\n"), func(line string) bool {
				return !strings.Contains(line, only) && !strings.HasPrefix(line, "warning")
			})
			return strings.Join(lines, "")
		})
	})
}

// everyKey sets every key.
const everyKey = `
agents:
  - id: a
    system_message: "  Be brief.\n"
    backend:
      type: openai
      model: m
      base_url: http://127.0.0.1:1/v1
      api_key: ${KEY}
      api_version: "2024-10-21"
      api: responses
      tool_mode: native
      temperature: 0
      top_p: 0.5
      max_tokens: 10
      seed: -1
      stop: [END, "$$"]
      reasoning: {effort: low, summary: detailed, budget_tokens: 3}
      text: {verbosity: low}
      headers: {X-A: "1"}
      extra_headers: {X-B: "${KEY}"}
      extra_body: {n: 1, list: ["${KEY}", {deep: "${KEY}"}]}
      cwd: work
      context_paths: [{path: ../data}]
      enable_mcp_command_line: on
      command_line_allowed_commands: ["python.*", "^git .*$", make]
      command_line_blocked_commands: [rm]
      mcp_servers:
        - name: w
          type: stdio
          args: [-v, "${KEY}"]
          command: [npx, -y]
          env: {A: "1", W_KEY: weathersecret}
          cwd: /srv
          allowed_tools: []
          exclude_tools: [b]
      allowed_tools: [read_file]
      exclude_tools: [x]
  - backend: {model: gpt-5, mcp_servers: {h: {url: "http://127.0.0.1:1/mcp?token=querysecret", headers: {Authorization: Bearer headersecret}}}}
    context: {policy: window, window: {shown: 2}, warn_at: {at_limit: 50 messages}}
orchestrator:
  pace: eager
  decision: unanimous
  max_rounds: 3
  straggler_grace: 1m30s
  max_new_answers_per_agent: 2
  max_new_answers_global: 6
  self_vote: yes
  answer_novelty_requirement: strict
  final_answer_strategy: synthesize
  max_turns: 4
  max_attempts: 2
  max_tool_calls: 7
  snapshot_storage: ../kept
  max_tool_result_bytes: 2000
  agent_temporary_workspace: temp
  context_paths:
    - {path: ../site, permission: write, protected_paths: [index.html, "assets/"]}
    - {path: /srv/notes.md, permission: read}
timeout_settings:
  tool_timeout_seconds: 5
  orchestrator_timeout_seconds: 0.5
  initial_round_timeout_seconds: 600
  subsequent_round_timeout_seconds: 180
  round_timeout_grace_seconds: 0
ui:
  display_type: silent
context:
  policy: prune
  max_messages: 40
  keep_recent: 4
  keep_system: no
  window: {messages: 8, shown: 4, characters: 0}
  carry: tools
  warn_at: {approaching_limit: "75.5 %", at_limit: 100_000 tokens}
  summarize: {backend: {type: openai, model: small, api_key: "${KEY}", temperature: 0.5}}
topic: {detect: yes, backend: {model: gpt-5-mini, fallback: [gpt-5]}}
memory: {extract: on}
mcp_servers: {all: {command: docs, type: stdio}}
`

func TestParsedValues(t *testing.T) {
	got, err := Parse("f.yaml", []byte(everyKey), Options{Lookup: lookupIn(map[string]string{"KEY": "sk-12345678"})})
	if err != nil {
		t.Fatal(err)
	}
	context := policy.Settings{
		Kind: policy.Prune, MaxMessages: 40, KeepRecent: 4, WindowMessages: 8, WindowShown: 4,
		Carry:  policy.CarryTools,
		WarnAt: policy.Thresholds{Approaching: policy.Threshold{Percent: 75.5}, Limit: policy.Threshold{Tokens: 100_000}},
	}
	own := context
	own.Kind, own.WindowShown, own.WarnAt.Limit = policy.Window, 2, policy.Threshold{Messages: 50}
	want := &Config{
		File: "f.yaml",
		Agents: []Agent{
			{ID: "a", SystemMessage: "  Be brief.\n", Backend: Backend{
				Type: "openai", Model: "m", BaseURL: "http://127.0.0.1:1/v1", APIKey: "sk-12345678", APIVersion: "2024-10-21", API: "responses", ToolMode: "native",
				Params: backends.Params{
					Temperature: new(float64), TopP: new(0.5), MaxTokens: new(10), Seed: new(int64(-1)),
					Stop: []string{"END", "$"}, ReasoningEffort: "low", Verbosity: "low", ReasoningSummary: "detailed", ReasoningTokens: new(3),
					Headers:   map[string]string{"X-A": "1", "X-B": "sk-12345678"},
					ExtraBody: map[string]any{"n": 1, "list": []any{"sk-12345678", map[string]any{"deep": "sk-12345678"}}},
				},
			}, Tools: Tools{
				CWD: "work", ContextPaths: []ContextPath{{Path: "../data", At: "f.yaml:24:23"}}, RunCommands: true, AllowedCommands: []string{"python*", "git", "make"}, BlockedCommands: []string{"rm"},
				Servers: []MCPServer{{
					Name: "w", Type: "stdio", Command: "npx", Args: []string{"-y", "-v", "sk-12345678"}, CWD: "/srv",
					Env: map[string]string{"A": "1", "W_KEY": "weathersecret"}, AllowedTools: []string{}, ExcludeTools: []string{"b"},
				}},
				AllowedTools: []string{"read_file"}, ExcludeTools: []string{"x"},
			}, Context: context},
			{ID: "agent2", Backend: Backend{Model: "gpt-5"}, Tools: Tools{Servers: []MCPServer{{
				Name: "h", URL: "http://127.0.0.1:1/mcp?token=querysecret", Headers: map[string]string{"Authorization": "Bearer headersecret"},
			}}}, Context: own},
		},
		Orchestrator: Orchestrator{
			Rules: kernel.Config{
				Pace: kernel.PaceEager, Decision: election.Unanimous, MaxRounds: 3, StragglerGrace: 90 * time.Second,
				MaxNewAnswersPerAgent: 2, MaxNewAnswersGlobal: 6, SelfVote: true, Final: kernel.Synthesize,
				TurnLimit: 500 * time.Millisecond, FirstRoundLimit: 10 * time.Minute, RoundLimit: 3 * time.Minute,
			},
			AnswerNoveltyRequirement: noveltyStrict, ToolTimeout: 5 * time.Second, SnapshotStorage: "../kept",
			Limits:                  effect.Limits{MaxTurns: 4, MaxAttempts: 2, MaxToolCalls: 7, ResultLimit: 2000, ToolLimit: 5000, MaxOverlap: 500},
			AgentTemporaryWorkspace: "temp", ContextPaths: []ContextPath{
				{Path: "../site", Write: true, Protected: []string{"index.html", "assets/"}, At: "f.yaml:58:7"},
				{Path: "/srv/notes.md", At: "f.yaml:59:7"},
			},
		},
		UI:          UI{DisplayType: "silent"},
		Attachments: "refuse",
		Context:     context,
		Summary:     Backend{Type: "openai", Model: "small", APIKey: "sk-12345678", Params: backends.Params{Temperature: new(0.5)}},
		Topic:       Sidecall{Made: true, Backend: Backend{Model: "gpt-5-mini", Fallback: []Backend{{Model: "gpt-5"}}}},
		Memory:      Sidecall{Made: true},
		Servers:     []MCPServer{{Name: "all", Type: "stdio", Command: "docs"}},
		Warnings:    []Issue{{"f.yaml", 57, 3, "orchestrator.context_paths is shown to agents that have a cwd, and not to agent2"}},
	}
	want.Memory.Backend = want.Agents[0].Backend
	want.Memory.Backend.ToolMode = ""
	unseen := []string{"secrets", "places", "layers", "Text"}
	ignored := cmp.FilterPath(func(p cmp.Path) bool { return slices.Contains(unseen, p.String()) }, cmp.Ignore())
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Error(diff)
	}
}

func TestPlaces(t *testing.T) {
	list, err := Parse("list.yaml", []byte(`
agents:
  - backend: {type: a, model: m}
  - backend:
      type: b
      reasoning: {effort: low}
      extra_headers: {X: y}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	single, err := Parse("", []byte("agent: {backend: {type: a, seed: 1}}\ntopic: {backend: {type: b, headers: {}}}"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for section, want := range map[string]string{"topic": "config:2:28", "memory": "", "context.summarize": ""} {
		if got := single.CallPlace(section, "headers"); got != want {
			t.Errorf("headers of %s: %q, want %q", section, got, want)
		}
	}
	if got, want := single.CallPlace("memory", "seed"), "config:1:28"; got != want {
		t.Errorf("seed of the first agent: %q, want %q", got, want)
	}
	for _, c := range []struct {
		config *Config
		agent  int
		key    string
		want   string
	}{
		{list, 0, "model", "list.yaml:3:24"},
		{list, 1, "type", "list.yaml:5:7"},
		{list, 1, "reasoning_effort", "list.yaml:6:19"},
		{list, 1, "headers", "list.yaml:7:7"},
		{list, 0, "seed", ""},
		{list, 2, "type", ""},
		{single, 0, "seed", "config:1:28"},
		{Default(), 0, "seed", ""},
	} {
		if got := c.config.BackendPlace(c.agent, c.key); got != c.want {
			t.Errorf("%s of agent %d: %q, want %q", c.key, c.agent, got, c.want)
		}
	}
}

func TestIssueString(t *testing.T) {
	for want, issue := range map[string]Issue{
		`a\u000ab.yaml:1:2: x\u0007`: {File: "a\nb.yaml", Line: 1, Column: 2, Message: "x\a"},
		"a.yaml:3: m":                {File: "a.yaml", Line: 3, Message: "m"},
		"a.yaml: m":                  {File: "a.yaml", Message: "m"},
	} {
		if got := issue.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestMaxOverlap(t *testing.T) {
	got := []int{noveltyLenient.maxOverlap(), noveltyBalanced.maxOverlap(), noveltyStrict.maxOverlap()}
	if want := []int{0, 700, 500}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestSectionNames checks that no key is in a section's table twice.
func TestSectionNames(t *testing.T) {
	for _, section := range homes() {
		names := slices.Concat(section.names, section.also)
		for _, keys := range section.massgen {
			names = append(names, strings.Fields(keys.names)...)
		}
		slices.Sort(names)
		for i := 1; i < len(names); i++ {
			if names[i] == names[i-1] {
				t.Errorf("%s: %s is there twice", section.where, names[i])
			}
		}
	}
}

// TestIssueIsFound shows how a caller gets at the place of the first error.
func TestIssueIsFound(t *testing.T) {
	_, err := Parse("f.yaml", []byte("agents: []\nagnets: []\n"), Options{})
	var issue Issue
	if !errors.As(err, &issue) || issue.Line != 2 || issue.Column != 1 {
		t.Errorf("%#v", err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"temperature", "top_p", "model", "seed"}
	for word, want := range map[string]string{
		"temprature": "temperature", "tempreature": "temperature", "modle": "model", "top-p": "top_p",
		"sead": "seed", "Model": "model", "x": "", "temp": "temperature", "tem": "", "frobnicate": "", "": "", strings.Repeat("a", 1000): "",
	} {
		if got, _ := Nearest(word, names); got != want {
			t.Errorf("%.20s: got %q, want %q", word, got, want)
		}
	}
}

// FuzzParse checks that Parse never panics and that each error is one line with
// a message.
func FuzzParse(f *testing.F) {
	for _, example := range Examples() {
		data, _ := ReadExample(example.Name)
		f.Add(data)
	}
	for _, seed := range []string{
		"", "---\n", "a: &a [*a]", "agents: &a [*a]", "agent: &a {<<: *a}", "agent: {<<: [1, {id: x}]}", "{a: 1, a: 2}", "agents: [{id: \"\\n\"}]",
		"agent: {backend: {extra_body: &x {y: *x}}}", "agent: {backend: {extra_body: {1: 2}}}", "? [a]\n: b", "agent: {id: !!binary aGk=}",
		"a\x00b", "\xff\xfe", "agent: {backend: {seed: 99999999999999999999}}", "agent: {backend: {model: \"${\"}}", "--- a\n--- b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { parseAny(t, data) })
}

// FuzzParseMutated is FuzzParse of files that validate, with lines taken out, doubled, moved,
// and given other values: what is nearly right comes further than what is no config at all.
func FuzzParseMutated(f *testing.F) {
	mutate := mutations()
	var files [][]byte
	for _, example := range Examples() {
		data, ok := ReadExample(example.Name)
		if !ok {
			f.Fatal(example.Name)
		}
		f.Add(uint8(len(files)), []byte{})
		for op := range byte(len(mutate)) {
			f.Add(uint8(len(files)), []byte{op, 3, op, op, 11, 7})
		}
		files = append(files, data)
	}
	f.Fuzz(func(t *testing.T, file uint8, edits []byte) {
		lines := strings.Split(string(files[int(file)%len(files)]), "\n")
		for ; len(edits) >= 3 && len(lines) > 0; edits = edits[3:] {
			op := mutate[int(edits[0])%len(mutate)]
			lines = op(lines, int(edits[1])%len(lines), int(edits[2]))
		}
		parseAny(t, []byte(strings.Join(lines, "\n")))
	})
}

// oddValues are put in the place of a value of a config.
func oddValues() []string {
	return []string{
		"", "~", "[]", "{}", "-1", "0", "1e400", ".nan", "true", `"\u0000"`, "${NOT_SET}", "${", "*a", "&a [*a]", "!!binary aGk=", "| \n  a", "<<: *a",
		"99999999999999999999", "../../etc/passwd", "2026-11-23", "[[[[]]]]", "{a: {b: {c: d}}}", strings.Repeat("x", 5000),
	}
}

// mutations change one line of a config; n is a number of chance.
func mutations() []func(lines []string, at, n int) []string {
	return []func(lines []string, at, n int) []string{
		func(lines []string, at, _ int) []string { return slices.Delete(lines, at, at+1) },
		func(lines []string, at, _ int) []string { return slices.Insert(lines, at, lines[at]) },
		func(lines []string, at, n int) []string { // move
			line := lines[at]
			lines = slices.Delete(lines, at, at+1)
			return slices.Insert(lines, n%(len(lines)+1), line)
		},
		func(lines []string, at, n int) []string { // indent
			lines[at] = strings.Repeat(" ", n%9) + strings.TrimLeft(lines[at], " ")
			return lines
		},
		func(lines []string, at, n int) []string { // another value
			key, _, _ := strings.Cut(lines[at], ":")
			lines[at] = key + ": " + oddValues()[n%len(oddValues())]
			return lines
		},
		func(lines []string, at, n int) []string { // another key
			_, value, _ := strings.Cut(lines[at], ":")
			key, _, _ := strings.Cut(lines[n%len(lines)], ":")
			lines[at] = key + ":" + value
			return lines
		},
		func(lines []string, at, n int) []string { // another byte
			if line := []byte(lines[at]); len(line) > 0 {
				line[n%len(line)] ^= byte(1 + n%7)
				lines[at] = string(line)
			}
			return lines
		},
	}
}

// parseAny parses a file that may be anything.
func parseAny(t *testing.T, data []byte) {
	t.Helper()
	config, err := Parse("f.yaml", data, Options{Lookup: lookupIn(nil), BackendTypes: append(testTypes(), simulatedType)})
	if (config == nil) == (err == nil) {
		t.Fatal("want either a config or an error")
	}
	if err == nil {
		if len(config.Agents) == 0 {
			t.Fatal("no agents")
		}
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if rest, ok := strings.CutPrefix(line, "and "); ok && strings.HasSuffix(rest, " more") {
			continue // of many errors the first are shown
		}
		if place, message, ok := strings.Cut(line, ": "); !ok || !strings.HasPrefix(place, "f.yaml") || len(message) < 8 {
			t.Fatalf("not a one-line error: %q", line)
		}
	}
}

// A panel has a limit, which is looked at before its agents are: each is compared with all
// others.
func TestAgentsOfAPanelAreLimited(t *testing.T) {
	file := func(agents int) []byte {
		var b strings.Builder
		b.WriteString("agents:\n")
		for i := range agents {
			fmt.Fprintf(&b, "  - {id: a%d, backend: {type: openai, model: gpt-4o}}\n", i)
		}
		return []byte(b.String())
	}
	config, err := Parse("f.yaml", file(mostAgents), Options{Lookup: lookupIn(nil), BackendTypes: testTypes()})
	if err != nil || len(config.Agents) != mostAgents {
		t.Errorf("%d agents: %v", mostAgents, err)
	}
	_, err = Parse("f.yaml", file(mostAgents+1), Options{Lookup: lookupIn(nil), BackendTypes: testTypes()})
	if want := "agents has 5001 entries; a panel has at most 5000"; err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("want the one line %q, got: %v", want, err)
	}
}
