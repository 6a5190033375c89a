package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// reading is a store that runs before ahead of each read, which fails with its error.
type reading struct {
	Blobs
	before func() error
}

func (r reading) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if err := r.before(); err != nil {
		return nil, err
	}
	return r.Blobs.Get(ctx, ref)
}

// TestTextsAreReadSideBySide: a call does not wait until the store has read the texts of others. Calls that need the
// same text read it once.
func TestTextsAreReadSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sessions.NewMemory()
		cache := NewCache(reading{store, func() error { time.Sleep(time.Second); return nil }})
		begun := time.Now()
		var group sync.WaitGroup
		for _, text := range []string{"a", "b", "c"} {
			ref, err := PutJSON(t.Context(), store, backends.User(text))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				group.Go(func() {
					s := newTextStore(t.Context(), cache)
					if got := decoded[backends.Message](&s, ref); s.err != nil || got.Text() != text {
						t.Errorf("%q: %v", got.Text(), s.err)
					}
				})
			}
		}
		group.Wait()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestFailedReadIsNotKept: after an error or a panic the next call reads again.
func TestFailedReadIsNotKept(t *testing.T) {
	store := sessions.NewMemory()
	ref, err := store.Put(t.Context(), []byte("be kind"))
	if err != nil {
		t.Fatal(err)
	}
	errDisk := errors.New("no disk")
	reads := 0
	cache := NewCache(reading{store, func() error {
		switch reads++; reads {
		case 1:
			panic("no memory")
		case 2:
			return errDisk
		}
		return nil
	}})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the read does not panic")
			}
		}()
		_, _ = cache.Get(t.Context(), ref)
	}()
	var fault storeFault
	if _, err := cache.Get(t.Context(), ref); !errors.Is(err, errDisk) || !errors.As(err, &fault) {
		t.Errorf("error %v", err)
	}
	for range 2 {
		if got, err := cache.Get(t.Context(), ref); string(got) != "be kind" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if reads != 3 {
		t.Errorf("%d reads, want 3", reads)
	}
	if _, err := cache.Get(t.Context(), sessions.RefOf([]byte("gone"))); !errors.Is(err, sessions.ErrNoText) || errors.As(err, &fault) {
		t.Errorf("a text that is missing: %v", err)
	}
}

// TestMemoIsBounded: it keeps a value that is used again and again, and forgets others.
func TestMemoIsBounded(t *testing.T) {
	var m memo[string]
	made := map[string]int{}
	get := func(key string, size int) {
		value, err := remember(&m, key, size, func() (string, error) { made[key]++; return key, nil })
		if value != key || err != nil {
			t.Errorf("%q: %q, %v", key, value, err)
		}
	}
	const large = mostRemembered / 4
	for i := range 20 {
		get("often", 100)
		get(fmt.Sprint(i), large)
	}
	get("19", large)
	get("0", large)
	if made["often"] != 1 || made["19"] != 1 || made["0"] != 2 {
		t.Errorf("made %v", made)
	}
	if n := len(m.young) + len(m.old); n > 8 {
		t.Errorf("%d values are kept", n)
	}
}
