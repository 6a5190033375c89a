package toolfit

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// narrow adds the keywords of another schema to s, so that s describes only values that fit both. It
// returns the keywords of other that one schema cannot have beside its own. path leads to both.
func (f *fitter) narrow(s, other schema, path []string) (left schema, err error) {
	left = schema{}
	for _, key := range sortedKeys(other) {
		value := other[key]
		own, ok := s[key]
		switch {
		case key == "properties":
			err = f.narrowProperties(s, other, path)
		case key == "required":
			require(s, required(other))
		case key == "additionalProperties" && !reflect.DeepEqual(own, value):
			// other's would refuse properties of s
		case key == "enum", key == "const":
			err = f.narrowValues(s, key, value)
		case !ok:
			s[key] = value
		case reflect.DeepEqual(own, value), isRemark(key), key == "$defs", key == "definitions":
		case key == "items", key == "propertyNames":
			s[key], err = f.both(own, value, path)
		case key == "type":
			s[key] = sharedTypes(own, value)
		case narrower(key) != 0:
			if isNarrower(key, value, own) {
				s[key] = value
			}
		case key == "uniqueItems":
			s[key] = true
		case key == "allOf":
			list, _ := own.([]any)
			more, _ := value.([]any)
			s[key] = slices.Concat(list, more)
		default:
			left[key] = value
		}
		if err != nil {
			return nil, err
		}
	}
	if _, ok := left["if"]; ok {
		for _, key := range []string{"then", "else"} {
			if value, ok := other[key]; ok {
				left[key] = value
			}
		}
	}
	if pattern, ok := left["pattern"].(string); ok && f.NoAllOf {
		describe(s, "It matches the pattern "+pattern)
		text, _ := s["description"].(string)
		err = f.step(len(text))
	}
	return left, err
}

// narrowProperties adds the properties of another schema. A value of a property that both have fits both.
func (f *fitter) narrowProperties(s, other schema, path []string) error {
	added, _ := other["properties"].(schema)
	if len(added) == 0 {
		return nil
	}
	own, ok := s["properties"].(schema)
	if !ok {
		own = schema{}
		s["properties"] = own
	}
	for _, name := range sortedKeys(added) {
		present, ok := own[name]
		if !ok {
			own[name] = added[name]
			continue
		}
		var err error
		if own[name], err = f.both(present, added[name], path); err != nil {
			return err
		}
	}
	return nil
}

// both returns a schema for values that fit a and b.
func (f *fitter) both(a, b any, path []string) (any, error) {
	s, isA := a.(schema)
	o, isB := b.(schema)
	switch {
	case a == false, b == false:
		return false, nil
	case !isB, len(o) == 0, reflect.DeepEqual(a, b):
		return a, nil
	case !isA, len(s) == 0:
		return b, nil
	}
	list, _ := s["allOf"].([]any)
	if err := f.step(1 + len(s) + len(o) + len(list)); err != nil {
		return nil, err
	}
	s, o = maps.Clone(s), maps.Clone(o)
	for _, one := range []schema{s, o} {
		var err error
		if _, path, err = f.resolve(one, path, true); err != nil {
			return nil, err
		}
	}
	left, err := f.narrow(s, o, path)
	if len(left) > 0 && !f.NoAllOf {
		list, _ := s["allOf"].([]any)
		s["allOf"] = append(slices.Clone(list), left)
	}
	return s, err
}

// isRemark reports whether a keyword has no effect on which values fit.
func isRemark(key string) bool {
	switch key {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema", "$id", "$anchor", "id":
		return true
	}
	return false
}

// sharedTypes returns the types in both values of "type", or the first value if there are none.
func sharedTypes(a, b any) any {
	var names []any
	for _, one := range values(a) {
		for _, other := range values(b) {
			name, second := typeName(one), typeName(other)
			if name == "number" && second == "integer" {
				name = second
			}
			isShared := name == second || name == "integer" && second == "number"
			if name != "" && isShared && !containsText(names, name) {
				names = append(names, name)
			}
		}
	}
	switch len(names) {
	case 0:
		return a
	case 1:
		return names[0]
	}
	return names
}

// narrowValues adds the "enum" or "const" of another schema to s. If no value is in both, s stays as it is.
func (f *fitter) narrowValues(s schema, key string, value any) error {
	own, ok := s["const"]
	if !ok {
		own, ok = s["enum"]
	}
	if !ok {
		s[key] = value
		return nil
	}
	first, second := values(own), values(value)
	if err := f.step(len(first) * len(second)); err != nil {
		return err
	}
	shared := slices.DeleteFunc(slices.Clone(first), func(one any) bool {
		return !slices.ContainsFunc(second, func(other any) bool { return reflect.DeepEqual(one, other) })
	})
	if len(shared) > 0 && len(shared) < len(first) {
		delete(s, "const")
		s["enum"] = shared
	}
	return nil
}

// values returns a list, or a list of the one value.
func values(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// narrower returns 1 for a limit that is narrower if it is higher, -1 for one that is narrower if it is
// lower, and 0 for other keywords.
func narrower(key string) int {
	switch key {
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return 1
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return -1
	}
	return 0
}

// isNarrower reports whether a limit is narrower than another.
func isNarrower(key string, limit, than any) bool {
	a, isA := limit.(json.Number)
	b, isB := than.(json.Number)
	if !isA || !isB {
		return isA
	}
	x, errA := a.Float64()
	y, errB := b.Float64()
	return errA == nil && errB == nil && (x-y)*float64(narrower(key)) > 0
}
