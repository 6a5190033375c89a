package sessions

import (
	"context"
	"slices"
)

// AddFact remembers something of a user; user may be empty, for whoever uses this
// machine. A fact that is known already is returned as it is.
func (m *Memory) AddFact(ctx context.Context, user, text string) (Fact, error) {
	if err := ctx.Err(); err != nil {
		return Fact{}, err
	}
	if err := CheckFact(user, text); err != nil {
		return Fact{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.facts {
		if f.User == user && f.Text == text {
			return f, nil
		}
	}
	m.lastFact++
	f := Fact{ID: m.lastFact, User: user, Text: text, Created: now()}
	m.facts = append(m.facts, f)
	return f, nil
}

// Facts returns what is remembered of a user, oldest first.
func (m *Memory) Facts(ctx context.Context, user string) ([]Fact, error) {
	return m.factsWhere(ctx, user, func(Fact) bool { return true })
}

// SearchFacts returns what is remembered of a user and has the words of a query,
// oldest first.
func (m *Memory) SearchFacts(ctx context.Context, user, query string) ([]Fact, error) {
	words := ParseQuery(query)
	return m.factsWhere(ctx, user, func(f Fact) bool { return found(words, f.Text) })
}

func (m *Memory) factsWhere(ctx context.Context, user string, want func(Fact) bool) ([]Fact, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Fact{}
	for _, f := range m.facts {
		if f.User == user && want(f) {
			list = append(list, f)
		}
	}
	return list, nil
}

// Forget forgets a fact, or returns ErrNoFact.
func (m *Memory) Forget(ctx context.Context, id int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.facts, func(f Fact) bool { return f.ID == id })
	if i < 0 {
		return NoFact(id)
	}
	m.facts = slices.Delete(m.facts, i, i+1)
	return nil
}
