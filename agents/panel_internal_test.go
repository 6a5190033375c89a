package agents

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// reading is a store whose reads a test states.
type reading struct {
	Blobs
	before func()
}

func (r reading) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	r.before()
	return r.Blobs.Get(ctx, ref)
}

// TestMessagesAreReadSideBySide: a call does not wait until the store has read the messages of others.
func TestMessagesAreReadSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sessions.NewMemory()
		panels := lastPanel{}
		p := panels.of(&effect.Turn{Agents: make([]effect.Agent, 1)})
		begun := time.Now()
		var group sync.WaitGroup
		for _, text := range []string{"a", "b", "c"} {
			ref, err := PutJSON(t.Context(), store, backends.User(text))
			if err != nil {
				t.Fatal(err)
			}
			group.Go(func() {
				s := textStore{ctx: t.Context(), blobs: reading{store, func() { time.Sleep(time.Second) }}}
				for range 2 { // the second is not read again
					if got := p.messageOf(&s, ref); s.err != nil || got.Text() != text {
						t.Errorf("%q: %v", got.Text(), s.err)
					}
				}
			})
		}
		group.Wait()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestReadThatPanicsIsNotKept: the next call reads again.
func TestReadThatPanicsIsNotKept(t *testing.T) {
	store := sessions.NewMemory()
	ref, err := store.Put(t.Context(), []byte("be kind"))
	if err != nil {
		t.Fatal(err)
	}
	p := newPanel(&effect.Turn{})
	reads := 0
	s := textStore{ctx: t.Context(), blobs: reading{store, func() {
		if reads++; reads == 1 {
			panic("no memory")
		}
	}}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the read does not panic")
			}
		}()
		p.textOf(&s, ref)
	}()
	if got := p.textOf(&s, ref); got != "be kind" || s.err != nil {
		t.Errorf("%q, %v", got, s.err)
	}
}
