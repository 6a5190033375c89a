package configs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
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

// TestParse runs the scripts in testdata. The command parse takes env=(A=1,B=2)
// and prints the errors, or the warnings and what Describe says; with only=WORD,
// the lines of it that hold WORD.
func TestParse(t *testing.T) {
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
				return err.Error()
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

func TestParsedValues(t *testing.T) {
	const file = `
agents:
  - id: a
    system_message: "  Be brief.\n"
    backend:
      type: openai
      model: m
      base_url: http://127.0.0.1:1/v1
      api_key: ${KEY}
      api_version: "2024-10-21"
      temperature: 0
      top_p: 0.5
      max_tokens: 10
      seed: -1
      stop: [END, "$$"]
      reasoning_effort: low
      headers: {X-A: "1"}
      extra_headers: {X-B: "${KEY}"}
      extra_body: {n: 1, list: ["${KEY}", {deep: "${KEY}"}]}
  - backend: {model: gpt-5}
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
timeout_settings:
  orchestrator_timeout_seconds: 0.5
  initial_round_timeout_seconds: 600
  subsequent_round_timeout_seconds: 180
  round_timeout_grace_seconds: 0
ui:
  display_type: simple
  logging_enabled: off
`
	got, err := Parse("f.yaml", []byte(file), Options{Lookup: lookupIn(map[string]string{"KEY": "sk-12345678"})})
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		File: "f.yaml",
		Agents: []Agent{
			{ID: "a", SystemMessage: "  Be brief.\n", Backend: Backend{
				Type: "openai", Model: "m", BaseURL: "http://127.0.0.1:1/v1", APIKey: "sk-12345678", APIVersion: "2024-10-21",
				Params: backends.Params{
					Temperature: new(float64), TopP: ptr(0.5), MaxTokens: ptr(10), Seed: ptr(int64(-1)),
					Stop: []string{"END", "$"}, ReasoningEffort: "low",
					Headers:   map[string]string{"X-A": "1", "X-B": "sk-12345678"},
					ExtraBody: map[string]any{"n": 1, "list": []any{"sk-12345678", map[string]any{"deep": "sk-12345678"}}},
				},
			}},
			{ID: "agent2", Backend: Backend{Model: "gpt-5"}},
		},
		Orchestrator: Orchestrator{
			Pace: PaceEager, Decision: DecisionUnanimous, MaxRounds: 3, StragglerGrace: 90 * time.Second,
			MaxNewAnswersPerAgent: 2, MaxNewAnswersGlobal: 6, SelfVote: true,
			AnswerNoveltyRequirement: NoveltyStrict, FinalAnswerStrategy: Synthesize, MaxTurns: 4, MaxAttempts: 2,
		},
		Timeouts: Timeouts{Orchestrator: 500 * time.Millisecond, InitialRound: 10 * time.Minute, SubsequentRound: 3 * time.Minute},
		UI:       UI{DisplayType: "simple"},
	}
	ignoreSecrets := cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "secrets" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, ignoreSecrets); diff != "" {
		t.Error(diff)
	}
	if got := got.Redact("key sk-12345678, header 1"); got != "key ***, header 1" {
		t.Error(got)
	}
}

func ptr[V any](v V) *V { return &v }

func TestMaxOverlap(t *testing.T) {
	got := []float64{NoveltyLenient.MaxOverlap(), NoveltyBalanced.MaxOverlap(), NoveltyStrict.MaxOverlap()}
	if want := []float64{1, 0.7, 0.5}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestSectionNames checks that no key is in a section's table twice.
func TestSectionNames(t *testing.T) {
	check := func(section string, names []string, ignored []ignoredKey) {
		for _, k := range ignored {
			names = append(names, k.name)
		}
		slices.Sort(names)
		for i := 1; i < len(names); i++ {
			if names[i] == names[i-1] {
				t.Errorf("%s: %s is there twice", section, names[i])
			}
		}
	}
	check("top", topSection().names(), topSection().ignored)
	check("agent", agentSection().names(), agentSection().ignored)
	check("backend", backendSection().names(), backendSection().ignored)
	check("reasoning", reasoningSection().names(), reasoningSection().ignored)
	check("orchestrator", orchestratorSection().names(), orchestratorSection().ignored)
	check("timeout_settings", timeoutSection().names(), timeoutSection().ignored)
	check("ui", uiSection().names(), uiSection().ignored)
}

// TestIssueIsFound shows how a caller gets at the place of the first error.
func TestIssueIsFound(t *testing.T) {
	_, err := Parse("f.yaml", []byte("agents: []\nagnets: []\n"), Options{})
	var issue Issue
	if !errors.As(err, &issue) || issue.Line != 2 || issue.Column != 1 {
		t.Errorf("%#v", err)
	}
}

func TestLoad(t *testing.T) {
	t.Chdir(t.TempDir())
	panel := "agent: {id: mine, backend: {type: auto}}\n"
	for _, path := range []string{"one_agent.yaml", "other.yaml"} {
		if err := os.WriteFile(path, []byte(panel), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder.yaml", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, file, firstID, err string }{
		{"other.yaml", "other.yaml", "mine", ""},
		{"one_agent.yaml", "one_agent.yaml", "mine", ""},
		{"./one_agent.yaml", "./one_agent.yaml", "mine", ""},
		{"@examples/one_agent", "@examples/one_agent", "assistant", ""},
		{"@examples/one_agent.yaml", "@examples/one_agent.yaml", "assistant", ""},
		{"configs/one_agent.yaml", "@examples/one_agent", "assistant", ""},
		{"three_agents.yaml", "@examples/three_agents", "researcher", ""},
		{"three_agents", "@examples/three_agents", "researcher", ""},
		{"elsewhere/three_agents.yaml", "", "", "elsewhere/three_agents.yaml: no such config file; did you mean @examples/three_agents?"},
		{"tree_agents.yaml", "", "", "tree_agents.yaml: no such config file; did you mean @examples/three_agents?"},
		{"@examples/four", "", "", "@examples/four: no such example; there are "},
		{"@examples/../one_agent", "", "", "@examples/../one_agent: no such example; there are "},
		{"zzz", "", "", "zzz: no such config file; give the path of a YAML file or a shipped one: all_settings, "},
		{"", "", "", "no config file is named; give the path of a YAML file or a shipped one: all_settings, "},
		{"folder.yaml", "", "", "cannot read the config: read folder.yaml: is a directory"},
	} {
		config, err := Load(tt.name, Options{BackendTypes: testTypes()})
		switch {
		case tt.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: got %v, want %s", tt.name, err, tt.err)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.name, err)
		case config.File != tt.file || config.Agents[0].ID != tt.firstID:
			t.Errorf("%q: got %s with %s", tt.name, config.File, config.Agents[0].ID)
		}
	}
}

func TestExamplesLoadWithoutWarnings(t *testing.T) {
	var names []string
	for _, example := range Examples() {
		names = append(names, example.Name)
		config, err := Load("@examples/"+example.Name, Options{
			Lookup:       lookupIn(map[string]string{"OPENROUTER_API_KEY": "sk-or-12345678"}),
			BackendTypes: testTypes(),
		})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range config.Warnings {
			t.Error(w)
		}
		if strings.TrimSpace(example.Summary) == "" || len(example.Summary) > 90 || strings.HasPrefix(example.Summary, "#") {
			t.Errorf("%s: summary %q", example.Name, example.Summary)
		}
	}
	want := []string{"all_settings", "local_server", "mixed_providers", "one_agent", "one_model_three_times", "openai_compatible", "three_agents"}
	if !slices.Equal(names, want) {
		t.Error(names)
	}
}

// TestAllSettings checks that all_settings.yaml names every key that there is,
// and states the defaults as they are.
func TestAllSettings(t *testing.T) {
	data, _ := readExample("all_settings")
	names := slices.Concat(topSection().names(), agentSection().names(), backendSection().names(), reasoningSection().names(),
		orchestratorSection().names(), timeoutSection().names(), uiSection().names())
	for _, name := range names {
		if name == "agent" || name == "headers" {
			continue // other names of agents and extra_headers
		}
		if !strings.Contains(string(data), name+":") {
			t.Errorf("%s is not in all_settings.yaml", name)
		}
	}
	config, err := Parse("all_settings.yaml", data, Options{Lookup: lookupIn(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defaults := Default()
	if !reflect.DeepEqual(config.Orchestrator, defaults.Orchestrator) || config.Timeouts != defaults.Timeouts || config.UI != defaults.UI {
		t.Errorf("all_settings.yaml states other defaults: %+v", config)
	}
}

func TestWithDotEnv(t *testing.T) {
	dir := t.TempDir()
	process := lookupIn(map[string]string{"BOTH": "process", "EMPTY": ""})
	lookup, err := WithDotEnv(dir, process)
	if err != nil {
		t.Fatal(err)
	}
	if _, set := lookup("FILE"); set {
		t.Error("FILE is set without a file")
	}
	env := "BOTH=file\nEMPTY=file\nFILE='from file'\n# comment\n"
	path := filepath.Join(dir, ".env")
	if err := os.WriteFile(path, []byte(env), 0o600); err != nil {
		t.Fatal(err)
	}
	if lookup, err = WithDotEnv(dir, process); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"BOTH": "process", "EMPTY": "", "FILE": "from file"} {
		if got, set := lookup(name); got != want || !set {
			t.Errorf("%s: got %q, %v", name, got, set)
		}
	}
	if _, set := lookup("NONE"); set {
		t.Error("NONE is set")
	}
	if _, set := os.LookupEnv("FILE"); set {
		t.Error("the environment of the process was changed")
	}
	if err := os.WriteFile(path, []byte("sk-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := WithDotEnv(dir, process); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"temperature", "top_p", "model", "seed"}
	for word, want := range map[string]string{
		"temprature": "temperature", "tempreature": "temperature", "modle": "model", "top-p": "top_p",
		"sead": "seed", "Model": "model", "x": "", "temp": "temperature", "tem": "", "frobnicate": "", "": "", strings.Repeat("a", 1000): "",
	} {
		if got, _ := nearest(word, names); got != want {
			t.Errorf("%.20s: got %q, want %q", word, got, want)
		}
	}
}

// FuzzParse checks that Parse never panics and that each error is one line with
// a message.
func FuzzParse(f *testing.F) {
	for _, example := range Examples() {
		data, _ := readExample(example.Name)
		f.Add(data)
	}
	for _, seed := range []string{
		"", "---\n", "a: &a [*a]", "agents: &a [*a]", "agent: &a {<<: *a}", "agent: {<<: [1, {id: x}]}", "{a: 1, a: 2}", "agents: [{id: \"\\n\"}]",
		"agent: {backend: {extra_body: &x {y: *x}}}", "agent: {backend: {extra_body: {1: 2}}}", "? [a]\n: b", "agent: {id: !!binary aGk=}",
		"a\x00b", "\xff\xfe", "agent: {backend: {seed: 99999999999999999999}}", "agent: {backend: {model: \"${\"}}", "--- a\n--- b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := Parse("f.yaml", data, Options{Lookup: lookupIn(nil), BackendTypes: testTypes()})
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
			if place, message, ok := strings.Cut(line, ": "); !ok || !strings.HasPrefix(place, "f.yaml") || len(message) < 8 {
				t.Fatalf("not a one-line error: %q", line)
			}
		}
	})
}
