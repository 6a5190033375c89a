package sessions

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/massgen/massgen/internal/blob"
)

// Session returns a session, or ErrNoSession.
func (m *Memory) Session(ctx context.Context, id string) (Session, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil {
		return s.copied(), nil
	}
	return Session{}, NoSession(id)
}

func (s *memorySession) copied() Session {
	c := s.Session
	if c.Metadata = maps.Clone(s.Metadata); len(c.Metadata) == 0 {
		c.Metadata = nil
	}
	return c
}

// List returns the sessions that f chooses, those first that were used last.
func (m *Memory) List(ctx context.Context, f Filter) ([]Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Session{}
	for _, s := range m.chosen(f) {
		list = append(list, s.copied())
	}
	return list, nil
}

// chosen returns the sessions that f chooses, those first that were used last.
func (m *Memory) chosen(f Filter) []*memorySession {
	var list []*memorySession
	for _, s := range m.sessions {
		has := func(key, value string) bool { return s.Metadata[key] == value }
		if all(f.Metadata, has) && (!f.Unended || s.turns[s.Turns-1].Status == Running) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *memorySession) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	return list
}

func all(metadata map[string]string, has func(key, value string) bool) bool {
	for key, value := range metadata {
		if !has(key, value) {
			return false
		}
	}
	return true
}

// Usage adds up the usage of the sessions that f chooses.
func (m *Memory) Usage(ctx context.Context, f Filter) (Usage, error) {
	list, err := m.List(ctx, f)
	return UsageOf(list), err
}

// Turns returns a session's last turns, oldest first: so many as last says, 0 for
// all. Those that have no answer, or never ended, are among them.
func (m *Memory) Turns(ctx context.Context, id string, last int) ([]Turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		return nil, NoSession(id)
	}
	kept := s.turns
	if last > 0 && last < len(kept) {
		kept = kept[len(kept)-last:]
	}
	turns := make([]Turn, len(kept))
	for i, t := range kept {
		turns[i] = t.Turn
	}
	return turns, nil
}

// Interrupted returns the turn of a session that has begun, has not ended, and
// that nobody is at work on, or none.
func (m *Memory) Interrupted(ctx context.Context, id string) ([]Turn, error) {
	last, err := m.Turns(ctx, id, 1)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[id] != nil || last[0].Status != Running {
		return nil, nil
	}
	return last, nil
}

// SetTitle gives a session another title.
func (m *Memory) SetTitle(ctx context.Context, id, title string) error {
	return m.change(ctx, id, CheckTitle(title), func(s *memorySession) { s.Title = title })
}

// SetMetadata adds to a session's metadata, or changes it. An empty value takes
// its key away.
func (m *Memory) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	return m.change(ctx, id, CheckMetadata(metadata), func(s *memorySession) {
		for key, value := range metadata {
			if value == "" {
				delete(s.Metadata, key)
				continue
			}
			if s.Metadata == nil {
				s.Metadata = map[string]string{}
			}
			s.Metadata[key] = value
		}
	})
}

func (m *Memory) change(ctx context.Context, id string, invalid error, change func(*memorySession)) error {
	if err := cmp.Or(ctx.Err(), invalid); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		return NoSession(id)
	}
	change(s)
	return nil
}

// Branch makes a new session, to, that goes on after a turn of another as if the
// later ones had not been. It has its turns, but not their journals, and its
// usage begins at nothing.
func (m *Memory) Branch(ctx context.Context, from string, turn int, to string) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mayHold(ctx, to); err != nil {
		return Session{}, err
	}
	s := m.sessions[from]
	switch {
	case s == nil:
		return Session{}, NoSession(from)
	case m.sessions[to] != nil:
		return Session{}, Exists(to)
	case turn < 1 || turn > s.Turns || s.turns[turn-1].Status == Running:
		return Session{}, NoSuchTurn(from, turn)
	}
	b := &memorySession{Session: Session{
		ID: to, Title: s.Title, Parent: from, ParentTurn: turn, Created: now(), Metadata: maps.Clone(s.Metadata), Turns: turn,
	}}
	b.Updated = b.Created
	for _, t := range s.turns[:turn] {
		b.add(m, t.Turn)
	}
	m.sessions[to] = b
	return b.copied(), nil
}

// add takes a turn of another session into a new one, without its journal.
func (s *memorySession) add(m *Memory, turn Turn) *memoryTurn {
	t := &memoryTurn{Turn: turn, names: map[blob.Ref]bool{}}
	m.texts.name(t, m.texts.put([]byte(turn.Question)))
	if turn.Link != (blob.Ref{}) {
		m.texts.name(t, m.texts.put([]byte(turn.Answer)))
		m.texts.name(t, turn.Link)
		s.head = turn.Link
	}
	if turn.Messages != (blob.Ref{}) {
		m.nameMessages(t)
	}
	s.Messages += turn.MessageCount
	s.turns = append(s.turns, t)
	return t
}

// Delete forgets a session, with the texts that no other needs. Branches of it
// stay whole.
func (m *Memory) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mayHold(ctx, id); err != nil {
		return err
	}
	s := m.sessions[id]
	if s == nil {
		return NoSession(id)
	}
	for _, t := range s.turns {
		m.texts.unname(t)
	}
	delete(m.sessions, id)
	m.sweep()
	return nil
}

// Compact makes a store smaller. This one always is as small as it can be.
func (m *Memory) Compact(ctx context.Context) error { return ctx.Err() }

// Check looks for damage, of which this store can have none.
func (m *Memory) Check(ctx context.Context) error { return ctx.Err() }

// History returns a session's turns that have an answer, oldest first. A session
// that is not there has none.
func (m *Memory) History(ctx context.Context, id string) ([]Turn, error) {
	turns, err := m.Turns(ctx, id, 0)
	if errors.Is(err, ErrNoSession) {
		return nil, nil
	}
	return slices.DeleteFunc(turns, func(t Turn) bool { return t.Winner == "" }), err
}
