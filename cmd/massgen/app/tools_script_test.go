package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/backendtest"
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
		// What is elsewhere is written to at the end only, and not where it is protected.
		"writes-elsewhere": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("list_files", `{"path":"site"}`, "write_file", `{"path":"site/made.txt","content":"made"}`,
					"write_file", `{"path":"site/keep.txt","content":"x"}`, "delete_file", `{"path":"site/.git/config"}`,
					"write_file", `{"path":"site-2/made.txt","content":"x"}`, "move_file", `{"from":"site/old.txt","to":"old.txt"}`)
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
		// A model that does not come to an end by itself.
		"reads-on": func(c backendtest.Call) backendtest.Reply {
			if slices.Contains(c.ToolNames(), "read_file") {
				return calls("read_file", `{"path":"much.txt"}`)
			}
			return backendtest.Reply{Text: "That is all."}
		},
		// Models that call a tool in each message, also when they are offered none.
		"never-stops":    neverStops("Let me look again."),
		"never-speaks":   neverStops(""),
		"m3-never-stops": m3NeverStops,
		"judges-files":   judgesFiles,
		// As far as its answer, no further.
		"never-judges-files": func(c backendtest.Call) backendtest.Reply {
			if !isBlind(c) {
				return backendtest.Reply{Fault: backendtest.HangBefore}
			}
			return judgesFiles(c)
		},
		"runs-long": working(func(results []string) backendtest.Reply {
			if len(results) == 0 {
				return calls("run_command", `{"argv":["sh","-c","echo begun; sleep 60"]}`)
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

// neverStops is a model that calls a tool in each message, and says a text beside it.
func neverStops(text string) func(backendtest.Call) backendtest.Reply {
	return func(c backendtest.Call) backendtest.Reply {
		r := calls("list_files", `{"path":"."}`)
		r.Text, r.ToolCalls[0].ID = text, fmt.Sprintf("call_%d", c.Number)
		return r
	}
}

// m3NeverStops has one such model among others that answer and vote.
func m3NeverStops(c backendtest.Call) backendtest.Reply {
	switch {
	case c.Model() == "m3":
		return neverStops("Let me look again.")(c)
	case isBlind(c):
		return calls("new_answer", `{"content":"the answer of `+c.Model()+`"}`)
	}
	return voteFor("agent2")
}

// judgesFiles is a model that writes a file and answers, and in the next round reads those
// of all answers, changes its own, tries to change another's, and votes for agent2.
func judgesFiles(c backendtest.Call) backendtest.Reply {
	results := resultsOf(c)
	switch {
	case isBlind(c) && len(results) == 0:
		return calls("write_file", `{"path":"work.txt","content":"by `+c.Model()+`"}`)
	case isBlind(c):
		return calls("new_answer", `{"content":"see work.txt of `+c.Model()+`"}`)
	case len(results) == 0:
		return calls("write_file", `{"path":"work.txt","content":"changed"}`)
	case len(results) == 1:
		return calls("read_file", `{"path":"answers/agent1/work.txt"}`, "read_file", `{"path":"answers/agent2/work.txt"}`,
			"write_file", `{"path":"answers/agent2/work.txt","content":"spoilt"}`, "list_files", `{"path":"answers"}`)
	}
	reason, err := json.Marshal(map[string]string{"agent_id": "agent2", "reason": strings.Join(results[1:], "|")})
	if err != nil {
		return backendtest.Reply{Text: err.Error()}
	}
	return calls("vote", string(reason))
}

// working is a model that works with tools, and then says what it has to say in the
// way of its panel: as text, or as an answer, for which it votes later.
func working(next func(results []string) backendtest.Reply) func(backendtest.Call) backendtest.Reply {
	return func(c backendtest.Call) backendtest.Reply {
		coordinated := len(c.ToolNames()) > 0 && c.ToolNames()[0] == "new_answer"
		if coordinated && !isBlind(c) {
			return voteFor("agent2")
		}
		r := next(resultsOf(c))
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

// resultsOf are the results of the step so far.
func resultsOf(c backendtest.Call) (results []string) {
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
	return results
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

// journaled STORE PATTERN looks for an event in the journal of the only turn in a file of
// sessions.
func cmdJournaled(ts *testscript.TestScript, neg bool, args []string) {
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, ts.MkAbs(args[0]))
	ts.Check(err)
	defer func() { ts.Check(store.Close()) }()
	list, err := store.List(ctx, sessions.Filter{})
	ts.Check(err)
	if len(list) != 1 {
		ts.Fatalf("%s has %d sessions", args[0], len(list))
	}
	events, err := store.Journal(ctx, list[0].ID, 1, 0)
	ts.Check(err)
	if found := slices.ContainsFunc(events, pattern.Match); found == neg {
		ts.Fatalf("%q in the journal is not %t:\n%s", args[1], !neg, bytes.Join(events, []byte("\n")))
	}
}
