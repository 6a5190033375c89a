package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/massgen/massgen/internal/plain"
)

// Merge puts fields into the JSON object that body is, as Object encodes them.
func Merge(body []byte, fields map[string]any) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(unescapeHTML(body), &object); err != nil {
		return nil, fmt.Errorf("decode the request body: %w", err)
	}
	merged := map[string]any{}
	for name, value := range object {
		merged[name] = value
	}
	maps.Copy(merged, fields)
	return Object(merged)
}

// Object encodes fields as a JSON object, in which <, > and & are readable. A field that
// is nil is left out. The same input gives the same bytes: the fields are sorted.
func Object(fields map[string]any) ([]byte, error) {
	object := map[string]json.RawMessage{}
	for name, value := range fields {
		if value == nil {
			continue
		}
		encoded, err := plain.JSON(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		object[name] = encoded
	}
	return plain.JSON(object)
}

// unescapeHTML undoes what encoding/json does to <, > and & where a library uses it.
// Prompts are full of them, and a body is read by people.
func unescapeHTML(body []byte) []byte {
	// An escaped backslash is skipped: what follows it is no escape.
	plainly := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	return []byte(plainly.Replace(string(body)))
}
