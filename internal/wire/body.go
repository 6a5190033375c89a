package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
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
	names := slices.Sorted(maps.Keys(fields))
	pieces := [][]byte{}
	for _, name := range names {
		if fields[name] == nil {
			continue
		}
		key, err := plain.JSON(name)
		if err != nil {
			return nil, fmt.Errorf("encode the name %s: %w", name, err)
		}
		value, err := encode(fields[name])
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		pieces = append(pieces, slices.Concat(key, []byte(":")), value, []byte(","))
	}
	if len(pieces) > 0 {
		pieces = pieces[:len(pieces)-1]
	}
	return slices.Concat([]byte("{"), slices.Concat(pieces...), []byte("}")), nil
}

// Encoded is the value of a field as Object encodes it.
type Encoded []byte

func encode(value any) ([]byte, error) {
	if encoded, ok := value.(Encoded); ok {
		return encoded, nil
	}
	return plain.JSON(value)
}

// ToolList keeps the encoding of the list of tools that was sent last: all agents of a round
// are offered the same. It is safe for concurrent use, and the zero value is ready.
type ToolList struct {
	mu      sync.Mutex
	tools   []backends.Tool
	encoded Encoded
}

// Encode returns the encoding of what form makes of a list of tools.
func (l *ToolList) Encode(tools []backends.Tool, form func([]backends.Tool) (any, error)) (Encoded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(tools) == len(l.tools) && &tools[0] == &l.tools[0] {
		return l.encoded, nil
	}
	value, err := form(tools)
	if err != nil {
		return nil, err
	}
	encoded, err := plain.JSON(value)
	if err != nil {
		return nil, fmt.Errorf("encode the tools: %w", err)
	}
	l.tools, l.encoded = tools, Encoded(encoded)
	return l.encoded, nil
}

// unescapeHTML undoes what encoding/json does to <, > and & where a library uses it.
// Prompts are full of them, and a body is read by people.
func unescapeHTML(body []byte) []byte {
	// An escaped backslash is skipped: what follows it is no escape.
	plainly := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	return []byte(plainly.Replace(string(body)))
}
