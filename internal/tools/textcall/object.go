package textcall

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// object is a JSON object under construction.
type object []string

func (o *object) add(key, value string) { *o = append(*o, quoted(key)+":"+value) }

func (o object) String() string { return "{" + strings.Join(o, ",") + "}" }

func quoted(text string) string {
	data, err := plain.JSON(text)
	if err != nil {
		return `""`
	}
	return string(data)
}

// typed returns the JSON of an argument that was written without quotes: a string, unless the tool's schema has another
// type for it and the text fits JSON.
func (t Tool) typed(key, text string) string {
	value := strings.TrimSpace(text)
	if t.isJSON(key, value) {
		return value
	}
	return quoted(text)
}

// first returns the name of the tool's first required argument.
func (t Tool) first() string {
	var schema struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(t.Schema, &schema); err != nil || len(schema.Required) == 0 {
		return ""
	}
	return schema.Required[0]
}

// callsIn returns the calls of a JSON value; ok is false unless it is a call, or a list of nothing else.
func callsIn(value string, tools []Tool, isMarked bool) (calls []Call, ok bool) {
	return callsWithin(value, tools, isMarked, maxWraps)
}

// callsWithin is callsIn for a value within as many objects as depth leaves of maxWraps.
func callsWithin(value string, tools []Tool, isMarked bool, depth int) (calls []Call, ok bool) {
	if !strings.HasPrefix(value, "[") {
		return callsOf(value, tools, isMarked, depth)
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(value), &list); err != nil {
		return nil, false
	}
	for _, v := range list {
		of, ok := callsOf(string(v), tools, isMarked, depth)
		if !ok {
			return nil, false
		}
		calls = append(calls, of...)
	}
	return calls, len(calls) > 0
}

// The keys of a call in the forms that models write, most usual first.
const (
	wraps        = "action function function_call tool_call tool_calls"
	NameKeys     = "name action tool tool_name function function_name type"
	ArgumentKeys = "arguments parameters args params input action_input tool_input"
	// bareKeys has the keys of a call of an agent's own tool that stands without a mark.
	bareKeys = "arguments id name parameters type"
)

// maxWraps is the most objects around a call.
const maxWraps = 2

// callsOf returns the calls of a JSON object.
func callsOf(value string, tools []Tool, isMarked bool, depth int) (calls []Call, ok bool) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &fields); err != nil {
		return nil, false
	}
	for _, key := range strings.Fields(NameKeys) {
		tool, ok := find(textOf(fields[key]), tools)
		if !ok {
			continue
		}
		arguments, isCall := argumentsIn(fields, key, tool, isMarked)
		return []Call{{tool.Name, arguments}}, isCall
	}
	for _, t := range tools {
		if raw, has := fields[t.Name]; has && t.IsAct && len(fields) == 1 {
			return []Call{{t.Name, actArguments(t, raw)}}, true
		}
	}
	if depth == 0 {
		return nil, false
	}
	for _, key := range strings.Fields(wraps) {
		if inner := string(fields[key]); strings.HasPrefix(inner, "[") || strings.HasPrefix(inner, "{") {
			return callsWithin(inner, tools, isMarked, depth-1)
		}
	}
	return nil, false
}

// argumentsIn returns the arguments of a call whose name stands under a key. Calls without a mark, except acts,
// have one form, because a JSON object may also be an answer.
func argumentsIn(fields map[string]json.RawMessage, nameKey string, tool Tool, isMarked bool) (arguments string, isCall bool) {
	isBare := !isMarked && !tool.IsAct
	for _, key := range strings.Fields(ArgumentKeys) {
		if raw, has := fields[key]; has {
			return argumentsOf(raw), !isBare || nameKey == "name" && hasOnly(fields, strings.Fields(bareKeys))
		}
	}
	if isBare {
		return "", false
	}
	var rest object
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != nameKey {
			rest.add(key, string(fields[key]))
		}
	}
	return rest.String(), true
}

func hasOnly(fields map[string]json.RawMessage, keys []string) bool {
	return !slices.ContainsFunc(slices.Sorted(maps.Keys(fields)), func(key string) bool { return !slices.Contains(keys, key) })
}

// argumentsOf returns arguments as JSON, also where they are JSON in a string, or missing.
func argumentsOf(raw json.RawMessage) string {
	var text string
	switch {
	case string(raw) == "null":
		return "{}"
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// actArguments returns the arguments of an act whose name is a key. A value that is no object is the first
// argument.
func actArguments(t Tool, raw json.RawMessage) string {
	if strings.HasPrefix(string(raw), "{") {
		return string(raw)
	}
	var fields object
	fields.add(t.first(), string(raw))
	return fields.String()
}

func textOf(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return ""
	}
	return text
}

// named matches the beginning of a call in JSON, up to its name.
var named = regexp.MustCompile(`^[\[\s]*\{\s*"(?:name|action|tool|function)"\s*:\s*(?:\{\s*"name"\s*:\s*)?"([^"]{1,100})"`)

// names reports whether a text begins as a call of one of the tools.
func names(text string, tools []Tool) bool {
	m := named.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	_, ok := find(m[1], tools)
	return ok
}
