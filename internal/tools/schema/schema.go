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
	// parsed is the schema, and isFit checks a value by it.
	parsed *jsonschema.Schema
	isFit  *jsonschema.Resolved
}

// MaxBytes is the size of the largest schema in bytes: every call sends it.
const MaxBytes = 64 << 10

// Parse reads a JSON Schema for answers. It describes an object, has at most
// MaxBytes bytes, names only types that JSON has, and refers to nothing but its own $defs or
// definitions. It is not nested too deep, and checking an answer takes few enough steps. The error says
// what to change.
func Parse(schema []byte) (*Schema, error) {
	if err := CheckDepth(schema); err != nil && len(schema) <= MaxBytes {
		return nil, err
	}
	s, err := parse(schema, checkPatterns)
	if err != nil {
		return nil, err
	}
	if err := s.checkCost(); err != nil {
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
	return parse(schema, func(*jsonschema.Schema) error { return nil })
}

// parse reads a schema. It calls check before it compiles the patterns.
func parse(schema []byte, check func(*jsonschema.Schema) error) (*Schema, error) {
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
	s.parsed = new(jsonschema.Schema)
	if err := json.Unmarshal(s.text, s.parsed); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if err := check(s.parsed); err != nil {
		return nil, err
	}
	if s.isFit, err = s.parsed.Resolve(nil); err != nil {
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
// one line, or the reason why there is none. err is the error of ctx.
func (s *Schema) InText(ctx context.Context, text string) (answer, problem string, err error) {
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start {
		return "", "there is no JSON object in it", nil
	}
	return s.fit(ctx, []byte(text[start:end+1]))
}

// InArgument reads the answer in an argument of a call: a value, or a text that holds one.
func (s *Schema) InArgument(ctx context.Context, value json.RawMessage) (answer, problem string, err error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return s.InText(ctx, text)
	}
	return s.fit(ctx, value)
}

// mostProblem is how many bytes of the checker's words are kept.
const mostProblem = 16 << 10

func (s *Schema) fit(ctx context.Context, value []byte) (answer, problem string, err error) {
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return "", fmt.Sprintf("it is not valid JSON (%s)", err), nil
	}
	misfit, err := s.validate(ctx, decoded)
	if err != nil {
		return "", "", err
	}
	if misfit != nil {
		return "", fmt.Sprintf("it does not fit the JSON Schema of the answer: %s", plain.Line(plain.CutBytes(misfit.Error(), mostProblem))), nil
	}
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return "", fmt.Sprintf("it is not valid JSON (%s)", err), nil
	}
	return line.String(), "", nil
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
