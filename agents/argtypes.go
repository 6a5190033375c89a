package agents

import (
	"math"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// argumentTypes checks arguments against a schema that sets only their types, as for most tools: texts,
// numbers and truth values. A check allocates nothing.
type argumentTypes struct {
	types    map[string]string // by name, nil if the schema sets more
	required []string
}

// typesOf returns the types of a schema's arguments.
func typesOf(schema *jsonschema.Schema) argumentTypes {
	of := argumentTypes{types: map[string]string{}, required: schema.Required}
	isMore := !reflect.DeepEqual(*schema, jsonschema.Schema{
		Type: "object", Properties: schema.Properties, PropertyOrder: schema.PropertyOrder,
		Required: schema.Required, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	})
	for name, p := range schema.Properties {
		isMore = isMore || !reflect.DeepEqual(*p, jsonschema.Schema{Type: p.Type, Description: p.Description})
		of.types[name] = p.Type
	}
	if isMore {
		of.types = nil
	}
	return of
}

// fit reports whether arguments certainly fit the schema. If it returns false, the schema itself has
// to check them.
func (a argumentTypes) fit(given any) bool {
	object, ok := given.(map[string]any)
	if !ok || a.types == nil || slices.ContainsFunc(a.required, func(name string) bool { return object[name] == nil }) {
		return false
	}
	for name, value := range object {
		if !isOfType(value, a.types[name]) {
			return false
		}
	}
	return true
}

// isOfType reports whether a value is a text, a number or a truth value of a type of JSON Schema.
func isOfType(value any, of string) bool {
	switch v := value.(type) {
	case string:
		return of == "string"
	case bool:
		return of == "boolean"
	case float64:
		return of == "number" || of == "integer" && v == math.Trunc(v)
	}
	return false
}
