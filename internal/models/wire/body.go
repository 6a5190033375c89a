package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
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
	encoded, err := Object(merged)
	return encoded.Whole(), err
}

// Object encodes fields as a JSON object, in which <, > and & are readable. A field that
// is nil is left out. The same input gives the same bytes: the fields are sorted. What is
// Encoded is not copied.
func Object(fields map[string]any) (Encoded, error) {
	pieces := Encoded{[]byte("{")}
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
		if len(pieces) > 1 {
			pieces = append(pieces, []byte(","))
		}
		pieces = append(pieces, key, []byte(":"))
		pieces = append(pieces, value...)
	}
	return append(pieces, []byte("}")), nil
}

// Encoded is JSON in pieces, which others may have too: nobody changes them.
type Encoded [][]byte

// Whole returns the pieces as one.
func (e Encoded) Whole() []byte { return slices.Concat(e...) }

func (e Encoded) size() (bytes int) {
	for _, piece := range e {
		bytes += len(piece)
	}
	return bytes
}

// smallBody is the size in bytes up to which a body is copied: net/http sends its header and a
// bytes.Reader in one packet.
const smallBody = 32 << 10

// reader reads the pieces one after the other.
func (e Encoded) reader() io.Reader {
	if e.size() <= smallBody {
		return bytes.NewReader(e.Whole())
	}
	return &pieceReader{rest: e}
}

// pieceReader reads pieces and fills each buffer: net/http writes to the connection what each
// call of Read returns, and many pieces are a single byte.
type pieceReader struct {
	rest Encoded
	read int // bytes of rest[0]
}

func (r *pieceReader) Read(p []byte) (n int, err error) {
	for n < len(p) && len(r.rest) > 0 {
		copied := copy(p[n:], r.rest[0][r.read:])
		n, r.read = n+copied, r.read+copied
		if r.read == len(r.rest[0]) {
			r.rest, r.read = r.rest[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func encode(value any) (Encoded, error) {
	if encoded, ok := value.(Encoded); ok {
		return encoded, nil
	}
	encoded, err := plain.JSON(value)
	return Encoded{encoded}, err
}

// unescapeHTML undoes what encoding/json does to <, > and & where a library uses it.
// Prompts are full of them, and a body is read by people.
func unescapeHTML(body []byte) []byte {
	// An escaped backslash is skipped: what follows it is no escape.
	plainly := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
	return []byte(plainly.Replace(string(body)))
}
