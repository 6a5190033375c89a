package toolfit

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// resolve returns a schema with a copy of the target in place of its reference, if the service does not
// follow that reference. A reference that leads nowhere, or to itself, is left out.
func (f *fitter) resolve(s schema, path []string) (schema, []string, error) {
	for {
		value, ok := s["$ref"]
		if !ok {
			return s, path, nil
		}
		to, isText := value.(string)
		target, found := f.find(to)
		if isText && found && !f.NoRefs && isDefinition(to) && (!f.DefsOnly || to == "#" || strings.HasPrefix(to, "#/$defs/")) {
			return s, path, nil
		}
		delete(s, "$ref")
		if !isText || !found {
			return s, path, nil
		}
		if slices.Contains(path, to) || references(path) >= f.mostRefs {
			return s, path, nil // any value may stand where a schema contains itself
		}
		path = append(slices.Clone(path), to)
		copied, err := f.copy(target)
		if err != nil {
			return nil, nil, err
		}
		inner, ok := copied.(schema)
		if !ok {
			return s, path, nil
		}
		delete(inner, "$defs")
		delete(inner, "definitions")
		maps.Copy(inner, s) // what stands beside a reference says more of this place
		maps.Copy(s, inner)
	}
}

// references returns the number of references in a path.
func references(path []string) (n int) {
	for _, to := range path {
		if to != "" {
			n++
		}
	}
	return n
}

// isDefinition reports whether a reference leads to the root or to a definition there. Services follow
// no other.
func isDefinition(to string) bool {
	if to == "#" {
		return true
	}
	for _, prefix := range []string{"#/$defs/", "#/definitions/"} {
		if name, ok := strings.CutPrefix(to, prefix); ok {
			return name != "" && !strings.Contains(name, "/")
		}
	}
	return false
}

// find returns the target of a reference in the schema itself.
func (f *fitter) find(to string) (any, bool) {
	pointer, ok := strings.CutPrefix(to, "#")
	if !ok {
		return nil, false
	}
	if pointer == "" {
		return f.root, true
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return nil, false
	}
	var at any = f.root
	for _, word := range strings.Split(rest, "/") {
		if decoded, err := url.PathUnescape(word); err == nil {
			word = decoded
		}
		word = strings.NewReplacer("~1", "/", "~0", "~").Replace(word)
		switch inner := at.(type) {
		case schema:
			if at, ok = inner[word]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(word)
			if err != nil || i < 0 || i >= len(inner) {
				return nil, false
			}
			at = inner[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// copy returns a copy of a value, and counts its parts.
func (f *fitter) copy(value any) (any, error) {
	if f.parts++; f.parts > mostParts {
		return nil, errTooLarge
	}
	switch value := value.(type) {
	case schema:
		out := make(schema, len(value))
		for key, inner := range value {
			copied, err := f.copy(inner)
			if err != nil {
				return nil, err
			}
			out[key] = copied
		}
		return out, nil
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			copied, err := f.copy(inner)
			if err != nil {
				return nil, err
			}
			out[i] = copied
		}
		return out, nil
	}
	return value, nil
}

func sortedKeys(s schema) []string { return slices.Sorted(maps.Keys(s)) }
