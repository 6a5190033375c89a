package toolbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// idleRules tells of the permission rules that can be about no call: nobody has such a
// tool, or it has no such argument. One that was mistyped would let all calls run.
func idleRules(config *configs.Config, lists []toolList) (notices []string) {
	tools := map[string]backends.Tool{}
	for _, l := range lists {
		for _, tool := range l.all {
			tools[tool.Name] = tool
		}
	}
	for i, rule := range config.Permissions.Rules.Rules {
		var about []backends.Tool
		for _, tool := range tools {
			if rule.About(tool.Name) {
				about = append(about, tool)
			}
		}
		path := fmt.Sprintf("permissions.rules[%d]", i)
		if len(about) == 0 {
			notices = append(notices, fmt.Sprintf("%s holds for no call: no agent has a tool %s%s",
				path, rule.Tool, meant(rule.Tool, slices.Sorted(maps.Keys(tools)))))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(rule.Arguments)) {
			if names, missing := lacking(about, name); missing {
				notices = append(notices, fmt.Sprintf("%s holds for no call: %s has no argument %s%s", path, rule.Tool, name, meant(name, names)))
			}
		}
	}
	return notices
}

// lacking says whether no tool has an argument of that name, and which they have. A tool
// whose schema tells of none may have any.
func lacking(tools []backends.Tool, argument string) (names []string, missing bool) {
	for _, tool := range tools {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil || len(schema.Properties) == 0 {
			return nil, false
		}
		names = slices.AppendSeq(names, maps.Keys(schema.Properties))
	}
	slices.Sort(names)
	same := func(name string) bool { return strings.EqualFold(name, argument) }
	return names, !slices.ContainsFunc(names, same)
}

// meant asks whether one of the names was meant, if one is near, or is the tool that an
// MCP server calls so.
func meant(word string, names []string) string {
	near, ok := configs.Nearest(word, names)
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "__"+word) }); i >= 0 {
		near, ok = names[i], true
	}
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", near)
}
