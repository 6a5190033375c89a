package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/massgen/massgen/coordinator/kernel"
)

// Turn is one turn of a session's history: a question and its winning answer.
type Turn struct {
	Number   int    `json:"number"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Memory is a store that lives as long as the process. It is safe for
// concurrent use.
type Memory struct {
	mu       sync.Mutex
	blobs    map[kernel.Ref][]byte
	journals map[journalKey][][]byte
	history  map[string][]Turn
}

type journalKey struct {
	session string
	turn    int
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		blobs:    map[kernel.Ref][]byte{},
		journals: map[journalKey][][]byte{},
		history:  map[string][]Turn{},
	}
}

// Put stores data under its hash. The caller may change data afterwards.
func (m *Memory) Put(_ context.Context, data []byte) (kernel.Ref, error) {
	sum := sha256.Sum256(data)
	ref := kernel.Ref{SHA256: hex.EncodeToString(sum[:]), Bytes: len(data)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.blobs[ref]; !ok {
		m.blobs[ref] = slices.Clone(data)
	}
	return ref, nil
}

// Get returns what Put stored; the caller must not change it.
func (m *Memory) Get(_ context.Context, ref kernel.Ref) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[ref]
	if !ok {
		return nil, fmt.Errorf("no text is stored under %.12s", ref.SHA256)
	}
	return data, nil
}

// Append adds one event to a turn's journal.
func (m *Memory) Append(_ context.Context, session string, turn int, event []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := journalKey{session, turn}
	m.journals[key] = append(m.journals[key], slices.Clone(event))
	return nil
}

// Commit adds a turn that has an answer to its session's history.
func (m *Memory) Commit(_ context.Context, session string, turn Turn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history[session] = append(m.history[session], turn)
	return nil
}

// Journal returns the events of a turn in their order.
func (m *Memory) Journal(_ context.Context, session string, turn int) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.journals[journalKey{session, turn}]), nil
}

// History returns a session's turns, oldest first.
func (m *Memory) History(_ context.Context, session string) ([]Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.history[session]), nil
}
