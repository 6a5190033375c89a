package backends

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/system/fastjson"
)

// Digest returns a hash of all that a model is sent with the request: equal digests mean
// equal bytes of every text, in the same order. What is never sent to a model, the key
// and the note on the history, is not part of it, and neither are the headers and the
// extra body, which may hold secrets. It is journaled, so its form does not change.
func (r Request) Digest() (string, error) {
	d := digest{hash: sha256.New(), buffer: make([]byte, 0, 2*digestPiece)}
	d.text(r.Model)
	d.count(len(r.Messages))
	for _, m := range r.Messages {
		d.text(string(m.Role))
		d.count(len(m.Parts))
		for _, p := range m.Parts {
			d.part(p)
		}
	}
	d.count(len(r.Tools))
	for _, t := range r.Tools {
		d.text(t.Name)
		d.text(t.Description)
		d.data(t.Schema)
	}
	d.data(r.Schema)
	params := r.Params
	params.Headers, params.ExtraBody = nil, nil
	if params.AreDefault() {
		d.text("{}")
	} else {
		d.json(params)
	}
	if d.err != nil {
		return "", fmt.Errorf("hash the input of %s: %w", r.Key, d.err)
	}
	d.flush()
	return hex.EncodeToString(d.hash.Sum(d.buffer)), nil
}

// digest hashes texts with their lengths, so that no two lists of them meet.
type digest struct {
	hash   hash.Hash
	buffer []byte // collects bytes to hash, since small writes are slow
	// encoded is reused for what is encoded.
	encoded []byte
	err     error
}

// digestPiece is the size from which on the buffer is hashed.
const digestPiece = 256

func (d *digest) flush() {
	d.hash.Write(d.buffer)
	d.buffer = d.buffer[:0]
}

func (d *digest) count(n int) { d.buffer = binary.AppendUvarint(d.buffer, uint64(n)) }

func (d *digest) text(s string) {
	d.count(len(s))
	for len(s) > 0 {
		if len(d.buffer) >= digestPiece {
			d.flush()
		}
		n := min(len(s), digestPiece)
		d.buffer = append(d.buffer, s[:n]...)
		s = s[n:]
	}
}

func (d *digest) data(data []byte) {
	d.count(len(data))
	if len(data) < digestPiece {
		d.buffer = append(d.buffer, data...)
		return
	}
	d.flush()
	d.hash.Write(data)
}

func (d *digest) part(p Part) {
	d.text(p.part())
	switch p := p.(type) {
	case Text:
		d.text(p.Text)
	case ToolCall:
		d.toolCall(p)
	case ToolResult:
		d.text(p.CallID)
		d.text(p.Name)
		d.text(p.Content)
		d.text(strconv.FormatBool(p.IsError))
		for _, f := range p.Files {
			d.part(f)
		}
	default:
		d.json(p)
	}
}

// toolCall writes a ToolCall as json does, which takes longer and is needed only for escapes of HTML.
func (d *digest) toolCall(c ToolCall) {
	for _, text := range []string{c.ID, c.Name, c.Arguments} {
		if strings.ContainsAny(text, "<>&") {
			d.json(c)
			return
		}
	}
	data := fastjson.AppendString(append(slices.Grow(d.encoded[:0], len(c.Arguments)+128), `{"id":`...), c.ID)
	data = append(appendField(appendField(data, "name", c.Name), "arguments", c.Arguments), '}')
	d.data(data)
	d.encoded = data
}

func (d *digest) json(v any) {
	data, err := json.Marshal(v)
	if err != nil && d.err == nil {
		d.err = err
	}
	d.data(data)
}
