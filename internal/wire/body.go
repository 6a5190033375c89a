package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

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
	var pieces [][]byte
	for _, name := range slices.Sorted(maps.Keys(fields)) {
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
		pieces = append(pieces, []byte(","), key, []byte(":"))
		pieces = append(pieces, value...)
	}
	if len(pieces) > 0 {
		pieces = pieces[1:] // no comma before the first
	}
	return slices.Concat(append(append([][]byte{[]byte("{")}, pieces...), []byte("}"))...), nil
}

// Encoded is the value of a field as Object encodes it, in pieces.
type Encoded [][]byte

func encode(value any) (Encoded, error) {
	if encoded, ok := value.(Encoded); ok {
		return encoded, nil
	}
	encoded, err := plain.JSON(value)
	return Encoded{encoded}, err
}

// Last keeps the encoding of what was sent last, by a key: all agents of a round are shown the
// same answers, and offered the same tools. It is safe for concurrent use, and the zero value
// is ready.
type Last[K comparable] struct {
	mu      sync.Mutex
	key     K
	encoded []byte // nil before the first
}

// Encode returns the JSON of what form makes, unless the key is the last one's.
func (l *Last[K]) Encode(key K, form func() (any, error)) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.encoded != nil && l.key == key {
		return l.encoded, nil
	}
	value, err := form()
	if err != nil {
		return nil, err
	}
	encoded, err := plain.JSON(value)
	if err == nil {
		l.key, l.encoded = key, encoded
	}
	return encoded, err
}

// unescapeHTML undoes what encoding/json does to <, > and & where a library uses it.
// Prompts are full of them, and a body is read by people.
func unescapeHTML(body []byte) []byte {
	// An escaped backslash is skipped: what follows it is no escape.
	plainly := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	return []byte(plainly.Replace(string(body)))
}
