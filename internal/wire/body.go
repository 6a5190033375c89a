package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/massgen/massgen/internal/plain"
)

// Merge puts fields into the JSON object that body is, and leaves <, > and &
// readable. A value of nil removes the field. The same input gives the same bytes:
// the fields of the object are sorted, what they hold keeps its order.
func Merge(body []byte, fields map[string]any) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(unescapeHTML(body), &object); err != nil {
		return nil, fmt.Errorf("decode the request body: %w", err)
	}
	for name, value := range fields {
		if value == nil {
			delete(object, name)
			continue
		}
		encoded, err := plain.JSON(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		object[name] = encoded
	}
	return join(object)
}

// join writes an object of fields that are encoded already, each of them once: a
// body of a large panel is long.
func join(fields map[string]json.RawMessage) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		key, err := plain.JSON(name)
		if err != nil {
			return nil, fmt.Errorf("encode the name %q: %w", name, err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(fields[name])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// unescapeHTML undoes what encoding/json does to <, > and & where a library uses it.
// Prompts are full of them, and a body is read by people.
func unescapeHTML(body []byte) []byte {
	if !bytes.Contains(body, []byte(`\u00`)) {
		return body
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			out = append(out, body[i])
			continue
		}
		if plain, ok := htmlEscape(body[i:]); ok {
			out = append(out, plain)
			i += len(`\u003c`) - 1
			continue
		}
		out = append(out, body[i], body[i+1])
		i++
	}
	return out
}

func htmlEscape(b []byte) (byte, bool) {
	if len(b) < len(`\u003c`) {
		return 0, false
	}
	switch string(b[:len(`\u003c`)]) {
	case `\u003c`:
		return '<', true
	case `\u003e`:
		return '>', true
	case `\u0026`:
		return '&', true
	}
	return 0, false
}
