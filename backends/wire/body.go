package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Merge puts fields into the JSON object that body is, and leaves <, > and &
// readable. A value of nil removes the field. The same input gives the same bytes:
// the fields of the object are sorted, what they hold keeps its order.
func Merge(body []byte, fields map[string]any) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("decode the request body: %w", err)
	}
	for name, value := range fields {
		if value == nil {
			delete(object, name)
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		object[name] = raw
	}
	out, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode the request body: %w", err)
	}
	return unescapeHTML(out), nil
}

// unescapeHTML undoes what encoding/json does to <, > and &. Prompts are full of
// them, and a body is read by people.
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
