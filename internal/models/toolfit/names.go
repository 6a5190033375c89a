package toolfit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// names has the names of properties that a service refuses, with those that it is sent. A name is the
// same everywhere in a tool, and no two are alike.
type names struct {
	sent, own map[string]string
}

const longestName = 64

var notPlain = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// newNames chooses the names of a schema.
func newNames(root schema, letterFirst bool) names {
	used := map[string]bool{}
	eachProperties(root, func(properties schema) {
		for name := range properties {
			used[name] = true
		}
	})
	var all []string
	for name := range used {
		all = append(all, name)
	}
	slices.Sort(all)
	n := names{sent: map[string]string{}, own: map[string]string{}}
	next := map[string]int{} // the number after the last one, by name
	for _, name := range all {
		fit := notPlain.ReplaceAllString(name, "_")
		if letterFirst && strings.Trim(fit[:min(1, len(fit))], "0123456789.-") != fit[:min(1, len(fit))] {
			fit = "_" + fit
		}
		if fit == "" {
			fit = "_"
		}
		fit = fit[:min(len(fit), longestName)]
		if fit == name {
			continue
		}
		free := fit
		for i := max(2, next[fit]); used[free]; i++ {
			next[fit] = i + 1
			end := fmt.Sprintf("_%d", i)
			free = fit[:min(len(fit), longestName-len(end))] + end
		}
		used[free] = true
		n.sent[name], n.own[free] = free, name
	}
	return n
}

// eachProperties calls visit for the properties of a schema and of all schemas in it.
func eachProperties(value any, visit func(properties schema)) {
	s, ok := value.(schema)
	if !ok {
		return
	}
	for key, inner := range s {
		switch {
		case hasSchemas(key):
			named, _ := inner.(schema)
			if key == "properties" {
				visit(named)
			}
			for _, one := range named {
				eachProperties(one, visit)
			}
		case isListOfSchemas(key):
			list, _ := inner.([]any)
			for _, one := range list {
				eachProperties(one, visit)
			}
		case isSchema(key):
			eachProperties(inner, visit)
		}
	}
}

// apply renames the properties of a schema and of all schemas in it.
func (n names) apply(value any) {
	s, ok := value.(schema)
	if !ok || len(n.sent) == 0 {
		return
	}
	for key, inner := range s {
		switch {
		case hasSchemas(key):
			named, _ := inner.(schema)
			for _, one := range named {
				n.apply(one)
			}
			if key == "properties" || key == "dependentSchemas" {
				s[key] = rename(named, n.sent)
			}
		case isListOfSchemas(key):
			list, _ := inner.([]any)
			for _, one := range list {
				n.apply(one)
			}
		case isSchema(key):
			n.apply(inner)
		case key == "required":
			n.applyList(inner)
		case key == "dependentRequired":
			named, _ := inner.(schema)
			for _, list := range named {
				n.applyList(list)
			}
			s[key] = rename(named, n.sent)
		}
	}
}

func (n names) applyList(value any) {
	list, _ := value.([]any)
	for i, one := range list {
		name, _ := one.(string)
		if sent, ok := n.sent[name]; ok {
			list[i] = sent
		}
	}
}

func rename(named schema, to map[string]string) schema {
	out := make(schema, len(named))
	for name, value := range named {
		if other, ok := to[name]; ok {
			name = other
		}
		out[name] = value
	}
	return out
}

// renamed returns the arguments of a call with other names. Arguments that are not JSON stay as they
// are.
func renamed(arguments string, to map[string]string) string {
	if len(to) == 0 {
		return arguments
	}
	d := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || d.More() {
		return arguments
	}
	out, err := plain.JSON(renameAll(value, to))
	if err != nil {
		return arguments
	}
	return string(out)
}

func renameAll(value any, to map[string]string) any {
	switch value := value.(type) {
	case map[string]any:
		out := rename(value, to)
		for name, inner := range out {
			out[name] = renameAll(inner, to)
		}
		return out
	case []any:
		for i, inner := range value {
			value[i] = renameAll(inner, to)
		}
	}
	return value
}
