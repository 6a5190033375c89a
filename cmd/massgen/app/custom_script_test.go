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
			results := allResults(c)
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

// allResults returns the texts of all tool results, also of those whose picture stands in a message after them.
func allResults(c backendtest.Call) (results []string) {
	for _, m := range c.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(backends.ToolResult); ok {
				results = append(results, r.Content)
			}
		}
	}
	return results
}

// questionOf returns the first text of a person that names a tool, without what a panel's input has around it.
func questionOf(c backendtest.Call) (question string) {
	for _, m := range c.Messages() {
		for _, p := range m.Parts {
			if text, ok := p.(backends.Text); ok && question == "" && m.Role == backends.RoleUser && firstTool(text.Text) >= 0 {
				question = text.Text
			}
		}
	}
	if begin := firstTool(question); begin >= 0 {
		question, _, _ = strings.Cut(question[begin:], "\n")
		question, _, _ = strings.Cut(question, " <END OF")
	}
	return question
}

// firstTool returns where a text names a tool, -1 for nowhere.
func firstTool(text string) int {
	for _, tool := range []string{"custom_tool__", "create_task_plan", "search_files"} {
		if at := strings.Index(text, tool); at >= 0 {
			return at
		}
	}
	return -1
}
