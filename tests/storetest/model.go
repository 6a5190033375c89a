package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// pair is a store that lasts and the one in memory, to which the same is done.
type pair struct {
	ctx    context.Context
	stores [2]*sessions.Store
	turns  map[string]int // that hold their sessions
}

// both does the same to both stores, and wants them to come to the same.
func (p *pair) both(t *rapid.T, do func(*sessions.Store) (any, error)) {
	t.Helper()
	var came [2]string
	for i, s := range p.stores {
		result, err := do(s)
		came[i] = fmt.Sprintf("%+v, error %v", result, err)
	}
	if came[0] != came[1] {
		t.Fatalf("it comes to\n%s\nand in memory to\n%s", came[0], came[1])
	}
}

func (p *pair) only(t *rapid.T, do func(*sessions.Store) error) {
	t.Helper()
	p.both(t, func(s *sessions.Store) (any, error) { return nil, do(s) })
}

func allTexts() []string {
	return []string{"", "one", "two", "one two", "Three\nlines", "q\x00", "\xff", "O'Neill \"x\"", "one-two"}
}

func someID() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "Dan|app_u|role:x", "\n"})
}

func someText() *rapid.Generator[string] { return rapid.SampledFrom(allTexts()) }

// turnActions are what may be done with turns.
func (p *pair) turnActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"begin": func(t *rapid.T) {
			id, question := someID().Draw(t, "id"), someText().Draw(t, "question")
			p.both(t, func(s *sessions.Store) (any, error) {
				b, err := s.Begin(p.ctx, id, question)
				if err == nil {
					p.turns[id] = b.Turn
				}
				return b, err
			})
		},
		"append": func(t *rapid.T) {
			id, texts, put := someID().Draw(t, "id"), rapid.SliceOfN(someText(), 0, 3).Draw(t, "texts"), rapid.Bool().Draw(t, "put")
			event := []byte("event ")
			for _, text := range texts {
				ref := sessions.RefOf([]byte(text))
				event = fmt.Appendf(event, `{"sha256":"%s","bytes":%d}`, ref.SHA256, ref.Bytes)
			}
			p.only(t, func(s *sessions.Store) error {
				for _, text := range texts {
					if _, err := s.Put(p.ctx, []byte(text)); put && err != nil {
						return err
					}
				}
				return s.Append(p.ctx, id, p.turns[id], event)
			})
		},
		"put": func(t *rapid.T) {
			text := someText().Draw(t, "text")
			p.both(t, func(s *sessions.Store) (any, error) { return s.Put(p.ctx, []byte(text)) })
		},
		"note cut": func(t *rapid.T) {
			id, u := someID().Draw(t, "id"), budget.Usage{Calls: rapid.IntRange(0, 2).Draw(t, "calls"), OutputTokens: rapid.IntRange(0, 9).Draw(t, "tokens")}
			p.only(t, func(s *sessions.Store) error { return s.RecordCut(p.ctx, id, p.turns[id], u) })
		},
		"leave": func(t *rapid.T) {
			id := someID().Draw(t, "id")
			p.only(t, func(s *sessions.Store) error { return s.Leave(p.ctx, id, p.turns[id]) })
			delete(p.turns, id)
		},
		"end with": func(t *rapid.T) {
			id, e := someID().Draw(t, "id"), sessions.Ended{Status: kernel.Completed, Winner: "w", Answer: someText().Draw(t, "answer")}
			p.only(t, func(s *sessions.Store) error { return s.EndWith(p.ctx, id, p.turns[id], e, []byte(`"last"`)) })
		},
		"end": func(t *rapid.T) {
			id, e := someID().Draw(t, "id"), sessions.Ended{Status: kernel.Completed, Winner: "w", Answer: someText().Draw(t, "answer")}
			switch {
			case rapid.Bool().Draw(t, "fails"):
				e = sessions.Ended{Status: kernel.AllFailed}
			case rapid.Bool().Draw(t, "list"):
				e.Messages, e.MessageCount = sessions.RefOf([]byte("one")), 3
			}
			if e.Usage.Calls = rapid.IntRange(0, 2).Draw(t, "calls"); rapid.Bool().Draw(t, "known") {
				cost := 0.5
				e.Usage.CostUSD = &cost
			}
			p.only(t, func(s *sessions.Store) error {
				if _, err := s.Put(p.ctx, []byte("one")); err != nil {
					return err
				}
				return s.End(p.ctx, id, p.turns[id], e)
			})
			delete(p.turns, id)
		},
		"resume": func(t *rapid.T) {
			id := someID().Draw(t, "id")
			p.both(t, func(s *sessions.Store) (any, error) {
				b, err := s.Resume(p.ctx, id)
				if err == nil {
					p.turns[id] = b.Turn
				}
				return b, err
			})
		},
	}
}

// otherActions are what may be done with sessions and facts.
func (p *pair) otherActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"branch": func(t *rapid.T) {
			from, turn, to := someID().Draw(t, "from"), rapid.IntRange(0, 4).Draw(t, "turn"), someID().Draw(t, "to")
			p.only(t, func(s *sessions.Store) error {
				_, err := s.Branch(p.ctx, from, turn, to)
				return err
			})
		},
		"delete": func(t *rapid.T) {
			id := someID().Draw(t, "id")
			p.only(t, func(s *sessions.Store) error { return s.Delete(p.ctx, id) })
		},
		"title": func(t *rapid.T) {
			id, title := someID().Draw(t, "id"), someText().Draw(t, "title")
			p.only(t, func(s *sessions.Store) error { return s.SetTitle(p.ctx, id, title) })
		},
		"metadata": func(t *rapid.T) {
			id, value := someID().Draw(t, "id"), someText().Draw(t, "value")
			p.only(t, func(s *sessions.Store) error { return s.SetMetadata(p.ctx, id, map[string]string{"role": value}) })
		},
		"fact": func(t *rapid.T) {
			text := someText().Draw(t, "text")
			p.both(t, func(s *sessions.Store) (any, error) {
				f, err := s.AddFact(p.ctx, "u", text)
				f.Created = time.Time{}
				return f, err
			})
		},
		"forget": func(t *rapid.T) {
			id := rapid.Int64Range(0, 5).Draw(t, "id")
			p.only(t, func(s *sessions.Store) error { return s.Forget(p.ctx, id) })
		},
		"copy": func(t *rapid.T) {
			from, as, source := someID().Draw(t, "from"), someID().Draw(t, "as"), p.stores[rapid.IntRange(0, 1).Draw(t, "store")]
			var data bytes.Buffer
			if err := source.Export(p.ctx, from, &data); err != nil {
				return
			}
			p.only(t, func(s *sessions.Store) error {
				_, err := s.Import(p.ctx, bytes.NewReader(data.Bytes()), as)
				return err
			})
		},
	}
}

// state is all that can be seen of a store, without times.
type state struct {
	Totals   sessions.Totals
	Sessions []sessions.Session
	Turns    map[string][]sessions.Turn
	Journals map[string][]string
	Texts    map[string]bool
	Hits     map[string][]sessions.Hit
	Facts    map[string][]sessions.Fact
}

func (p *pair) check(t *rapid.T) {
	var seen [2]state
	for i, s := range p.stores {
		seen[i] = p.look(t, s)
	}
	if diff := gocmp.Diff(seen[1], seen[0]); diff != "" {
		t.Fatalf("the stores differ (-in memory +under test):\n%s", diff)
	}
}

func (p *pair) look(t *rapid.T, s *sessions.Store) state {
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := state{
		Turns: map[string][]sessions.Turn{}, Journals: map[string][]string{}, Texts: map[string]bool{},
		Hits: map[string][]sessions.Hit{}, Facts: map[string][]sessions.Fact{},
	}
	var err error
	seen.Sessions, err = s.List(p.ctx, sessions.Filter{})
	ok(err)
	var paged []string
	for page := (sessions.Filter{Limit: 2}); ; {
		list, err := s.List(p.ctx, page)
		ok(err)
		if len(list) == 0 {
			break
		}
		paged, page.After = append(paged, ids(list)...), list[len(list)-1].Place()
	}
	if !slices.Equal(ids(seen.Sessions), append([]string{}, paged...)) {
		t.Fatalf("the pages have %q, the list %q", paged, ids(seen.Sessions))
	}
	seen.Totals, err = sessions.AddUp(p.ctx, s, sessions.Filter{})
	ok(err)
	slices.SortFunc(seen.Sessions, func(a, b sessions.Session) int { return cmp.Compare(a.ID, b.ID) })
	for i, n := range seen.Sessions {
		seen.Sessions[i].Created, seen.Sessions[i].Updated = time.Time{}, time.Time{}
		turns, err := s.Turns(p.ctx, n.ID, 0)
		ok(err)
		for j, turn := range turns {
			turns[j].Started, turns[j].Ended = time.Time{}, time.Time{}
			journal, err := s.Journal(p.ctx, n.ID, turn.Number, 0)
			ok(err)
			key := fmt.Sprint(n.ID, "/", turn.Number)
			for _, event := range journal {
				seen.Journals[key] = append(seen.Journals[key], string(event))
			}
		}
		seen.Turns[n.ID] = turns
	}
	if len(p.turns) == 0 { // only then it is certain what is there
		_, err := s.Begin(p.ctx, "one that forgets", "q")
		ok(err)
		ok(s.End(p.ctx, "one that forgets", 1, sessions.Ended{Status: kernel.AllFailed}))
		for _, text := range allTexts() {
			_, err := s.Get(p.ctx, sessions.RefOf([]byte(text)))
			seen.Texts[text] = err == nil
		}
	}
	for _, query := range []string{"one", "two one", "one-two", "th*", "x o'neill", "q"} {
		hits, err := s.Search(p.ctx, query, sessions.Filter{})
		ok(err)
		for i := range hits {
			hits[i].Snippet, hits[i].Updated = "", time.Time{}
		}
		slices.SortFunc(hits, func(a, b sessions.Hit) int {
			return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Turn, b.Turn))
		})
		seen.Hits[query] = hits
		facts, err := s.SearchFacts(p.ctx, "u", query)
		ok(err)
		for i := range facts {
			facts[i].Created = time.Time{}
		}
		seen.Facts[query] = facts
	}
	return seen
}

// RunAsMemory does what comes by chance to stores that open makes, each empty, and to
// one in memory, and wants both to come to the same. The number of times is that of the
// flag rapid.checks.
func RunAsMemory(t *testing.T, open func(*rapid.T) sessions.Keeper) {
	rapid.Check(t, func(rt *rapid.T) {
		s := storeOf(open(rt))
		p := &pair{ctx: t.Context(), stores: [2]*sessions.Store{s, sessions.NewMemory()}, turns: map[string]int{}}
		actions := map[string]func(*rapid.T){"": p.check}
		maps.Copy(actions, p.turnActions())
		maps.Copy(actions, p.otherActions())
		rt.Repeat(actions)
		if err := s.Check(t.Context()); err != nil {
			rt.Error(err)
		}
	})
}
