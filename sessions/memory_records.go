package sessions

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// List implements Backing.
func (m *memory) List(ctx context.Context, f Filter) ([]Session, error) {
	return alone1(ctx, m, func() ([]Session, error) {
		chosen := m.chosen(f)
		list := make([]Session, len(chosen))
		for i, s := range chosen {
			list[i] = s.copied()
		}
		return list, nil
	})
}

func (s *memorySession) copied() Session {
	c := s.Session
	c.Metadata = nil
	if len(s.Metadata) > 0 {
		c.Metadata = maps.Clone(s.Metadata)
	}
	return c
}

// chosen returns the sessions that f chooses, the most recently used first.
func (m *memory) chosen(f Filter) []*memorySession {
	if f.ID != "" { // each turn asks for its own: that takes no look at the others
		if s := m.sessions[f.ID]; s != nil && s.fits(f) {
			return []*memorySession{s}
		}
		return nil
	}
	var list []*memorySession
	for _, s := range m.sessions {
		if !s.fits(f) {
			continue
		}
		if list = append(list, s); f.Limit > 0 && len(list) == 2*f.Limit { // so that a page takes no more room in a big store
			list = first(inOrder(list), f.Limit)
		}
	}
	return first(inOrder(list), f.Limit)
}

// inOrder sorts sessions, the most recently used first.
func inOrder(list []*memorySession) []*memorySession {
	slices.SortFunc(list, func(a, b *memorySession) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// fits reports whether f chooses a session that has the id of f.
func (s *memorySession) fits(f Filter) bool {
	for key, value := range f.Metadata {
		if s.Metadata[key] != value {
			return false
		}
	}
	switch {
	case f.Unended && s.turns[s.Turns-1].Status != Running:
		return false
	case !f.UnusedSince.IsZero() && !s.Updated.Before(f.UnusedSince):
		return false
	}
	return f.After == (Place{}) || Place{Used: f.After.Used, Session: f.After.Session}.isBefore(s.Place())
}

// first returns at most limit items; 0 means all.
func first[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}

// Last implements Backing.
func (m *memory) Last(ctx context.Context, id string, last int, isIdle bool) ([]Turn, error) {
	return alone1(ctx, m, func() ([]Turn, error) {
		s := m.sessions[id]
		if s == nil || isIdle && (m.running[id] != nil || s.turns[s.Turns-1].Status != Running) {
			return nil, nil
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
	})
}

// snippetRunes is the length of a hit's snippet.
const snippetRunes = 120

// Search implements Backing.
func (m *memory) Search(ctx context.Context, q Query, f Filter) ([]Hit, error) {
	return alone1(ctx, m, func() ([]Hit, error) {
		hits := []Hit{}
		add := func(h Hit) {
			if f.After.isBefore(h.Place()) || f.After == (Place{}) {
				hits = append(hits, h)
			}
		}
		all := f
		all.After, all.Limit = Place{}, 0
		for _, s := range m.chosen(all) {
			if f.Limit > 0 && len(hits) >= f.Limit {
				break
			}
			if q.Finds(s.Title) {
				add(Hit{Session: s.ID, Title: s.Title, Snippet: s.Title, Updated: s.Updated})
			}
			for _, t := range s.turns {
				if t.Status != Running && q.Finds(t.Question, t.Answer) {
					add(Hit{Session: s.ID, Title: s.Title, Turn: t.Number, Snippet: snippet(t.Question), Updated: s.Updated})
				}
			}
		}
		return first(hits, f.Limit), nil
	})
}

// Totals implements Backing.
func (m *memory) Totals(ctx context.Context, f Filter) (Totals, error) {
	return alone1(ctx, m, func() (t Totals, err error) {
		f.After, f.Limit = Place{}, 0
		for _, s := range m.sessions {
			if (f.ID == "" || f.ID == s.ID) && s.fits(f) {
				t.Sessions, t.Usage = t.Sessions+1, t.Usage.Plus(s.Usage)
			}
		}
		return t, nil
	})
}

func snippet(text string) string {
	runes := []rune(text)
	if len(runes) > snippetRunes {
		return string(runes[:snippetRunes]) + "…"
	}
	return text
}

// Set implements Backing.
func (m *memory) Set(ctx context.Context, id string, title *string, metadata map[string]string) error {
	return m.alone(ctx, func() error {
		s := m.sessions[id]
		if s == nil {
			return NoSession(id)
		}
		if title != nil {
			s.Title = *title
		}
		s.setMetadata(metadata)
		return nil
	})
}

func (s *memorySession) setMetadata(metadata map[string]string) {
	if s.Metadata == nil {
		s.Metadata = map[string]string{}
	}
	for key, value := range metadata {
		if s.Metadata[key] = value; value == "" {
			delete(s.Metadata, key)
		}
	}
}

// Dump implements Backing.
func (m *memory) Dump(ctx context.Context, id string) (*Dump, error) {
	return alone1(ctx, m, func() (*Dump, error) {
		s := m.sessions[id]
		if s == nil {
			return nil, NoSession(id)
		}
		d := &Dump{Session: s.copied(), Texts: map[blob.Ref][]byte{}}
		for _, t := range s.turns {
			d.Turns = append(d.Turns, t.Turn)
			d.Journals = append(d.Journals, t.events[:len(t.events):len(t.events)])
			for _, text := range t.names {
				d.Texts[text.ref] = text.data
			}
		}
		return d, nil
	})
}

// Load implements Backing.
func (m *memory) Load(ctx context.Context, _ string, d *Dump) error {
	return m.alone(ctx, func() error {
		switch {
		case m.running[d.Session.ID] != nil:
			return ErrBusy
		case m.sessions[d.Session.ID] != nil:
			return Exists(d.Session.ID)
		}
		s := &memorySession{Session: d.Session}
		s.Messages = 0 // add counts them
		for i, turn := range d.Turns {
			t := &memoryTurn{Turn: turn, began: m.texts.tick(), events: d.Journals[i]}
			for _, ref := range d.Names(i) {
				t.name(m.texts.put(d.Texts[ref]))
			}
			s.turns = append(s.turns, t)
			s.add(turn)
		}
		m.sessions[s.ID] = s
		return nil
	})
}

// Copy implements Backing.
func (m *memory) Copy(ctx context.Context, _, from string, turn int, to string, next func(Session, kernel.Status) (Session, error)) error {
	return m.alone(ctx, func() error {
		parent := m.sessions[from]
		switch {
		case m.running[to] != nil:
			return ErrBusy
		case parent == nil:
			return NoSession(from)
		case m.sessions[to] != nil:
			return Exists(to)
		}
		var status kernel.Status
		if turn >= 1 && turn <= len(parent.turns) {
			status = parent.turns[turn-1].Status
		}
		made, err := next(parent.copied(), status)
		if err != nil {
			return err
		}
		s := &memorySession{Session: made}
		s.Turns = turn
		for _, kept := range parent.turns[:turn] {
			t := &memoryTurn{Turn: kept.Turn, began: m.texts.tick()}
			m.nameStored(t, t.told())
			if link := m.texts.texts[t.Link]; link != nil {
				m.nameStored(t, []blob.Ref{namedPage(link.data)})
			}
			m.nameMessages(t)
			s.turns = append(s.turns, t)
			s.add(t.Turn)
		}
		m.sessions[to] = s
		return nil
	})
}

// Delete implements Backing.
func (m *memory) Delete(ctx context.Context, id string, unusedSince time.Time) error {
	return m.alone(ctx, func() error {
		s := m.sessions[id]
		switch {
		case m.running[id] != nil:
			return ErrBusy
		case s == nil:
			return NoSession(id)
		case !unusedSince.IsZero() && !s.Updated.Before(unusedSince):
			return ErrUsed
		}
		for _, t := range s.turns {
			m.texts.unname(t)
		}
		delete(m.sessions, id)
		m.sweep()
		return nil
	})
}

// AddFact implements Backing.
func (m *memory) AddFact(ctx context.Context, user, text string) (Fact, error) {
	return alone1(ctx, m, func() (Fact, error) {
		for _, f := range m.facts {
			if f.User == user && f.Text == text {
				return f, nil
			}
		}
		m.lastFact++
		f := Fact{ID: m.lastFact, User: user, Text: text, Created: now()}
		m.facts = append(m.facts, f)
		return f, nil
	})
}

// Facts implements Backing.
func (m *memory) Facts(ctx context.Context, user string, q Query) ([]Fact, error) {
	return alone1(ctx, m, func() ([]Fact, error) {
		list := []Fact{}
		for _, f := range m.facts {
			if f.User == user && (q == nil || q.Finds(f.Text)) {
				list = append(list, f)
			}
		}
		return list, nil
	})
}

// Forget implements Backing.
func (m *memory) Forget(ctx context.Context, id int64) error {
	return m.alone(ctx, func() error {
		i := slices.IndexFunc(m.facts, func(f Fact) bool { return f.ID == id })
		if i < 0 {
			return NoFact(id)
		}
		m.facts = slices.Delete(m.facts, i, i+1)
		return nil
	})
}

// Compact implements Backing. A store in memory has nothing to compact.
func (m *memory) Compact(ctx context.Context) error { return ctx.Err() }

// Check implements Backing. A store in memory can have no damage.
func (m *memory) Check(ctx context.Context) error { return ctx.Err() }
