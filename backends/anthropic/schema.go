package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// enforced returns the schema that the service is to enforce. Of one that the caller checks
// itself it is as much as the service takes; ok is false for a model that takes no schema.
func enforced(req backends.Request) (schema json.RawMessage, ok bool) {
	if len(req.Schema) == 0 || !req.Lenient {
		return req.Schema, len(req.Schema) > 0
	}
	var parsed any
	d := json.NewDecoder(bytes.NewReader(req.Schema))
	d.UseNumber() // a large integer in an enum stays as it is
	if CheckSchema(req.Model) != nil || d.Decode(&parsed) != nil {
		return nil, false
	}
	simple, ok := simplified(parsed)
	if !ok {
		return nil, false
	}
	schema, err := plain.JSON(simple)
	return schema, err == nil
}

// unenforced are the keywords that only narrow a value and that the service refuses ("Structured
// outputs" in the docs of the API, November 2026).
const unenforced = ` minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format
	minItems maxItems uniqueItems minProperties maxProperties title examples default $comment `

// simplified returns a part of a schema without what the service refuses; ok is false for one that
// it takes in no form. It wants to be told that objects have no other properties.
func simplified(part any) (simple any, ok bool) {
	schema, isObject := part.(map[string]any)
	if !isObject {
		return part, true
	}
	out := map[string]any{}
	for key, value := range schema {
		switch key {
		case "type", "enum", "const", "description", "required", "$ref", "additionalProperties":
			out[key] = value
		case "items":
			if out[key], ok = simplified(value); !ok {
				return nil, false
			}
		case "properties", "$defs", "definitions":
			if out[key], ok = eachSimplified(value); !ok {
				return nil, false
			}
		case "anyOf", "allOf":
			list, isList := value.([]any)
			list = slices.Clone(list)
			for i := range list {
				if list[i], ok = simplified(list[i]); !ok {
					return nil, false
				}
			}
			if out[key] = list; !isList {
				return nil, false
			}
		default:
			if !slices.Contains(strings.Fields(unenforced), key) {
				return nil, false
			}
		}
	}
	if out["properties"] == nil && out["type"] == "object" {
		return nil, false // one with any properties
	}
	if other := out["additionalProperties"]; out["properties"] != nil && (other == nil || other == true) {
		out["additionalProperties"] = false
	} else if other != nil && other != false {
		return nil, false
	}
	return out, true
}

func eachSimplified(value any) (map[string]any, bool) {
	schemas, ok := value.(map[string]any)
	out := map[string]any{}
	for name, schema := range schemas {
		simple, takes := simplified(schema)
		out[name], ok = simple, ok && takes
	}
	return out, ok
}
