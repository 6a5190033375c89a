package sessions

import (
	"context"
	"slices"
	"sync"
)

// memoryFacts are what a store in memory remembers of users. They are safe for concurrent use.
type memoryFacts struct {
	mu   sync.Mutex
	list []Fact
	last int64
}

// AddFact remembers something of a user; user may be empty, for whoever uses this
// machine. A fact that is known already is returned as it is.
func (m *memoryFacts) AddFact(ctx context.Context, user, text string) (Fact, error) {
	if err := ctx.Err(); err != nil {
		return Fact{}, err
	}
	if err := CheckFact(user, text); err != nil {
		return Fact{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.list {
		if f.User == user && f.Text == text {
			return f, nil
		}
	}
	m.last++
	f := Fact{ID: m.last, User: user, Text: text, Created: now()}
	m.list = append(m.list, f)
	return f, nil
}

// Facts returns what is remembered of a user, oldest first.
func (m *memoryFacts) Facts(ctx context.Context, user string) ([]Fact, error) {
	return m.where(ctx, user, func(Fact) bool { return true })
}

// SearchFacts returns what is remembered of a user and has the words of a query,
// oldest first.
func (m *memoryFacts) SearchFacts(ctx context.Context, user, query string) ([]Fact, error) {
	words := ParseQuery(query)
	return m.where(ctx, user, func(f Fact) bool { return words.Finds(f.Text) })
}

func (m *memoryFacts) where(ctx context.Context, user string, want func(Fact) bool) ([]Fact, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Fact{}
	for _, f := range m.list {
		if f.User == user && want(f) {
			list = append(list, f)
		}
	}
	return list, nil
}

// Forget forgets a fact, or returns ErrNoFact.
func (m *memoryFacts) Forget(ctx context.Context, id int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.list, func(f Fact) bool { return f.ID == id })
	if i < 0 {
		return NoFact(id)
	}
	m.list = slices.Delete(m.list, i, i+1)
	return nil
}
