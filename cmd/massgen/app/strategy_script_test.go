package app_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// strategyBehaviours are of three agents whose answers have values, and of their judge.
func strategyBehaviours() map[string]func(backendtest.Call) backendtest.Reply {
	return map[string]func(backendtest.Call) backendtest.Reply{
		"decides": func(c backendtest.Call) backendtest.Reply { return decide(c, judgement, "true") },
		"differs": func(c backendtest.Call) backendtest.Reply { return decide(c, judgement, "false") },
		"judges-badly": func(c backendtest.Call) backendtest.Reply {
			return decide(c, "I like the second one.", "perhaps")
		},
		"judge-hangs": func(c backendtest.Call) backendtest.Reply {
			if isConsulted(c, "You judge") {
				return backendtest.Reply{Fault: backendtest.HangBefore}
			}
			return decide(c, judgement, "true")
		},
		"judge-dies": func(c backendtest.Call) backendtest.Reply {
			if isConsulted(c, "You judge") {
				return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "out of order"}}
			}
			return decide(c, judgement, "true")
		},
		"judge-refuses": func(c backendtest.Call) backendtest.Reply {
			if isConsulted(c, "You judge") {
				return backendtest.Reply{Text: "I cannot help with that.", Finish: "content_filter"}
			}
			return decide(c, judgement, "true")
		},
		"restarts": func(c backendtest.Call) backendtest.Reply {
			switch {
			case isConsulted(c, "You decide whether the CURRENT ANSWER, which"):
				return backendtest.Reply{Text: `{"action":"restart_orchestration","reason":"It names one.","instructions":"Name both."}`}
			case isConsulted(c, "was found insufficient"):
				return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "a", Name: "new_answer", Arguments: `{"content":"Both."}`}}}
			}
			return decide(c, judgement, "true")
		},
		"submits": func(c backendtest.Call) backendtest.Reply {
			if isConsulted(c, "You decide whether the CURRENT ANSWER, which") {
				return backendtest.Reply{Text: "```json\n{\"action\":\"submit\",\"reason\":\"\",\"instructions\":\"\"}\n```"}
			}
			return decide(c, judgement, "true")
		},
		"one-answers": func(c backendtest.Call) backendtest.Reply {
			if isBlind(c) && c.Model() == "b" {
				return backendtest.Reply{Text: " "}
			}
			if isBlind(c) {
				return decide(c, judgement, "true")
			}
			return voteFor("agent1")
		},
		// Its second reply is one.
		"judges-late": func(c backendtest.Call) backendtest.Reply {
			texts := textsOf(c.Request().Messages, "user")
			if isConsulted(c, "You judge") && !strings.HasPrefix(texts[len(texts)-1], "Error: this reply does not fit: there is no JSON object in it.") {
				return backendtest.Reply{Text: "The second."}
			}
			return decide(c, judgement, "true")
		},
	}
}

// judgement has a quotation that the judge has made up, and one of an agent that it has not read.
const judgement = `{"consensus":[{"claim":"It is a number.","answers":["agent1","agent2","agent3"],"quotes":[{"answer":"agent2","text":"ANSWER: 42"}]}],
"partial":[],"unique":[{"claim":"It is seven.","answers":["agent1"],"quotes":[{"answer":"agent1","text":"surely seven"},{"answer":"agent9","text":"ANSWER: 7"}]}],
"contradictions":[],"blind_spots":["why"],"best":"agent2","why":"It shows its work."}`

func isConsulted(c backendtest.Call, begin string) bool {
	return slices.ContainsFunc(textsOf(c.Request().Messages, "system"), func(s string) bool { return strings.Contains(s, begin) })
}

// decide answers by the value of the model, votes for the second agent, and judges.
func decide(c backendtest.Call, judgement, same string) backendtest.Reply {
	texts := textsOf(c.Request().Messages, "user")
	switch {
	case strings.HasPrefix(texts[len(texts)-1], "Now write the final response"):
		return backendtest.Reply{Text: "Written by " + c.Model() + "."}
	case isConsulted(c, "You judge the CURRENT ANSWERS"):
		return backendtest.Reply{Text: judgement}
	case isConsulted(c, "You decide whether the CURRENT ANSWERS"):
		return backendtest.Reply{Text: `{"same":` + same + `}`}
	case isBlind(c):
		value := "42"
		if c.Model() == "m1" {
			value = "7"
		}
		content := fmt.Sprintf("%s has thought. ANSWER: %s", c.Model(), value)
		if strings.HasPrefix(c.Model(), "same") {
			content = "ANSWER: 42"
		}
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "a", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":%q}`, content)}}}
	}
	return voteFor("agent2")
}
