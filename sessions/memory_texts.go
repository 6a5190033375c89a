package sessions

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/massgen/massgen/internal/system/blob"
)

// memoryTexts are the texts of a store in memory, under their contents' hashes. Its lock is
// the store's.
type memoryTexts struct {
	texts map[blob.Ref]*memoryText
	// fresh are the texts that no turn may name, to be looked at by sweep.
	fresh []*memoryText
	clock int64 // counts the calls of Hold and Put, and the turns
}

type memoryText struct {
	ref     blob.Ref
	data    []byte
	named   int   // how often turns name it
	last    int64 // the turn that named it last
	put     int64 // the moment of the last Put
	isFresh bool  // whether fresh has it
}

// RefOf returns the reference of a text.
func RefOf(data []byte) blob.Ref {
	sum := sha256.Sum256(data)
	return blob.Ref{SHA256: hex.EncodeToString(sum[:]), Bytes: len(data)}
}

// tick returns a moment later than all earlier ones.
func (m *memoryTexts) tick() int64 {
	m.clock++
	return m.clock
}

func (m *memoryTexts) put(data []byte) *memoryText {
	ref := RefOf(data)
	t := m.texts[ref]
	if t == nil {
		t = &memoryText{ref: ref, data: slices.Clone(data)}
		m.texts[ref] = t
		m.freshen(t)
	}
	t.put = m.tick()
	return t
}

func (m *memoryTexts) freshen(t *memoryText) {
	if !t.isFresh {
		t.isFresh, m.fresh = true, append(m.fresh, t)
	}
}

// name records that a turn needs a text.
func (t *memoryTurn) name(text *memoryText) {
	if text.last != t.began { // else the turn has recorded it
		text.last = t.began
		text.named++
		t.names = append(t.names, text)
	}
}

// unname records that a turn is gone.
func (m *memoryTexts) unname(t *memoryTurn) {
	for _, text := range t.names {
		if text.named--; text.named == 0 {
			m.freshen(text)
		}
	}
}

// sweep deletes the texts that no turn names and that were put before a moment.
func (m *memoryTexts) sweep(first int64) {
	m.fresh = slices.DeleteFunc(m.fresh, func(t *memoryText) bool {
		switch {
		case t.named > 0:
		case t.put >= first:
			return false // a running turn may name it
		default:
			delete(m.texts, t.ref)
		}
		t.isFresh = false
		return true
	})
}
