package toolfit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// The limits of one schema: how many schemas it may have in it when references are copied, how many bytes
// the copies may have, how many steps all merges may take, and how deep schemas may be in one another.
const (
	mostParts  = 20_000
	mostSteps  = 2_000_000
	mostCopied = 128 << 10
	mostDepth  = 200
)

var (
	errTooLarge = fmt.Errorf("its schema unfolds to more than %d schemas, or its references to more than %d KiB", mostParts, mostCopied>>10)
	errTooDeep  = fmt.Errorf("its schema is more than %d schemas deep", mostDepth)
)

// Fitted is a tool in the form that its service takes.
type Fitted struct {
	Tool  backends.Tool
	names names
}

// Fit returns a tool in the form that a service takes. The error says why there is none.
func (r Rules) Fit(t backends.Tool) (Fitted, error) {
	out := Fitted{Tool: t}
	if most := r.MaxDescription; most > 0 && utf8.RuneCountInString(t.Description) > most {
		out.Tool.Description = string([]rune(t.Description)[:most-1]) + "…"
	}
	if len(bytes.TrimSpace(t.Schema)) == 0 {
		return out, nil
	}
	before, err := decode(t.Schema)
	if err != nil {
		return Fitted{}, err
	}
	root, err := r.fitted(t.Schema, before)
	if err != nil {
		return Fitted{}, err
	}
	if r.PlainNames {
		out.names = newNames(root, r.LetterFirst)
		out.names.apply(root)
	}
	if reflect.DeepEqual(before, root) {
		return out, nil
	}
	if out.Tool.Schema, err = plain.JSON(root); err != nil {
		return Fitted{}, fmt.Errorf("encode its schema: %w", err)
	}
	return out, nil
}

// fitted returns the schema before in the form that the service takes. Copies of schemas that contain each
// other grow fast. If the result would be too large or too deep, fitted nests fewer copies in one another.
func (r Rules) fitted(text json.RawMessage, before schema) (root schema, err error) {
	for _, most := range []int{mostDepth, 6, 3, 1} {
		if root, err = decode(text); err != nil {
			return nil, err
		}
		f := fitter{Rules: r, root: before, mostRefs: most}
		if root, err = f.fitRoot(root); !errors.Is(err, errTooLarge) && !errors.Is(err, errTooDeep) {
			return root, err
		}
	}
	return nil, err
}

// schema is a JSON Schema that is an object.
type schema = map[string]any

// decode reads a schema. PHP writes an empty object as an empty list.
func decode(text json.RawMessage) (schema, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, errors.New("its schema is not JSON")
	}
	switch value := value.(type) {
	case schema:
		return value, nil
	case nil:
		return schema{}, nil
	case []any:
		if len(value) == 0 {
			return schema{}, nil
		}
	}
	return nil, errors.New("its schema is no JSON object")
}

// fitter makes one schema fit. It changes the decoded schema.
type fitter struct {
	Rules
	root     schema // as it came
	mostRefs int    // copies of references in one another
	parts    int    // schemas until now
	copied   int    // bytes of copies until now
	steps    int    // of merges until now
}

// step counts the steps of a merge.
func (f *fitter) step(n int) error {
	if f.steps += n; f.steps > mostSteps {
		return errTooLarge
	}
	return nil
}

func (f *fitter) fitRoot(root schema) (schema, error) {
	if err := f.resolveRoot(root); err != nil {
		return nil, err
	}
	if err := f.flatten(root); err != nil {
		return nil, err
	}
	switch kind := root["type"].(type) {
	case nil:
	case string:
		if typeName(kind) != "object" {
			return nil, fmt.Errorf("its schema is of type %q, not \"object\"", plain.Line(kind))
		}
	case []any:
		if !containsText(kind, "object") && len(kind) > 0 {
			return nil, errors.New(`its schema is not of type "object"`)
		}
	default:
		return nil, errors.New(`its schema is not of type "object"`)
	}
	root["type"] = "object"
	if _, ok := root["properties"].(schema); !ok {
		_, isThere := root["properties"]
		if isThere || f.NeedsProperties {
			root["properties"] = schema{}
		}
	}
	if f.NoSchemaKey {
		delete(root, "$schema")
	}
	if f.NoRefs {
		delete(root, "$defs")
	}
	if f.NoRefs || f.DefsOnly {
		delete(root, "definitions")
	}
	fitted, err := f.fit(root, nil)
	if err != nil {
		return nil, err
	}
	return fitted.(schema), nil
}

// fit makes a schema and those in it fit. path has the references that led to it.
func (f *fitter) fit(value any, path []string) (any, error) {
	if f.parts++; f.parts > mostParts {
		return nil, errTooLarge
	}
	if len(path) > mostDepth {
		return nil, errTooDeep
	}
	s, ok := value.(schema)
	if !ok {
		return f.fitOther(value), nil
	}
	s, path, err := f.resolve(s, path, false)
	if err != nil {
		return nil, err
	}
	repair(s)
	if f.NoAllOf {
		if path, err = f.mergeAllOf(s, path); err != nil {
			return nil, err
		}
	}
	if f.OneType {
		if err := f.giveType(s); err != nil {
			return nil, err
		}
	}
	f.addType(s)
	f.restrict(s)
	if err := f.fitEach(s, append(path, "")); err != nil {
		return nil, err
	}
	if f.NamedRequired {
		nameRequired(s)
	}
	return s, nil
}

// fitOther returns a schema in place of a value that is no object.
func (f *fitter) fitOther(value any) any {
	if is, ok := value.(bool); ok && !f.NoBooleans {
		return is
	}
	if f.OneType {
		return schema{"type": anyType()}
	}
	return f.addType(schema{})
}

// fitEach fits the schemas in s.
func (f *fitter) fitEach(s schema, path []string) error {
	for key, value := range s {
		var err error
		switch {
		case hasSchemas(key):
			err = f.fitNamed(value, path)
			if named, ok := value.(schema); ok && f.NoBooleans && key == "properties" {
				for name, property := range named {
					if property == false {
						delete(named, name)
					}
				}
			}
		case isListOfSchemas(key):
			list, _ := value.([]any)
			for i := range list {
				if list[i], err = f.fit(list[i], path); err != nil {
					return err
				}
			}
		case isSchema(key):
			if is, isBool := value.(bool); isBool && (key != "items" || !f.NoBooleans) {
				s[key] = is
				continue
			}
			if inner, ok := value.(schema); ok && len(inner) == 0 && key == "additionalProperties" && f.OneType {
				continue // the service takes it for any value
			}
			s[key], err = f.fit(value, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *fitter) fitNamed(value any, path []string) error {
	named, _ := value.(schema)
	for name, inner := range named {
		if inner == false && f.NoBooleans {
			continue
		}
		fitted, err := f.fit(inner, path)
		if err != nil {
			return err
		}
		named[name] = fitted
	}
	return nil
}

// hasSchemas reports whether a keyword has schemas by name, isListOfSchemas whether it has a list of
// them, and isSchema whether it has one.
func hasSchemas(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return true
	}
	return false
}

func isListOfSchemas(key string) bool {
	switch key {
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return true
	}
	return false
}

func isSchema(key string) bool {
	switch key {
	case "items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "contentSchema", "not", "if", "then", "else":
		return true
	}
	return false
}

func containsText(list []any, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}
