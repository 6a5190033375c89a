package server

import (
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/internal/tools/schema"
)

// answerFormat is the requested form of the answer: response_format of chat completions, whose schema
// stands in an object of its own, or text.format of responses.
type answerFormat struct {
	Type       string          `json:"type"`
	Schema     json.RawMessage `json:"schema"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// anyObject is the schema for the type json_object.
const anyObject = `{"type":"object"}`

// schema returns the schema of the answer, nil for a text. place is the request's key of the format, and
// at its key of the schema.
func (f *answerFormat) schema(place, at string) (*schema.Schema, error) {
	if f == nil {
		return nil, nil
	}
	text := f.Schema
	switch f.Type {
	case "", "text":
		return nil, nil
	case "json_object":
		text = json.RawMessage(anyObject)
	case "json_schema":
		if len(f.JSONSchema.Schema) > 0 {
			text = f.JSONSchema.Schema
		}
		if len(text) == 0 {
			return nil, badRequest(at, at+" is missing: it is the JSON Schema of the answer")
		}
	default:
		return nil, badRequest(place+".type", fmt.Sprintf("%s.type is %q: it is text, json_object or json_schema", place, shortened(f.Type)))
	}
	answers, err := schema.Parse(text)
	if err != nil {
		return nil, badRequest(at, fmt.Sprintf("%s: %s", at, err))
	}
	return answers, nil
}
