package app_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
)

// toolBehaviours are servers whose models use the tools of a workspace. Each says what
// the step's next message is, by the results that the step has so far.
func toolBehaviours() map[string]func(backendtest.Call) backendtest.Reply {
	return map[string]func(backendtest.Call) backendtest.Reply{
		"creates-file": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("write_file", `{"path":"test.txt","content":"Hello World"}`)
			}
			return backendtest.Reply{Text: "Done: " + results[0]}
		}),
		// Several files in several turns, two tools in each message.
		"creates-files": working(func(results []string) backendtest.Reply {
			switch len(results) {
			case 0:
				r := calls("write_file", `{"path":"src/auth.ts","content":"auth"}`, "write_file", `{"path":"src/jwt.ts","content":"jwt"}`)
				r.Text = "First the logic."
				return r
			case 2:
				return calls("write_file", `{"path":"src/password.ts","content":"password"}`, "edit_file", `{"path":"src/jwt.ts","old_text":"jwt","new_text":"tokens"}`)
			case 4:
				return calls("list_files", `{"path":"src"}`)
			}
			var listed struct {
				Entries []struct {
					Path string
					Size int
				}
			}
			if err := json.Unmarshal([]byte(results[4]), &listed); err != nil {
				return backendtest.Reply{Text: err.Error()}
			}
			text := "I created:"
			for _, e := range listed.Entries {
				text += fmt.Sprintf(" %s (%d bytes)", e.Path, e.Size)
			}
			return backendtest.Reply{Text: text}
		}),
		// A call that leads out of the workspace, and one of a tool that is not there.
		"strays": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("write_file", `{"path":"../out.txt","content":"x"}`, "delete_file", `{"path":"a"}`)
			}
			return backendtest.Reply{Text: strings.Join(results, "|")}
		}),
		"writes-much": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("write_file", `{"path":"much.txt","content":"`+strings.Repeat("x", 10_000)+`"}`)
			}
			return backendtest.Reply{Text: results[0]}
		}),
		"reads-much": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("read_file", `{"path":"much.txt"}`)
			}
			return backendtest.Reply{Text: results[0]}
		}),
		"runs-long": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("run_command", `{"argv":["sh","-c","echo begun; sleep 20"]}`)
			}
			return backendtest.Reply{Text: results[0]}
		}),
		"runs": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("run_command", `{"argv":["pwd"]}`)
			}
			return backendtest.Reply{Text: results[0]}
		}),
	}
}

// working is a model that works with tools, and then says what it has to say in the
// way of its panel: as text, or as an answer, for which it votes later.
func working(next func(results []string) backendtest.Reply) func(backendtest.Call) backendtest.Reply {
	return func(c backendtest.Call) backendtest.Reply {
		coordinated := len(c.ToolNames()) > 0 && c.ToolNames()[0] == "new_answer"
		if coordinated && !isBlind(c) {
			return voteFor("agent2")
		}
		var results []string
		for _, m := range c.Messages() {
			switch m.Role {
			case backends.RoleUser:
				results = nil
			case backends.RoleTool:
				for _, p := range m.Parts {
					if result, ok := p.(backends.ToolResult); ok {
						results = append(results, result.Content)
					}
				}
			}
		}
		r := next(results)
		for i := range r.ToolCalls {
			r.ToolCalls[i].ID = fmt.Sprintf("call_%d_%d", c.Number, i)
		}
		if coordinated && len(r.ToolCalls) == 0 {
			content, err := json.Marshal(map[string]string{"content": c.Model() + ": " + r.Text})
			if err != nil {
				return backendtest.Reply{Text: err.Error()}
			}
			return calls("new_answer", string(content))
		}
		return r
	}
}

// calls is a message with calls: names and arguments in turn.
func calls(words ...string) backendtest.Reply {
	var r backendtest.Reply
	for i := 0; i < len(words); i += 2 {
		r.ToolCalls = append(r.ToolCalls, backends.ToolCall{ID: fmt.Sprintf("call_%d", i/2), Name: words[i], Arguments: words[i+1]})
	}
	return r
}

// holds FILE TEXT checks what is in a file, to the byte.
func cmdHolds(ts *testscript.TestScript, _ bool, args []string) {
	if got := ts.ReadFile(args[0]); got != args[1] {
		ts.Fatalf("%s holds %q, want %q", args[0], got, args[1])
	}
}
