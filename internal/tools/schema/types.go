package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const types = "array, boolean, integer, null, number, object, string"

// checkTypes refuses a type that JSON does not have, such as "strng": no answer would fit it, and every
// refused answer costs money.
func checkTypes(schema any) error {
	switch schema := schema.(type) {
	case []any:
		for _, s := range schema {
			if err := checkTypes(s); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(schema)) {
			if err := checkKeyword(key, schema[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkKeyword checks only keywords whose values are schemas: other values are data.
func checkKeyword(key string, value any) error {
	switch key {
	case "type":
		names, isList := value.([]any)
		if !isList {
			names = []any{value}
		}
		for _, n := range names {
			if name, ok := n.(string); ok && !slices.Contains(strings.Split(types, ", "), name) {
				return fmt.Errorf("type %q is none of JSON: it is one of %s", name, types)
			}
		}
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		byName, _ := value.(map[string]any) // another form was refused before
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			if err := checkTypes(byName[name]); err != nil {
				return err
			}
		}
	case "items", "additionalItems", "prefixItems", "unevaluatedItems", "contains", "additionalProperties",
		"unevaluatedProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
		return checkTypes(value)
	}
	return nil
}
