package toolfit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// resolveRoot copies the target of a reference at the root to it.
func (f *fitter) resolveRoot(root schema) error {
	if _, ok := root["$ref"]; !ok {
		return nil
	}
	whole := f.Rules
	f.NoRefs = true
	_, _, err := f.resolve(root, []string{"#"})
	f.Rules = whole
	return err
}

// flatten makes one object of the combinators at the root, which no service takes there. The object has
// the properties of all branches. Only what every branch requires stays required, and the description
// names the choice.
func (f *fitter) flatten(root schema) error {
	if err := f.mergeAllOf(root); err != nil {
		return err
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, err := f.branches(root, key)
		if err != nil {
			return err
		}
		if len(branches) > 0 {
			choose(root, branches)
		}
	}
	for _, key := range []string{"then", "else"} {
		if branch, ok := root[key].(schema); ok {
			addProperties(root, branch)
		}
	}
	for _, key := range []string{"not", "enum", "const", "if", "then", "else"} {
		delete(root, key)
	}
	return nil
}

// mergeAllOf adds the branches of allOf to a schema.
func (f *fitter) mergeAllOf(s schema) error {
	branches, err := f.branches(s, "allOf")
	if err != nil {
		return err
	}
	for _, branch := range branches {
		addProperties(s, branch)
		list, _ := s["required"].([]any)
		for _, name := range required(branch) {
			if !containsText(list, name) {
				list = append(list, name)
			}
		}
		if len(list) > 0 {
			s["required"] = list
		}
		for key, value := range branch {
			if _, ok := s[key]; !ok && key != "additionalProperties" {
				s[key] = value
			}
		}
	}
	return nil
}

// branches takes the schemas of a combinator out of s, with those in them of the same combinator.
func (f *fitter) branches(s schema, key string) ([]schema, error) {
	value, ok := s[key]
	if !ok {
		return nil, nil
	}
	delete(s, key)
	list, _ := value.([]any)
	var out []schema
	for len(list) > 0 {
		one, ok := list[0].(schema)
		list = list[1:]
		if !ok {
			continue
		}
		if f.parts++; f.parts > mostParts {
			return nil, errTooLarge
		}
		whole := f.Rules
		f.NoRefs = true
		one, _, err := f.resolve(one, nil)
		f.Rules = whole
		if err != nil {
			return nil, err
		}
		if key != "allOf" {
			if err := f.mergeAllOf(one); err != nil {
				return nil, err
			}
		}
		if inner, ok := one[key].([]any); ok {
			delete(one, key)
			list = append(slices.Clone(inner), list...)
		}
		out = append(out, one)
	}
	return out, nil
}

// choose adds the branches of a choice to the root.
func choose(root schema, branches []schema) {
	var choices []string
	var shared []string
	isObject := false
	for i, branch := range branches {
		if kind := typeName(branch["type"]); kind != "" && kind != "object" {
			continue // the arguments of a tool are an object
		}
		isObject = true
		addProperties(root, branch)
		names := required(branch)
		choices = append(choices, strings.Join(names, ", "))
		if i == 0 {
			shared = names
		}
		shared = slices.DeleteFunc(shared, func(name string) bool { return !slices.Contains(names, name) })
	}
	if !isObject {
		return
	}
	list, _ := root["required"].([]any)
	for _, name := range shared {
		if !containsText(list, name) {
			list = append(list, name)
		}
	}
	if len(list) > 0 {
		root["required"] = list
	}
	if len(choices) > 1 && !slices.Contains(choices, "") {
		describe(root, "Give the arguments of one of these lists: "+plain.Line(strings.Join(choices, "; ")))
	}
}

// required returns the names that a schema requires.
func required(s schema) (names []string) {
	list, _ := s["required"].([]any)
	for _, one := range list {
		if name, ok := one.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// addProperties adds the properties of another schema. A property of both may be either.
func addProperties(s, other schema) {
	added, _ := other["properties"].(schema)
	if len(added) == 0 {
		return
	}
	own, ok := s["properties"].(schema)
	if !ok {
		own = schema{}
		s["properties"] = own
	}
	for name, property := range added {
		present, ok := own[name]
		switch {
		case !ok:
			own[name] = property
		case reflect.DeepEqual(present, property), property == true:
		default:
			own[name] = either(present, property)
		}
	}
}

// either returns a schema for values of either kind.
func either(a, b any) any {
	if merged, ok := mergedValues(a, b); ok {
		return merged
	}
	if s, ok := a.(schema); ok && len(s) == 1 {
		if list, ok := s["anyOf"].([]any); ok {
			return schema{"anyOf": append(slices.Clone(list), b)}
		}
	}
	return schema{"anyOf": []any{a, b}}
}

// mergedValues joins the values of two schemas that are nothing but a choice of values, as the marks of
// a union are.
func mergedValues(a, b any) (schema, bool) {
	s, isA := a.(schema)
	o, isB := b.(schema)
	if !isA || !isB || s["type"] != o["type"] {
		return nil, false
	}
	values := func(s schema) []any {
		if one, ok := s["const"]; ok {
			return []any{one}
		}
		list, _ := s["enum"].([]any)
		return list
	}
	first, second := values(s), values(o)
	if len(first) == 0 || len(second) == 0 {
		return nil, false
	}
	out := schema{}
	for key, value := range s {
		if key != "const" {
			out[key] = value
		}
	}
	all := slices.Clone(first)
	for _, value := range second {
		if !slices.ContainsFunc(all, func(known any) bool { return reflect.DeepEqual(known, value) }) {
			all = append(all, value)
		}
	}
	out["enum"] = all
	return out, true
}
