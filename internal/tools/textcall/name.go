package textcall

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// find returns the tool that a name means, with marks or without.
func find(name string, tools []Tool) (tool Tool, ok bool) {
	at := func(name string) int { return slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name }) }
	plain, ok := Name(name, func(name string) bool { return at(name) >= 0 })
	if !ok {
		return Tool{}, false
	}
	return tools[at(plain)], true
}

// marks matches a name of a tool, after its recipient's mark, between a namespace and a number.
var marks = regexp.MustCompile(`^(?:(?:functions?|default_api|tools?|call)[.:/])?(.+?)(?:\(\)|:\d+)?$`)

// Name returns the name of the tool that a name with marks means, such as functions.vote, default_api:vote, or
// vote<|channel|>commentary. ok is false if no such tool exists. A name that exists means itself.
func Name(name string, exists func(name string) bool) (plain string, ok bool) {
	if name == "" || exists(name) {
		return name, name != ""
	}
	if _, to, has := strings.Cut(name, "to="); has {
		name = to
	}
	name, _, _ = strings.Cut(name, "<|")
	name, _, _ = strings.Cut(name, "<｜")
	name = strings.Trim(name, " \t\r\n\"'`*")
	if exists(name) {
		return name, true
	}
	if m := marks.FindStringSubmatch(name); m != nil && exists(m[1]) {
		return m[1], true
	}
	return "", false
}

var agentNumber = regexp.MustCompile(`^(?:agent)?[ _.#-]*([0-9]+)$`)

// AgentNumber returns the number in a name such as agent1, <agent1>, agent_1, Agent 1 or 1. isNumber is false for
// any other name. A number that no agent can have, such as 01, is 0.
func AgentNumber(name string) (number int, isNumber bool) {
	name = strings.ToLower(WithoutMarks(name))
	m := agentNumber.FindStringSubmatch(name)
	if m == nil || strings.HasPrefix(name, "-") {
		return 0, false
	}
	number, err := strconv.Atoi(m[1])
	if err != nil || strings.HasPrefix(m[1], "0") {
		return 0, true
	}
	return number, true
}

// WithoutMarks returns a name without the signs that models put around it.
func WithoutMarks(name string) string { return strings.Trim(name, " \t\r\n<>/[](){}\"'`*#@.,:;") }
