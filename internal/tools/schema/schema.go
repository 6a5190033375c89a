// Package schema reads the JSON Schema that the answers of a turn have to fit, and the answers
// that fit it.
package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/massgen/massgen/internal/system/plain"
)

// Schema is the JSON Schema that the answers of a turn have to fit. It never changes.
type Schema struct {
	// text is the schema for models.
	text json.RawMessage
	// nested is the schema without its definitions, and defs has the definitions by their key:
	// references begin at the root, also if the schema is a part of another.
	nested json.RawMessage
	defs   map[string]json.RawMessage
	// isFit checks a value.
	isFit *jsonschema.Resolved
}

// MaxBytes is the size of the largest schema in bytes: every call sends it.
const MaxBytes = 64 << 10

// Parse reads a JSON Schema for answers. It describes an object, has at most
// MaxBytes bytes, names only types that JSON has, and refers to nothing but its own $defs or
// definitions. The error says what to change.
func Parse(schema []byte) (*Schema, error) {
	s, err := ParseStored(schema)
	if err != nil {
		return nil, err
	}
	var whole any
	if err := json.Unmarshal(s.text, &whole); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if err := checkTypes(whole); err != nil {
		return nil, err
	}
	return s, nil
}

// ParseStored reads the schema of a turn that has begun. It also accepts schemas that only an older Parse
// accepted.
func ParseStored(schema []byte) (*Schema, error) {
	if len(schema) > MaxBytes {
		return nil, fmt.Errorf("it has %d bytes, and the most is %d: every model call is sent it", len(schema), MaxBytes)
	}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(schema, &root); err != nil || root == nil {
		return nil, errors.New(`it is no JSON object: write a JSON Schema, such as {"type": "object", "properties": {…}}`)
	}
	if string(root["type"]) != `"object"` {
		return nil, errors.New(`it describes no object, which services want: set "type": "object" at its top`)
	}
	if err := checkReferences(root); err != nil {
		return nil, err
	}
	delete(root, "$schema") // other drafts agree about the parts that are used here
	delete(root, "$id")
	s := &Schema{defs: map[string]json.RawMessage{}}
	var err error
	if s.text, err = plain.JSON(root); err != nil {
		return nil, fmt.Errorf("encode it: %w", err)
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(s.text, &parsed); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if s.isFit, err = parsed.Resolve(nil); err != nil {
		return nil, fmt.Errorf("it cannot be used: %w", err)
	}
	for _, key := range []string{"$defs", "definitions"} {
		if defs, ok := root[key]; ok {
			s.defs[key] = defs
			delete(root, key)
		}
	}
	if s.nested, err = plain.JSON(root); err != nil {
		return nil, fmt.Errorf("encode it: %w", err)
	}
	return s, nil
}

// String returns the schema in JSON, as models get it.
func (s *Schema) String() string { return string(s.text) }

// Nested returns the schema in JSON without its definitions, for a place in another schema.
func (s *Schema) Nested() string { return string(s.nested) }

// Within returns the schema of an object with the definitions of s added to it, or unchanged if s is
// nil.
func (s *Schema) Within(outer json.RawMessage) json.RawMessage {
	if s == nil || len(s.defs) == 0 {
		return outer
	}
	for _, key := range slices.Sorted(maps.Keys(s.defs)) {
		end := bytes.LastIndexByte(outer, '}')
		outer = slices.Concat(outer[:end], []byte(`,"`+key+`":`), s.defs[key], []byte(`}`))
	}
	return outer
}

// InText reads the answer in a text, perhaps in a fence or between other words. It returns the answer on
// one line, or the reason why there is none.
func (s *Schema) InText(text string) (answer, problem string) {
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start {
		return "", "there is no JSON object in it"
	}
	return s.fit([]byte(text[start : end+1]))
}

// InArgument reads the answer in an argument of a call: a value, or a text that holds one.
func (s *Schema) InArgument(value json.RawMessage) (answer, problem string) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return s.InText(text)
	}
	return s.fit(value)
}

func (s *Schema) fit(value []byte) (answer, problem string) {
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return "", fmt.Sprintf("it is not valid JSON (%s)", err)
	}
	if err := s.isFit.Validate(decoded); err != nil {
		return "", fmt.Sprintf("it does not fit the JSON Schema of the answer: %s", plain.Line(err.Error()))
	}
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return "", fmt.Sprintf("it is not valid JSON (%s)", err)
	}
	return line.String(), ""
}

// checkReferences refuses references to anything except definitions at the top, and definitions that
// refer to themselves for the same value: checking such a value would never end.
func checkReferences(root map[string]json.RawMessage) error {
	w := referenceWalk{edges: map[string][]string{}}
	names := map[string]bool{}
	for _, key := range []string{"$defs", "definitions"} {
		var defs map[string]any
		if raw, ok := root[key]; ok && json.Unmarshal(raw, &defs) != nil {
			return fmt.Errorf("%s is no object of schemas", key)
		}
		for name, def := range defs {
			at := "#/" + key + "/" + name
			names[at] = true
			w.walk(at, def, true)
		}
	}
	for key, raw := range root {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		if key != "$defs" && key != "definitions" {
			w.walk("#", map[string]any{key: value}, true)
		}
	}
	for _, to := range w.all {
		if !names[to] {
			return fmt.Errorf("$ref %q leads to no definition at its top: put that part under $defs and write #/$defs/NAME", to)
		}
	}
	return w.cycle()
}

// referenceWalk collects all references of a schema and, for each definition, its references about the
// same value.
type referenceWalk struct {
	all   []string
	edges map[string][]string
}

// walk collects the references in a part of the definition at. isSame marks a part about the same value.
func (w *referenceWalk) walk(at string, part any, isSame bool) {
	switch part := part.(type) {
	case []any:
		for _, p := range part {
			w.walk(at, p, isSame)
		}
	case map[string]any:
		for key, value := range part {
			if to, ok := value.(string); ok && (key == "$ref" || key == "$dynamicRef") {
				w.all = append(w.all, to)
				if isSame {
					w.edges[at] = append(w.edges[at], to)
				}
				continue
			}
			switch key {
			case "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
				w.walk(at, value, isSame)
			case "dependentSchemas", "dependencies":
				byName, _ := value.(map[string]any) // another form is refused later
				for _, schema := range byName {
					w.walk(at, schema, isSame)
				}
			case "enum", "const", "default", "examples":
			default:
				w.walk(at, value, false)
			}
		}
	}
}

// cycle returns an error for a definition that leads to itself.
func (w *referenceWalk) cycle() error {
	done := map[string]bool{}
	var visit func(at string, path []string) error
	visit = func(at string, path []string) error {
		if slices.Contains(path, at) {
			return fmt.Errorf("%s refers to itself without a property or an item between", at)
		}
		if done[at] {
			return nil
		}
		for _, to := range w.edges[at] {
			if err := visit(to, append(path, at)); err != nil {
				return err
			}
		}
		done[at] = true
		return nil
	}
	for at := range w.edges {
		if err := visit(at, nil); err != nil {
			return err
		}
	}
	return nil
}

type key struct{}

// With returns a context for the beginning of a turn with a schema; nil means no schema.
func With(ctx context.Context, s *Schema) context.Context { return context.WithValue(ctx, key{}, s) }

// Of returns the schema of a context, or nil.
func Of(ctx context.Context) *Schema {
	s, _ := ctx.Value(key{}).(*Schema)
	return s
}
