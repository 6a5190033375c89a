package toolbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/permission"
)

// idleRules returns warnings about permission rules that can never match: no agent has such a
// tool, or the tool has no such argument. A mistyped rule would let all calls run. Unchecked
// are rules that may match a tool that no list has.
func idleRules(config *configs.Config, lists []toolList) (notices, unchecked []string) {
	tools := map[string]backends.Tool{}
	var unlisted []string
	for _, l := range lists {
		unlisted = append(unlisted, l.unlisted...)
		for _, tool := range l.all {
			tools[tool.Name] = tool
		}
	}
	for i, rule := range config.Permissions.Rules.Rules {
		path := fmt.Sprintf("permissions.rules[%d]", i)
		faults := idle(rule, tools)
		if len(faults) > 0 && mayMean(rule.Tool, unlisted) {
			unchecked = append(unchecked, path)
			continue
		}
		for _, fault := range faults {
			notices = append(notices, path+" holds for no call: "+fault)
		}
	}
	return notices, unchecked
}

// idle returns the reason why a rule matches no call of the tools, nothing if it may match one.
func idle(rule permission.Rule, tools map[string]backends.Tool) (faults []string) {
	var about []backends.Tool
	for _, tool := range tools {
		if rule.About(tool.Name) {
			about = append(about, tool)
		}
	}
	if len(about) == 0 {
		return []string{fmt.Sprintf("no agent has a tool %s%s", rule.Tool, meant(rule.Tool, slices.Sorted(maps.Keys(tools))))}
	}
	for _, name := range slices.Sorted(maps.Keys(rule.Arguments)) {
		if names, missing := lacking(about, name); missing {
			faults = append(faults, fmt.Sprintf("%s has no argument %s%s", rule.Tool, name, meant(name, names)))
		}
	}
	return faults
}

// mayMean reports whether a pattern of tools' names fits some name with one of the prefixes.
func mayMean(pattern string, prefixes []string) bool {
	literal, _, isPattern := strings.Cut(strings.NewReplacer("?", "*").Replace(strings.ToLower(pattern)), "*")
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		prefix = strings.ToLower(prefix)
		return strings.HasPrefix(literal, prefix) || isPattern && strings.HasPrefix(prefix, literal)
	})
}

// lacking reports whether no tool has an argument of that name, and returns the names that they
// have. A tool whose schema declares no arguments may have any.
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

// meant suggests a name that word may stand for: a similar one, or the tool that an MCP server
// calls so.
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
