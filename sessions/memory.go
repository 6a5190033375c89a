package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/massgen/massgen/coordinator/kernel"
)

// ErrBusy is returned for a second turn on a session whose turn is not over.
var ErrBusy = errors.New("a turn is running on this session: wait for it, cancel it, or use another session")

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
	sessions map[string]*session
}

type session struct {
	busy     bool
	turns    int
	journals map[int][][]byte
	history  []Turn
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{blobs: map[kernel.Ref][]byte{}, sessions: map[string]*session{}}
}

// get returns a session, which begins to exist when it is first named. The
// caller holds the lock.
func (m *Memory) get(id string) *session {
	if m.sessions[id] == nil {
		m.sessions[id] = &session{journals: map[int][][]byte{}}
	}
	return m.sessions[id]
}

// Begin locks a session for its next turn and returns that turn's number, from 1,
// and the history before it, oldest first. On a locked session it returns
// ErrBusy.
func (m *Memory) Begin(_ context.Context, id string) (turn int, history []Turn, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.get(id)
	if s.busy {
		return 0, nil, ErrBusy
	}
	s.busy = true
	s.turns++
	return s.turns, slices.Clone(s.history), nil
}

// End unlocks a session. A turn that has an answer is added to its history; one
// that has none is nil here, and stays out of it. The number of a turn of which
// nothing was journaled is given to the next one.
func (m *Memory) End(_ context.Context, id string, done *Turn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.get(id)
	s.busy = false
	if done != nil {
		s.history = append(s.history, *done)
	} else if len(s.journals[s.turns]) == 0 {
		s.turns--
	}
	return nil
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
func (m *Memory) Append(_ context.Context, id string, turn int, event []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.get(id)
	s.journals[turn] = append(s.journals[turn], slices.Clone(event))
	return nil
}

// Journal returns the events of a turn in their order.
func (m *Memory) Journal(_ context.Context, id string, turn int) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.get(id).journals[turn]), nil
}

// History returns a session's turns, oldest first.
func (m *Memory) History(_ context.Context, id string) ([]Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.get(id).history), nil
}

// Reset forgets a session's history and journals; its next turn is the first
// again. Sessions share texts, so these are dropped with the last session.
func (m *Memory) Reset(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.get(id).busy {
		return ErrBusy
	}
	delete(m.sessions, id)
	if len(m.sessions) == 0 {
		clear(m.blobs)
	}
	return nil
}
