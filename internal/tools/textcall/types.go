package textcall

import (
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// isJSON reports whether an argument that was written as JSON is that value. It is the written text if the
// tool has no such argument, or if the argument may be a text. Even then, it is the value if the schema
// lists the value, or has a branch for lists, for objects or for null.
func (t Tool) isJSON(key, text string) bool {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	var root any
	_ = json.Unmarshal(t.Schema, &root) // a schema without properties has no types
	var property []any
	for _, part := range parts(root, root) {
		properties, _ := part["properties"].(map[string]any)
		if one, ok := properties[key]; ok {
			property = append(property, one)
		}
	}
	mayBeText := len(property) == 0
	for _, part := range parts(root, property...) {
		kinds, _ := part["type"].([]any)
		values, _ := part["enum"].([]any)
		if one, ok := part["const"]; ok {
			values = append(values, one)
		}
		_, isText := value.(string)
		if !isText && slices.ContainsFunc(values, func(v any) bool { return reflect.DeepEqual(v, value) }) || part["type"] == branchOf(value) {
			return true
		}
		mayBeText = mayBeText || part["type"] == "string" || slices.Contains(kinds, any("string")) ||
			slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return ok })
	}
	return !mayBeText
}

// branchOf returns the type of a value that no text stands for, empty for others.
func branchOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// parts returns schemas with those in their combinators and behind their references, each once.
func parts(root any, schemas ...any) (all []map[string]any) {
	known := map[string]bool{}
	for len(schemas) > 0 {
		part, _ := schemas[0].(map[string]any)
		schemas = schemas[1:]
		if part == nil {
			continue
		}
		all = append(all, part)
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			list, _ := part[key].([]any)
			schemas = append(schemas, list...)
		}
		if to, ok := part["$ref"].(string); ok && !known[to] {
			known[to] = true
			schemas = append(schemas, target(root, to))
		}
	}
	return all
}

// target returns the schema that a reference leads to, nil if there is none.
func target(root any, to string) any {
	words := strings.Split(escaped.ReplaceAllStringFunc(to, unescaped), "/")
	if words[0] != "#" {
		return nil
	}
	for _, word := range words[1:] {
		named, _ := root.(map[string]any)
		root = named[strings.NewReplacer("~1", "/", "~0", "~").Replace(word)]
	}
	return root
}

// escaped matches an escaped byte of a URL.
var escaped = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

func unescaped(text string) string {
	data, _ := hex.DecodeString(text[1:]) // escaped matches hexadecimal digits only
	return string(data)
}
