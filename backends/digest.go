package backends

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// Digest returns a hash of all that a model is sent with the request: equal digests mean
// equal bytes of every text, in the same order. What is never sent to a model, the key
// and the note on the history, is not part of it, and neither are the headers and the
// extra body, which may hold secrets. It is journaled, so its form does not change.
func (r Request) Digest() (string, error) {
	sum := sha256.New()
	d := digest{w: bufio.NewWriterSize(sum, 512)}
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
		d.bytes(t.Schema)
	}
	d.bytes(r.Schema)
	params := r.Params
	params.Headers, params.ExtraBody = nil, nil
	d.json(params)
	if err := cmp.Or(d.err, d.w.Flush()); err != nil {
		return "", fmt.Errorf("hash the input of %s: %w", r.Key, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest hashes each text behind its length, so that no two lists of texts become the same bytes.
type digest struct {
	w   *bufio.Writer // over the hash
	err error         // the first failure of json
}

func (d *digest) count(n int) { d.w.Write(binary.AppendUvarint(d.w.AvailableBuffer(), uint64(n))) }

func (d *digest) text(s string) {
	d.count(len(s))
	d.w.WriteString(s)
}

func (d *digest) bytes(b []byte) {
	d.count(len(b))
	d.w.Write(b)
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
		d.text(strconv.FormatBool(p.IsError))
		for _, f := range p.Files {
			d.part(f)
		}
	default:
		d.json(p)
	}
}

// json hashes v as json.Marshal does, which escapes HTML. Stored messages have no such escapes.
func (d *digest) json(v any) {
	data, err := json.Marshal(v)
	d.err = cmp.Or(d.err, err)
	d.bytes(data)
}
