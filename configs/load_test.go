package configs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

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
	long := panel + "#" + strings.Repeat("x", 1<<20)
	if err := os.WriteFile("long.yaml", []byte(long), 0o600); err != nil {
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
		{"long.yaml", "", "", "cannot read the config: long.yaml has more than 1048576 bytes (1 MiB), the most that is read"},
		{"/dev/zero", "", "", "cannot read the config: /dev/zero has more than 1048576 bytes"},
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
			BackendTypes: append(testTypes(), simulatedType),
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
	want := []string{"all_settings", "blind", "cascade", "checked", "files", "judge", "local_server", "majority", "mixed_providers", "one_agent", "one_model_three_times", "openai_compatible", "simulated", "three_agents"}
	if !slices.Equal(names, want) {
		t.Error(names)
	}
}

// TestAllSettings checks that all_settings.yaml names every key that there is,
// and states the defaults as they are.
func TestAllSettings(t *testing.T) {
	data, _ := ReadExample("all_settings")
	var names []string
	for _, section := range homes() {
		names = append(names, section.names...)
	}
	for _, name := range names {
		if slices.Contains([]string{"agent", "headers", "coordination", "enable_planning_mode"}, name) {
			continue // other names of agents, extra_headers and planning_mode
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
	if !reflect.DeepEqual(config.Orchestrator, defaults.Orchestrator) || config.UI != defaults.UI ||
		config.Context != defaults.Context || config.Topic.Made != defaults.Topic.Made || config.Memory.Made != defaults.Memory.Made {
		t.Errorf("all_settings.yaml states other defaults: %+v", config)
	}
}

func TestWithDotEnv(t *testing.T) {
	dir := t.TempDir()
	process := lookupIn(map[string]string{"BOTH_KEY": "process", "EMPTY_KEY": "", "BLANK_KEY": " \t", "NOWHERE_KEY": ""})
	lookup, others, unread := WithDotEnv(dir, process)
	if unread != "" {
		t.Fatal(unread)
	}
	if _, set := lookup("FILE_KEY"); set || others != nil {
		t.Errorf("FILE_KEY is set without a file: %v, others %q", set, others)
	}
	env := "\ufeffMARKED_KEY=1\nBOTH_KEY=file\nEMPTY_KEY=file\nBLANK_KEY=file\nFILE_KEY='from file'\n# comment\nOPENAI_BASE_URL=http://evil\nHTTPS_PROXY=x\n"
	path := filepath.Join(dir, ".env")
	if err := os.WriteFile(path, []byte(env), 0o600); err != nil {
		t.Fatal(err)
	}
	if lookup, others, unread = WithDotEnv(dir, process); unread != "" {
		t.Fatal(unread)
	}
	for name, want := range map[string]string{"BOTH_KEY": "process", "EMPTY_KEY": "file", "BLANK_KEY": "file", "NOWHERE_KEY": "", "FILE_KEY": "from file", "MARKED_KEY": "1"} {
		if got, set := lookup(name); got != want || !set {
			t.Errorf("%s: got %q, %v", name, got, set)
		}
	}
	if want := []string{"HTTPS_PROXY", "OPENAI_BASE_URL"}; !slices.Equal(others, want) {
		t.Errorf("others are %q, want %q", others, want)
	}
	for _, name := range append(others, "NONE_KEY") {
		if _, set := lookup(name); set {
			t.Errorf("%s is set", name)
		}
	}
	if _, set := os.LookupEnv("FILE_KEY"); set {
		t.Error("the environment of the process was changed")
	}
}

// TestWarningsBesideErrors: a file that is refused has its warnings as well, but for those that
// a key that could not be read may have caused.
func TestWarningsBesideErrors(t *testing.T) {
	file := "task: x\nagent:\n  backend:\n    typ: auto\n    betas: [x]\n    command_line_blocked_commands: [rm]\nnlip: {enabled: true}\n"
	_, err := Parse("f.yaml", []byte(file), Options{})
	var refused interface{ Warnings() []Issue }
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var lines []int
	for _, w := range refused.Warnings() {
		lines = append(lines, w.Line)
	}
	if !slices.Equal(lines, []int{1, 5, 7}) {
		t.Errorf("lines %v beside %v", lines, err)
	}
}
