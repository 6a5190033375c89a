package app_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// votingBehaviours are of three agents that vote in other ways than decide.
func votingBehaviours() map[string]func(backendtest.Call) backendtest.Reply {
	return map[string]func(backendtest.Call) backendtest.Reply{
		"votes-hang": func(c backendtest.Call) backendtest.Reply {
			if c.Model() == "m3" && !isBlind(c) {
				return backendtest.Reply{Fault: backendtest.HangBefore}
			}
			return decide(c, judgement, "true")
		},
		"approves": func(c backendtest.Call) backendtest.Reply {
			if isBlind(c) {
				return decide(c, judgement, "true")
			}
			return backendtest.Reply{ToolCalls: []backends.ToolCall{{
				ID: "v", Name: "vote", Arguments: `{"agent_id":"agent2","reason":"it is right","others":["agent3","agent9"]}`,
			}}}
		},
		// Each votes for itself, and the judge for the third.
		"votes-itself": func(c backendtest.Call) backendtest.Reply {
			switch {
			case isConsulted(c, "You break a tie"):
				return backendtest.Reply{Text: `{"best":"agent3","why":"it is new"}`}
			case isBlind(c):
				return decide(c, judgement, "true")
			}
			return voteFor("agent" + strings.TrimPrefix(c.Model(), "m"))
		},
		// The judge finds the answer best that stands first.
		"prefers-first": func(c backendtest.Call) backendtest.Reply {
			if !isConsulted(c, "You judge") {
				return decide(c, judgement, "true")
			}
			user := strings.Join(textsOf(c.Request().Messages, "user"), "\n")
			names := []string{"agent1", "agent2", "agent3"}
			slices.SortFunc(names, func(a, b string) int { return strings.Index(user, "<"+a+">") - strings.Index(user, "<"+b+">") })
			return backendtest.Reply{Text: fmt.Sprintf(`{"consensus":[],"partial":[],"unique":[],"contradictions":[],"blind_spots":[],"best":%q,"why":"it is first"}`, names[0])}
		},
		// The first agent mends what the check refuses.
		"learns": func(c backendtest.Call) backendtest.Reply {
			failed := slices.ContainsFunc(c.Messages(), func(m backends.Message) bool {
				return strings.Contains(strings.Join(toolTexts(m), ""), "Error: this answer failed its check (status 1).")
			})
			if failed && isBlind(c) {
				return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "b", Name: "new_answer", Arguments: `{"content":"m1 has thought again. ANSWER: 42"}`}}}
			}
			return decide(c, judgement, "true")
		},
		// Of three agents the first mends its file, after the check has failed, and the third never does.
		"mends-file": func(c backendtest.Call) backendtest.Reply {
			results := resultsOf(c)
			says := func(answer string) backendtest.Reply {
				return calls("new_answer", fmt.Sprintf(`{"content":"%s: %s"}`, c.Model(), answer))
			}
			switch sum := map[string]string{"m1": "echo 5", "m2": "echo 4", "m3": "echo 3"}[c.Model()]; {
			case !isBlind(c):
				return voteFor("agent2")
			case len(results) == 0:
				return calls("write_file", fmt.Sprintf(`{"path":"sum.sh","content":%q}`, sum))
			case len(results) == 1:
				return says("see sum.sh")
			case !strings.HasPrefix(results[1], "Error: this answer failed its check (status 1).") || !strings.Contains(results[1], "is no sum"):
				return backendtest.Reply{Text: "There is no such result."}
			case len(results) == 2 && c.Model() == "m1":
				return calls("write_file", `{"path":"sum.sh","content":"echo 4"}`)
			}
			return says("see sum.sh again")
		},
	}
}

// toolTexts returns the results of tools in a message.
func toolTexts(m backends.Message) (texts []string) {
	for _, p := range m.Parts {
		if r, ok := p.(backends.ToolResult); ok {
			texts = append(texts, r.Content)
		}
	}
	return texts
}
