package toolfit

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// resolve returns a schema with a copy of the target in place of its reference, if the service does not
// follow that reference. It drops a reference that leads nowhere or to itself. A branch of a combinator
// always gets the copy, also if path has its target: it describes the value that the schema around it
// describes.
func (f *fitter) resolve(s schema, path []string, isBranch bool) (schema, []string, error) {
	for {
		value, ok := s["$ref"]
		if !ok {
			return s, path, nil
		}
		to, isText := value.(string)
		target, found := f.find(to)
		if isText && found && !isBranch && f.follows(to) {
			return s, path, nil
		}
		delete(s, "$ref")
		if !isText || !found {
			return s, path, nil
		}
		if !isBranch && slices.Contains(path, to) || references(path) >= f.mostRefs {
			return s, path, nil // any value may stand where a schema contains itself
		}
		name := to
		if isBranch {
			name = "branch " + to // a property may lead there once more
		}
		path = append(slices.Clone(path), name)
		inner, err := f.copyTarget(target)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(inner, s) // what stands beside a reference says more of this place
		maps.Copy(s, inner)
	}
}

// copyTarget returns a copy of the target of a reference without its definitions.
func (f *fitter) copyTarget(target any) (schema, error) {
	whole, _ := target.(schema)
	own := maps.Clone(whole)
	delete(own, "$defs")
	delete(own, "definitions")
	copied, err := f.copy(own)
	if err != nil {
		return nil, err
	}
	return copied.(schema), nil
}

// follows reports whether the service follows a reference.
func (f *fitter) follows(to string) bool {
	switch {
	case f.NoRefs, !isDefinition(to):
		return false
	case f.PlainRefs && (to == "#" || strings.ContainsAny(to, "%~")):
		return false
	}
	return !f.DefsOnly || to == "#" || strings.HasPrefix(to, "#/$defs/")
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

// copy returns a copy of a value, and counts its parts and bytes.
func (f *fitter) copy(value any) (any, error) {
	f.parts++
	f.copied++
	switch value := value.(type) {
	case string:
		f.copied += len(value)
	case json.Number:
		f.copied += len(value)
	}
	if f.parts > mostParts || f.copied > mostCopied {
		return nil, errTooLarge
	}
	switch value := value.(type) {
	case schema:
		out := make(schema, len(value))
		for key, inner := range value {
			f.copied += len(key)
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
