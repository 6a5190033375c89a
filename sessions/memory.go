package sessions

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// NewMemory returns an empty store that lives as long as the process.
func NewMemory() *Store {
	return NewStore(&memory{
		sessions: map[string]*memorySession{}, running: map[string]*memoryRunning{},
		texts: &memoryTexts{texts: map[blob.Ref]*memoryText{}},
	})
}

// memory implements Backing.
type memory struct {
	mu       sync.Mutex
	sessions map[string]*memorySession
	running  map[string]*memoryRunning
	texts    *memoryTexts
	facts    []Fact
	lastFact int64
}

type memorySession struct {
	Session
	head  blob.Ref
	turns []*memoryTurn
}

type memoryTurn struct {
	Turn
	began  int64 // a moment of the store, which names the turn
	events [][]byte
	// names are the texts that the turn needs. If two turns name the same text alternately, it may
	// be here more than once.
	names []*memoryText
}

// memoryRunning is a turn that holds its session.
type memoryRunning struct {
	Held
	began int64
}

// alone runs do while nothing else uses the store.
func (m *memory) alone(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return do()
}

// alone1 is alone for functions that return a value.
func alone1[T any](ctx context.Context, m *memory, do func() (T, error)) (v T, err error) {
	err = m.alone(ctx, func() (err error) {
		v, err = do()
		return err
	})
	return v, err
}

// Put implements Backing.
func (m *memory) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return alone1(ctx, m, func() (blob.Ref, error) { return m.texts.put(data).ref, nil })
}

// Get implements Backing.
func (m *memory) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	return alone1(ctx, m, func() ([]byte, error) {
		if t := m.texts.texts[ref]; t != nil {
			return t.data, nil
		}
		return nil, NoText(ref)
	})
}

// Hold implements Backing.
func (m *memory) Hold(ctx context.Context, id string, next func(Last) (Held, error)) error {
	return m.alone(ctx, func() error {
		if m.running[id] != nil {
			return ErrBusy
		}
		var last Last
		if s := m.sessions[id]; s != nil {
			t := s.turns[s.Turns-1]
			last = Last{Number: t.Number, Status: t.Status, Question: t.Question, History: s.head}
		}
		h, err := next(last)
		if err == nil {
			m.running[id] = &memoryRunning{Held: h, began: m.texts.tick()}
		}
		return err
	})
}

// Append implements Backing.
func (m *memory) Append(ctx context.Context, _, id string, turn int, ends bool, do func(*Held) (*Change, error)) error {
	return m.alone(ctx, func() error {
		r := m.running[id]
		if r == nil || r.Number != turn {
			return NotRunning(id, turn)
		}
		before := r.Held
		c, err := do(&r.Held)
		if err == nil && c != nil {
			err = m.apply(id, &r.Held, c)
		}
		switch {
		case err != nil:
			r.Held = before
		case ends:
			m.letGo(id)
		}
		return err
	})
}

// apply changes a running turn, or changes nothing and returns an error.
func (m *memory) apply(id string, h *Held, c *Change) error {
	for _, ref := range c.Names {
		if m.texts.texts[ref] == nil {
			return NoText(ref)
		}
	}
	if o := c.Outcome; o != nil && o.Messages != (blob.Ref{}) && m.texts.texts[o.Messages] == nil {
		return NoText(o.Messages)
	}
	end := 0
	if h.Stored {
		end = len(m.sessions[id].turns[h.Number-1].events)
	}
	events, err := c.Rest(id, h.Number, end)
	if err != nil {
		return err
	}
	isNew := !h.Stored
	s, t := m.keep(id, h)
	if isNew {
		s.setMetadata(c.Metadata)
	}
	for _, ref := range c.Names {
		t.name(m.texts.texts[ref])
	}
	for _, data := range c.Texts {
		t.name(m.texts.put(data))
	}
	t.events = append(t.events, events...)
	if o := c.Outcome; o != nil {
		started := t.Started
		t.Turn = *o
		t.Started, t.Ended = started, now()
		if link := m.texts.texts[o.Link]; link != nil {
			t.Link = link.ref // so that only one of the two is kept
		}
		m.nameMessages(t)
		s.add(t.Turn)
		s.Updated, s.Title = t.Ended, cmp.Or(s.Title, c.Title)
		s.Usage = s.Usage.Plus(t.Usage)
	}
	if c.Later != nil {
		t.Usage, s.Usage = t.Usage.Plus(*c.Later), s.Usage.Plus(*c.Later)
	}
	return nil
}

// keep returns the stored form of a running turn, and creates it if needed.
func (m *memory) keep(id string, h *Held) (*memorySession, *memoryTurn) {
	s := m.sessions[id]
	if h.Stored {
		return s, s.turns[h.Number-1]
	}
	if s == nil {
		s = &memorySession{Session: Session{ID: id, Created: now(), Metadata: ParseID(id)}}
		m.sessions[id] = s
	}
	if s.Turns > 0 && s.turns[s.Turns-1].Status == Running {
		cut := s.turns[s.Turns-1]
		cut.Status, cut.Usage = kernel.Cut, h.Cut
		s.Usage = s.Usage.Plus(h.Cut)
	}
	h.Stored, s.Turns, s.Updated = true, h.Number, now()
	t := &memoryTurn{
		Turn:  Turn{Number: h.Number, Question: h.Question, Status: Running, Started: s.Updated},
		began: m.texts.tick(),
	}
	t.name(m.texts.put([]byte(h.Question)))
	s.turns = append(s.turns, t)
	return s, t
}

// add adds the messages of a finished turn, and its link.
func (s *memorySession) add(t Turn) {
	s.Messages += t.MessageCount
	if t.Link != (blob.Ref{}) {
		s.head = t.Link
	}
}

// nameMessages keeps a turn's list of messages, if it has one, with the texts that the list
// names.
func (m *memory) nameMessages(t *memoryTurn) {
	if t.Messages == (blob.Ref{}) {
		return
	}
	list := m.texts.texts[t.Messages]
	t.name(list)
	m.nameStored(t, Refs(list.data))
}

// nameStored records that a turn needs texts. It skips texts that are not stored.
func (m *memory) nameStored(t *memoryTurn, refs []blob.Ref) {
	for _, ref := range refs {
		if text := m.texts.texts[ref]; text != nil {
			t.name(text)
		}
	}
}

// Journal implements Backing.
func (m *memory) Journal(ctx context.Context, id string, turn, from int) ([][]byte, error) {
	return alone1(ctx, m, func() ([][]byte, error) {
		if s := m.sessions[id]; s != nil && 0 < turn && turn <= s.Turns {
			events := s.turns[turn-1].events
			return slices.Clone(events[min(from, len(events)):]), nil
		}
		return nil, nil
	})
}

// Leave implements Backing.
func (m *memory) Leave(_ context.Context, id string, turn int) (held bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.running[id]; r == nil || r.Number != turn {
		return false, nil
	}
	m.letGo(id)
	return true, nil
}

func (m *memory) letGo(id string) {
	delete(m.running, id)
	m.sweep()
}

// sweep deletes the texts that no turn names and that no running turn can have put.
func (m *memory) sweep() {
	first := int64(math.MaxInt64)
	for r := range maps.Values(m.running) {
		first = min(first, r.began)
	}
	m.texts.sweep(first)
}
