package app_test

import (
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// customBehaviours are servers whose models call what the question names.
func customBehaviours() map[string]func(backendtest.Call) backendtest.Reply {
	return map[string]func(backendtest.Call) backendtest.Reply{
		// A question is "TOOL ARGUMENTS", or several of these with " ; " between them, one for each model call.
		"obeys": func(c backendtest.Call) backendtest.Reply {
			results := resultsOf(c)
			return working(func([]string) backendtest.Reply {
				orders := strings.Split(questionOf(c), " ; ")
				if len(results) < len(orders) {
					tool, arguments, _ := strings.Cut(orders[len(results)], " ")
					return calls(tool, arguments)
				}
				return backendtest.Reply{Text: strings.Join(results, "\n")}
			})(c)
		},
		"lists-tools": func(c backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: strings.Join(c.ToolNames(), " ")}
		},
	}
}

// questionOf returns the first text of a person that names a tool, without what a panel's input has around it.
func questionOf(c backendtest.Call) (question string) {
	for _, m := range c.Messages() {
		for _, p := range m.Parts {
			if text, ok := p.(backends.Text); ok && question == "" && m.Role == backends.RoleUser && strings.Contains(text.Text, "custom_tool__") {
				question = text.Text
			}
		}
	}
	if begin := strings.Index(question, "custom_tool__"); begin >= 0 {
		question, _, _ = strings.Cut(question[begin:], "\n")
	}
	return question
}
