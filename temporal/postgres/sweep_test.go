package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// runningTurn is a turn of workers, with the texts that it has stored and that no event names.
type runningTurn struct {
	store  *postgres.Store
	number int
	texts  map[blob.Ref]string
}

// TestTextsOfRunningTurnsStay: whatever turns begin, end and are deleted meanwhile, each text that a
// turn has stored once is there until the turn ends. So no worker stores a text twice for one turn.
func TestTextsOfRunningTurnsStay(t *testing.T) {
	s := open(t, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		turns := map[string]*runningTurn{}
		ids, words := rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"one", "two", "three", "four"})
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		// running runs do for one of the running turns, if there is one.
		running := func(do func(t *rapid.T, id string, r *runningTurn)) func(*rapid.T) {
			return func(t *rapid.T) {
				if len(turns) > 0 {
					id := rapid.SampledFrom(slices.Sorted(maps.Keys(turns))).Draw(t, "session")
					do(t, id, turns[id])
				}
			}
		}
		end := func(id string, r *runningTurn, e sessions.Ended) {
			must(r.store.End(ctx, id, r.number, e))
			delete(turns, id)
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				id := ids.Draw(t, "session")
				if turns[id] != nil {
					return
				}
				store := s.As(fmt.Sprint("owner of ", id, rapid.Uint64().Draw(t, "owner")), time.Hour)
				b, err := store.Begin(ctx, id, words.Draw(t, "question"))
				must(err)
				turns[id] = &runningTurn{store, b.Turn, map[blob.Ref]string{}}
			},
			"store texts": running(func(t *rapid.T, id string, r *runningTurn) {
				text := words.Draw(t, "text")
				refs, err := postgres.TextsOf(r.store).PutAll(ctx, [][]byte{[]byte(text), []byte("also")})
				must(err)
				r.texts[refs[0]], r.texts[refs[1]] = text, "also"
			}),
			"store a result with a text": running(func(t *rapid.T, id string, r *runningTurn) {
				text := words.Draw(t, "text")
				_, err := r.store.KeepResults(ctx, id, r.number, map[string][]byte{"call": []byte("{}")}, [][]byte{[]byte(text)})
				must(err)
				r.texts[sessions.RefOf([]byte(text))] = text
			}),
			"name a text": running(func(t *rapid.T, id string, r *runningTurn) {
				if len(r.texts) == 0 {
					return
				}
				refs := slices.Collect(maps.Keys(r.texts))
				slices.SortFunc(refs, func(a, b blob.Ref) int { return a.Bytes - b.Bytes })
				ref := rapid.SampledFrom(refs).Draw(t, "text")
				must(r.store.Append(ctx, id, r.number, fmt.Appendf(nil, `{"text":{"sha256":%q,"bytes":%d}}`, ref.SHA256, ref.Bytes)))
			}),
			"end": running(func(t *rapid.T, id string, r *runningTurn) {
				end(id, r, sessions.Ended{Winner: "w", Answer: words.Draw(t, "answer"), Status: "completed"})
			}),
			"fail": running(func(t *rapid.T, id string, r *runningTurn) {
				end(id, r, sessions.Ended{Status: "all_failed"})
			}),
			"delete": func(t *rapid.T) {
				if id := ids.Draw(t, "session"); turns[id] == nil {
					_ = s.Delete(ctx, id) // it may not be there
				}
			},
			"compact": func(*rapid.T) { must(s.Compact(ctx)) },
			"": func(t *rapid.T) {
				for id, r := range turns {
					for ref, text := range r.texts {
						if data, err := s.Get(ctx, ref); err != nil || string(data) != text {
							t.Fatalf("turn %d of session %s has stored %q, and there is %q, %v", r.number, id, text, data, err)
						}
					}
				}
			},
		})
		for id, r := range turns {
			end(id, r, sessions.Ended{Status: "all_failed"})
		}
	})
}

// TestTextsGoWithTheirTurn: a text that no event names goes when the turn ends for which it was
// stored.
func TestTextsGoWithTheirTurn(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	one := s.As("owner", time.Hour)
	b, err := one.Begin(ctx, "s", "q")
	ok(t, err)
	refs, err := postgres.TextsOf(one).PutAll(ctx, [][]byte{[]byte("named by nothing"), []byte("another")})
	ok(t, err)
	if found, err := postgres.TextsOf(one).GetAll(ctx, append(refs, sessions.RefOf([]byte("missing")))); err != nil || len(found) != 2 || string(found[refs[0]]) != "named by nothing" {
		t.Errorf("there are %d texts, %v", len(found), err)
	}
	ok(t, one.Leave(ctx, "s", b.Turn))
	if found, err := postgres.TextsOf(one).GetAll(ctx, refs); err != nil || len(found) != 0 {
		t.Errorf("after the turn there are %d texts, %v", len(found), err)
	}
}
