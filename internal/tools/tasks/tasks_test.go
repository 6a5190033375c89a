package tasks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
)

// script calls tools one after the other. Each line is a tool with its arguments, and a text that the result has.
func script(t *testing.T, tools []agents.Tool, lines [][3]string) {
	t.Helper()
	for _, line := range lines {
		var tool agents.Tool
		for _, each := range tools {
			if each.Definition().Name == line[0] {
				tool = each
			}
		}
		if tool == nil {
			t.Fatalf("there is no tool %s", line[0])
		}
		got, err := tool.Call(t.Context(), line[1])
		if !json.Valid([]byte(got)) && err == nil {
			t.Errorf("%s(%s) = %q, which is no JSON", line[0], line[1], got)
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, line[2]) {
			t.Errorf("%s(%s) = %s, which lacks %s", line[0], line[1], got, line[2])
		}
	}
}

func planScript() [][3]string {
	return [][3]string{
		{"get_task_plan", `{}`, `"total_tasks":0`},
		{"create_task_plan", `{"tasks":[{"id":"a","description":"first"},{"description":""}]}`, "a task has no description"},
		{"create_task_plan", `{"tasks":[{"id":"a","description":"first","depends_on":[1]},{"description":"x"}]}`, "the index 1 in depends_on names no earlier task"},
		{"create_task_plan", `{"tasks":[{"id":"a","description":"first","verification":"it works","priority":"high"},{"id":"b","description":"second","depends_on":[0]}]}`, `"blocked_tasks":1`},
		{"create_task_plan", `{"tasks":[{"description":"again"}]}`, "a plan with 2 tasks exists already (0 completed)"},
		{"get_blocked_tasks", `{}`, `"blocking_task_ids":["a"]`},
		{"get_ready_tasks", `{}`, `"count":1`},
		{"update_task_status", `{"task_id":"a","status":"done"}`, `the status \"done\" is none`},
		{"update_task_status", `{"task_id":"a","status":"completed","completion_notes":"quickly"}`, `"newly_ready_tasks":[{"id":"b"`},
		{"update_task_status", `{"task_id":"a","status":"verified"}`, `"success":true`},
		{"update_task_status", `{"task_id":"z","status":"completed"}`, "there is no task z"},
		{"add_task", `{"description":"third","depends_on":["b"],"after_task_id":"a"}`, `"description":"third"`},
		{"add_task", `{"description":"fourth"}`, "a plan has at most 3 tasks"},
		{"add_task", `{"description":"x","priority":"huge"}`, "a plan has at most 3 tasks"},
		{"delete_task", `{"task_id":"b"}`, "depends on b"},
		{"edit_task", `{"task_id":"b","description":"another"}`, `"description":"another"`},
		{"get_task_plan", `{}`, `"verified_tasks":1`},
		{"clear_task_plan", `{}`, `"had_existing_plan":true`},
		{"create_task_plan", `{"tasks":[{"id":"a","description":"first"}]}`, `"total_tasks":1`},
		{"delete_task", `{"task_id":"a"}`, `"success":true`},
		{"create_task_plan", `{"tasks":[{"id":"b","description":"first"},{"description":""}]}`, "a task has no description"},
		{"get_task_plan", `{}`, `"total_tasks":0`},
		{"get_task_plan", `{}`, `"total_tasks":0`},
	}
}

// TestPlans: a plan is kept in the agent's folder, as MassGen keeps it, and without one in memory.
func TestPlans(t *testing.T) {
	for name, folder := range map[string]string{"in a folder": t.TempDir(), "in memory": ""} {
		t.Run(name, func(t *testing.T) {
			tools, err := PlanTools("a", folder, 3)
			if err != nil {
				t.Fatal(err)
			}
			script(t, tools, planScript())
		})
	}
}

// TestPlanFile: MassGen's own file is read, a broken one is reported, and no link leads out of the folder.
func TestPlanFile(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	tools, err := PlanTools("a", folder, 0)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.MkdirAll(filepath.Join(folder, "tasks"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, planFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"tasks":[{"id":"x","description":"from a person"}]}`)
	script(t, tools, [][3]string{{"get_ready_tasks", `{}`, `"description":"from a person"`}})
	write(`{"tasks":[`)
	script(t, tools, [][3]string{{"get_task_plan", `{}`, "correct it, or call clear_task_plan"}, {"clear_task_plan", `{}`, "true"}})
	if err := os.RemoveAll(filepath.Join(folder, "tasks")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, "tasks")); err != nil {
		t.Fatal(err)
	}
	script(t, tools, [][3]string{{"create_task_plan", `{"tasks":[{"description":"x"}]}`, `"success":false`}})
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside are %v, %v", entries, err)
	}
}

// TestMemories are files with MassGen's head.
func TestMemories(t *testing.T) {
	folder := t.TempDir()
	tools, err := MemoryTools(folder)
	if err != nil {
		t.Fatal(err)
	}
	script(t, tools, [][3]string{
		{"load_memory", `{}`, `"short_term":[]`},
		{"create_memory", `{"name":"../out","description":"d","content":"c"}`, "the name"},
		{"create_memory", `{"name":"prefs","description":"what the user\nprefers","content":"short answers"}`, `"file":"memory/short_term/prefs.md"`},
		{"create_memory", `{"name":"prefs","description":"d","content":"c","tier":"long_term"}`, "there is a memory prefs already, in short_term"},
		{"create_memory", `{"name":"study","description":"a study","content":"long text","tier":"long_term"}`, `"success":true`},
		{"update_memory", `{"name":"prefs","content":"long answers"}`, `"success":true`},
		{"load_memory", `{"name":"prefs"}`, `"content":"long answers"`},
		{"load_memory", `{}`, `"long_term":[{"name":"study","description":"a study","tier":"long_term"}]`},
		{"load_memory", `{}`, `"description":"what the user prefers"`},
		{"remove_memory", `{"name":"study"}`, `"removed":"study"`},
		{"load_memory", `{"name":"study"}`, "there is no memory"},
	})
	text, err := os.ReadFile(filepath.Join(folder, "memory", "short_term", "prefs.md"))
	if err != nil || !strings.HasPrefix(string(text), "---\nname: prefs\ndescription: what the user prefers\ntier: short_term\ncreated: ") {
		t.Errorf("%v\n%s", err, text)
	}
}
