package backends

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
)

// Digest returns a hash of all that a model is sent with the request: equal digests mean
// equal bytes of every text, in the same order. What is never sent to a model, the key
// and the note on the history, is not part of it, and neither are the headers and the
// extra body, which may hold secrets. It is journaled, so its form does not change.
func (r Request) Digest() (string, error) {
	d := digest{hash: sha256.New()}
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
	d.json(params)
	if d.err != nil {
		return "", fmt.Errorf("hash the input of %s: %w", r.Key, d.err)
	}
	return hex.EncodeToString(d.hash.Sum(nil)), nil
}

// digest hashes texts with their lengths, so that no two lists of them meet.
type digest struct {
	hash   hash.Hash
	buffer []byte // of the text that is written
	err    error
}

func (d *digest) count(n int) {
	d.buffer = binary.AppendUvarint(d.buffer[:0], uint64(n))
	d.hash.Write(d.buffer)
}

func (d *digest) text(s string) {
	d.count(len(s))
	for len(s) > 0 { // in pieces, since inputs are long
		d.buffer = append(d.buffer[:0], s[:min(len(s), 1<<10)]...)
		d.hash.Write(d.buffer)
		s = s[len(d.buffer):]
	}
}

func (d *digest) data(data []byte) {
	d.count(len(data))
	d.hash.Write(data)
}

func (d *digest) part(p Part) {
	d.text(p.part())
	switch p := p.(type) {
	case Text:
		d.text(p.Text)
	case ToolResult:
		d.text(p.CallID)
		d.text(p.Name)
		d.text(p.Content)
		d.text(fmt.Sprint(p.IsError))
		for _, f := range p.Files {
			d.part(f)
		}
	default:
		d.json(p)
	}
}

func (d *digest) json(v any) {
	data, err := json.Marshal(v)
	if err != nil && d.err == nil {
		d.err = err
	}
	d.data(data)
}
