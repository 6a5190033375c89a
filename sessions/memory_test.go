package sessions

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlobsAreKeptByContent(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	data := []byte("hello")
	ref, err := m.Put(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	data[0] = 'j' // the store keeps its own copy
	again, err := m.Put(ctx, []byte("hello"))
	if err != nil || again != ref || ref.Bytes != 5 {
		t.Errorf("the same text twice: %v and %v, %v", ref, again, err)
	}
	if got, err := m.Get(ctx, ref); string(got) != "hello" || err != nil {
		t.Errorf("Get: %q, %v", got, err)
	}
	ref.SHA256 = "0123456789abcdef"
	if _, err := m.Get(ctx, ref); err == nil || err.Error() != "no text is stored under 0123456789ab" {
		t.Errorf("Get of an unknown text: %v", err)
	}
}

func TestTurnsLockTheirSession(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	turn, history, err := m.Begin(ctx, "s")
	if turn != 1 || len(history) != 0 || err != nil {
		t.Fatalf("Begin: %d, %v, %v", turn, history, err)
	}
	if _, _, err := m.Begin(ctx, "s"); !errors.Is(err, ErrBusy) {
		t.Errorf("Begin on a locked session: %v", err)
	}
	if err := m.Reset(ctx, "s"); !errors.Is(err, ErrBusy) {
		t.Errorf("Reset of a locked session: %v", err)
	}
	if turn, _, err := m.Begin(ctx, "other"); turn != 1 || err != nil {
		t.Errorf("Begin of another session: %d, %v", turn, err)
	}
	done := Turn{Number: 1, Question: "q", Answer: "a"}
	if err := m.End(ctx, "s", &done); err != nil {
		t.Fatal(err)
	}
	turn, history, err = m.Begin(ctx, "s")
	if diff := cmp.Diff([]Turn{done}, history); turn != 2 || diff != "" || err != nil {
		t.Errorf("the second Begin: %d, %v\n%s", turn, err, diff)
	}
	if err := m.Append(ctx, "s", 2, []byte("accepted")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{3, 3} { // nothing of turn 3 is journaled: its number is free again
		if err := m.End(ctx, "s", nil); err != nil {
			t.Fatal(err)
		}
		if turn, _, err := m.Begin(ctx, "s"); turn != want || err != nil {
			t.Errorf("Begin: turn %d, %v, want %d", turn, err, want)
		}
	}
	if err := m.End(ctx, "s", nil); err != nil {
		t.Fatal(err)
	}
	if history, err := m.History(ctx, "s"); len(history) != 1 || err != nil {
		t.Errorf("a turn without an answer is in the history: %v, %v", history, err)
	}
	if err := m.Reset(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if turn, history, err := m.Begin(ctx, "s"); turn != 1 || len(history) != 0 || err != nil {
		t.Errorf("Begin after Reset: %d, %v, %v", turn, history, err)
	}
}

func TestJournalKeepsTheOrderOfATurn(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	for _, event := range []string{"a", "b", "c"} {
		if err := m.Append(ctx, "s", 1, []byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Append(ctx, "s", 2, []byte("d")); err != nil {
		t.Fatal(err)
	}
	events, err := m.Journal(ctx, "s", 1)
	if err != nil || !slices.EqualFunc(events, []string{"a", "b", "c"}, func(b []byte, s string) bool { return string(b) == s }) {
		t.Errorf("the journal of turn 1: %q, %v", events, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			ref, err := m.Put(ctx, []byte{byte(i % 5)})
			if err != nil {
				t.Error(err)
			}
			if _, err := m.Get(ctx, ref); err != nil {
				t.Error(err)
			}
			if err := m.Append(ctx, "s", 1, []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if events, err := m.Journal(ctx, "s", 1); len(events) != 50 || err != nil {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestTextsGoWithTheLastSession(t *testing.T) {
	m, ctx := NewMemory(), t.Context()
	for _, id := range []string{"one", "two"} {
		if _, _, err := m.Begin(ctx, id); err != nil {
			t.Fatal(err)
		}
		if err := m.End(ctx, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := m.Put(ctx, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Reset(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(ctx, ref); err != nil {
		t.Errorf("the text went with a session that was not the last: %v", err)
	}
	if err := m.Reset(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(ctx, ref); err == nil {
		t.Error("the text is kept, and no session is left")
	}
}
