package sessions

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/massgen/massgen/internal/blob"
)

// memoryTexts are the texts of a store in memory, under their contents' hashes. Its lock is
// the store's.
type memoryTexts struct {
	texts map[blob.Ref]*memoryText
	// unnamed are the texts that no turn names now.
	unnamed map[blob.Ref]bool
	clock   int64 // counts the calls of Hold and Put
}

type memoryText struct {
	data  []byte
	named int   // the number of turns that name it
	put   int64 // the moment of the last Put
}

// RefOf returns the reference of a text.
func RefOf(data []byte) blob.Ref {
	sum := sha256.Sum256(data)
	var digits [2 * sha256.Size]byte // hex.EncodeToString would allocate these too
	hex.Encode(digits[:], sum[:])
	return blob.Ref{SHA256: string(digits[:]), Bytes: len(data)}
}

// tick returns a moment later than all earlier ones.
func (m *memoryTexts) tick() int64 {
	m.clock++
	return m.clock
}

func (m *memoryTexts) put(data []byte) blob.Ref {
	ref := RefOf(data)
	t := m.texts[ref]
	if t == nil {
		t = &memoryText{data: slices.Clone(data)}
		m.texts[ref], m.unnamed[ref] = t, true
	}
	t.put = m.tick()
	return ref
}

// name records that a turn needs a text, which must be stored.
func (m *memoryTexts) name(t *memoryTurn, ref blob.Ref) {
	if !t.names[ref] {
		t.names[ref] = true
		m.texts[ref].named++
		delete(m.unnamed, ref)
	}
}

// unname records that a turn is gone.
func (m *memoryTexts) unname(t *memoryTurn) {
	for ref := range t.names {
		if m.texts[ref].named--; m.texts[ref].named == 0 {
			m.unnamed[ref] = true
		}
	}
}

// sweep deletes the texts that no turn names and that were put before a moment.
func (m *memoryTexts) sweep(first int64) {
	for ref := range m.unnamed {
		if m.texts[ref].put < first {
			delete(m.texts, ref)
			delete(m.unnamed, ref)
		}
	}
}
