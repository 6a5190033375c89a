//go:build wheel

package wheel

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestMain is also the guard of the helpers in Python, and their fence.
func TestMain(m *testing.M) {
	massgen.Launcher()
	os.Exit(m.Run())
}

// mapping is a mapping of a config.
type mapping = map[string]any

// agentsOf returns the agents of a config.
func agentsOf(config mapping) (list []mapping) {
	all, _ := config["agents"].([]any)
	if one, ok := config["agent"]; ok {
		all = append(all, one)
	}
	for _, a := range all {
		if agent, ok := a.(mapping); ok {
			list = append(list, agent)
		}
	}
	return list
}

// tools returns the number of custom tools of a config below _basic, and of those without a path; ok is false for a
// config that has others or none, or an agent that is a program.
func tools(config mapping) (basic, own int, ok bool) {
	for _, a := range agentsOf(config) {
		backend, _ := a["backend"].(mapping)
		if kind, _ := backend["type"].(string); kind == "claude_code" || kind == "ag2" {
			return 0, 0, false
		}
		list, _ := backend["custom_tools"].([]any)
		for _, t := range list {
			tool, _ := t.(mapping)
			path, has := tool["path"].(string)
			switch {
			case !has:
				own++
			case strings.Contains(path, "/_basic/"):
				basic++
			default:
				return 0, 0, false
			}
		}
	}
	return basic, own, basic+own > 0
}

// adds is a model that adds two numbers by the tool of MassGen's package, where it has it, and answers with the
// result. In a panel it votes for the first answer that it sees.
func adds(c backendtest.Call) backendtest.Reply {
	messages, names := c.Messages(), strings.Join(c.ToolNames(), " ")
	result := ""
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(backends.ToolResult); ok {
				result = r.Content
			}
		}
	}
	call := func(name string, arguments any) backendtest.Reply {
		data, err := json.Marshal(arguments)
		if err != nil {
			return backendtest.Reply{Text: err.Error()}
		}
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "call", Name: name, Arguments: string(data)}}}
	}
	switch {
	case strings.Contains(names, "vote") && !strings.Contains(string(c.Body), "(no answers available yet)"):
		return call("vote", mapping{"agent_id": "agent1", "reason": "it is right"})
	case result == "" && strings.Contains(names, "custom_tool__two_num_tool"):
		return call("custom_tool__two_num_tool", mapping{"x": 123, "y": 456})
	case strings.Contains(names, "new_answer"):
		return call("new_answer", mapping{"content": "answer: " + result})
	}
	return backendtest.Reply{Text: "answer: " + result}
}

// TestConfigsWithCustomTools: each config of the wheel that loads, whose custom tools are below _basic or have no
// path, runs to its end. The tool below _basic runs.
func TestConfigsWithCustomTools(t *testing.T) {
	site, err := filepath.Abs(filepath.Join("..", "..", ".cache", "wheel", "site"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	err = filepath.WalkDir(filepath.Join(site, "massgen", "configs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("%v: scripts/wheel.sh installs it", err)
	}
	// Programs that configs name as MCP servers are there and say nothing.
	programs := t.TempDir()
	for _, name := range []string{"npx", "uvx", "uv", "docker", "fastmcp"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Chdir(site)
	servers := map[string]*backendtest.Server{
		"claude": backendtest.NewProtocolServer(t, backendtest.Messages(), adds),
		"gemini": backendtest.NewProtocolServer(t, backendtest.GenerateContent(), adds),
		"":       backendtest.NewProtocolServer(t, backendtest.ChatCompletions(), adds),
	}
	ran, added := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var config mapping
		if yaml.Unmarshal(data, &config) != nil {
			continue
		}
		basic, _, ok := tools(config)
		if !ok {
			continue
		}
		ran++
		if basic > 0 {
			added++
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			run(t, config, servers, basic > 0)
		})
	}
	if ran < 25 || added < 15 {
		t.Errorf("%d configs ran, %d of them with the tool below _basic: the wheel has more", ran, added)
	}
}

// run runs a config against the servers.
func run(t *testing.T, config mapping, servers map[string]*backendtest.Server, adds bool) {
	work := t.TempDir()
	for _, a := range agentsOf(config) {
		backend, _ := a["backend"].(mapping)
		kind, _ := backend["type"].(string)
		server, ok := servers[kind]
		if !ok {
			server = servers[""]
			if kind == "openai" {
				backend["api"] = "chat"
			}
		}
		backend["base_url"], backend["api_key"] = server.BaseURL, "none-needed"
		if cwd, ok := backend["cwd"].(string); ok {
			backend["cwd"] = filepath.Join(work, filepath.Base(cwd))
		}
	}
	if o, ok := config["orchestrator"].(mapping); ok {
		for _, key := range []string{"snapshot_storage", "agent_temporary_workspace"} {
			if _, ok := o[key]; ok {
				o[key] = filepath.Join(work, key)
			}
		}
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(work, "panel.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	panel, err := massgen.Load(t.Context(), file, massgen.WithStateDir(filepath.Join(work, "state")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := panel.Close(); err != nil {
			t.Error(err)
		}
	}()
	result, err := panel.Run(t.Context(), "", "What is the sum of 123 and 456?")
	if err != nil {
		t.Fatal(err)
	}
	if want := "The sum of 123 and 456 is 579"; result.Answer == "" || adds && !strings.Contains(result.Answer, want) {
		t.Errorf("the answer is %q, status %s; warnings: %q; failed: %+v", result.Answer, result.Status, result.Warnings, result.Failed)
	}
}
