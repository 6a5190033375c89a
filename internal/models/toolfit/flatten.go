package toolfit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// resolveRoot copies the target of a reference at the root to it.
func (f *fitter) resolveRoot(root schema) error {
	whole := f.Rules
	f.NoRefs = true
	_, _, err := f.resolve(root, []string{"#"}, false)
	f.Rules = whole
	return err
}

// flatten makes one object of the combinators at the root, which no service takes there. The object has
// the properties of all branches. Only what every branch requires stays required, and the description
// names the choice.
func (f *fitter) flatten(root schema) error {
	if _, err := f.mergeAllOf(root, nil); err != nil {
		return err
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, _, err := f.branches(root, key, nil)
		if err != nil {
			return err
		}
		if err := f.choose(root, branches); err != nil {
			return err
		}
	}
	then, _ := root["then"].(schema)
	otherwise, _ := root["else"].(schema)
	if err := f.addChosen(root, []schema{then, otherwise}); err != nil {
		return err
	}
	for _, key := range []string{"not", "enum", "const", "if", "then", "else"} {
		delete(root, key)
	}
	return nil
}

// mergeAllOf adds the branches of allOf to a schema. It returns the path to the schemas in it.
func (f *fitter) mergeAllOf(s schema, path []string) ([]string, error) {
	branches, path, err := f.branches(s, "allOf", path)
	if err != nil {
		return nil, err
	}
	for _, branch := range branches {
		if _, err := f.narrow(s, branch, path); err != nil {
			return nil, err
		}
	}
	return path, nil
}

// branches takes the schemas of a combinator out of s, with those in them of the same combinator. It
// returns the longest path to one of them, too.
func (f *fitter) branches(s schema, key string, path []string) (out []schema, longest []string, err error) {
	type branch struct {
		value any
		path  []string
	}
	longest = path
	list, _ := s[key].([]any)
	delete(s, key)
	var left []branch // the last comes first
	add := func(list []any, path []string) {
		for _, value := range slices.Backward(list) {
			left = append(left, branch{value, path})
		}
	}
	add(list, path)
	for len(left) > 0 {
		next := left[len(left)-1]
		left = left[:len(left)-1]
		one, ok := next.value.(schema)
		if next.value == true && key != "allOf" {
			one, ok = schema{}, true
		}
		if !ok {
			continue
		}
		if f.parts++; f.parts > mostParts {
			return nil, nil, errTooLarge
		}
		if _, next.path, err = f.resolve(one, next.path, true); err != nil {
			return nil, nil, err
		}
		repair(one)
		if key != "allOf" {
			if next.path, err = f.mergeAllOf(one, next.path); err != nil {
				return nil, nil, err
			}
		}
		if inner, ok := one[key].([]any); ok {
			delete(one, key)
			add(inner, next.path)
		}
		if references(next.path) > references(longest) {
			longest = next.path
		}
		out = append(out, one)
	}
	return out, longest, nil
}

// choose adds the branches of a choice to the root.
func (f *fitter) choose(root schema, branches []schema) error {
	var objects []schema
	var choices, shared []string
	for _, branch := range branches {
		if kind := typeName(branch["type"]); kind != "" && kind != "object" {
			continue // the arguments of a tool are an object
		}
		names := required(branch)
		if len(objects) == 0 {
			shared = slices.Clone(names)
		}
		isNamed := setOf(names)
		shared = slices.DeleteFunc(shared, func(name string) bool { return !isNamed[name] })
		if err := f.step(len(shared)); err != nil {
			return err
		}
		choices = append(choices, strings.Join(names, ", "))
		objects = append(objects, branch)
	}
	if err := f.addChosen(root, objects); err != nil {
		return err
	}
	require(root, shared)
	if len(choices) > 1 && !slices.Contains(choices, "") {
		describe(root, "Give the arguments of one of these lists: "+plain.Line(strings.Join(choices, "; ")))
	}
	return nil
}

// addChosen adds the properties of branches to the root. One branch of them holds. So a property of the
// root gets narrower only if all branches have it.
func (f *fitter) addChosen(root schema, branches []schema) error {
	joined, count := schema{}, map[string]int{}
	for _, branch := range branches {
		if err := f.addProperties(joined, branch); err != nil {
			return err
		}
		properties, _ := branch["properties"].(schema)
		for name := range properties {
			count[name]++
		}
	}
	added, _ := joined["properties"].(schema)
	own, _ := root["properties"].(schema)
	for name := range own {
		if _, ok := added[name]; ok && count[name] < len(branches) {
			delete(added, name)
		}
	}
	return f.narrowProperties(root, joined, nil)
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

// require adds names to those that a schema requires.
func require(s schema, names []string) {
	list, _ := s["required"].([]any)
	known := setOf(required(s))
	for _, name := range names {
		if !known[name] {
			known[name] = true
			list = append(list, name)
		}
	}
	if len(list) > 0 {
		s["required"] = list
	}
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// addProperties adds the properties of another schema. A property of both may be either.
func (f *fitter) addProperties(s, other schema) error {
	added, _ := other["properties"].(schema)
	if len(added) == 0 {
		return nil
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
		case reflect.DeepEqual(present, property), present == true:
		case property == true:
			own[name] = true
		default:
			if err := f.step(alternatives(present)); err != nil {
				return err
			}
			own[name] = either(present, property)
		}
	}
	return nil
}

// alternatives returns how many values or schemas a choice has.
func alternatives(value any) int {
	s, _ := value.(schema)
	values, _ := s["enum"].([]any)
	choices, _ := s["anyOf"].([]any)
	return 1 + len(values) + len(choices)
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
