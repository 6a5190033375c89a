package app_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// sidecall answers the calls that belong to no agent, by the words of the question, and
// those of agents as answer does.
func sidecall(c backendtest.Call) backendtest.Reply {
	_, question, _ := strings.Cut(c.User(), "## QUESTION\n")
	usage := &backends.Usage{InputTokens: 10, OutputTokens: 2}
	call := func(name, arguments string) backendtest.Reply {
		return backendtest.Reply{Usage: usage, ToolCalls: []backends.ToolCall{{ID: "t", Name: name, Arguments: arguments}}}
	}
	switch tools := c.ToolNames(); {
	case slices.Contains(tools, "remember") && strings.Contains(question, "I live in Seattle"):
		return call("remember", `{"facts":["Lives in Seattle."]}`)
	case slices.Contains(tools, "set_topic") && strings.Contains(question, "talk about"):
		_, name, _ := strings.Cut(question, "talk about ")
		return call("set_topic", fmt.Sprintf(`{"name":%q,"location":"London"}`, strings.TrimSpace(name)))
	case slices.Contains(tools, "propose_topic") && strings.Contains(question, "prison"):
		return call("propose_topic", `{"name":"Newgate"}`)
	case slices.Contains(tools, "confirm_topic") && strings.HasPrefix(question, "yes"):
		return call("confirm_topic", `{}`)
	case slices.Contains(tools, "decline_topic") && strings.HasPrefix(question, "no"):
		return call("decline_topic", `{}`)
	case slices.Contains(tools, "set_topic") && strings.Contains(question, "what nonsense"):
		return call("fly", `{}`)
	case slices.Contains(tools, "set_topic"), slices.Contains(tools, "remember"):
		return backendtest.Reply{Text: "none", Usage: usage}
	case strings.Contains(c.System(), "You keep the memory of a conversation."):
		return backendtest.Reply{Text: "They spoke of old things.", Usage: usage}
	}
	return answer(c)
}
