package engine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/log"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// TestResultsComeWithTheirTexts: when a result is reported, the store has its texts, also if it has
// refused the result itself.
func TestResultsComeWithTheirTexts(t *testing.T) {
	for _, isRefused := range []bool{false, true} {
		ctx := t.Context()
		store := &memory{Store: sessions.NewMemory(), results: map[string][]byte{}, refused: map[string]bool{}}
		if _, err := store.Begin(ctx, "s", "q"); err != nil {
			t.Fatal(err)
		}
		s := newTurnStore(store, store, context.Background(), newRecentTexts())
		ref, err := s.Put(ctx, []byte("an answer"))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := s.Get(ctx, ref); err != nil || string(data) != "an answer" {
			t.Errorf("before the result there is %q, %v", data, err)
		}
		if isRefused {
			store.refuse("s", 1, "a call")
		}
		isStored := false
		of := result{Model: &effect.ModelReply{Message: ref}}
		quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
		r, err := s.keepResult(ctx, looked{"s", 1, "a call"}, of, quiet, func() { isStored = true })
		if err != nil || r.Model == nil || r.Model.Message != ref || isStored == isRefused {
			t.Errorf("refused %v: the result is %+v, stored %v, %v", isRefused, r.Model, isStored, err)
		}
		if data, err := store.Get(ctx, ref); err != nil || string(data) != "an answer" {
			t.Errorf("refused %v: the store has %q, %v", isRefused, data, err)
		}
	}
}

// TestAStoreThatIsAwayIsWaitedForOnce: the workers of a turn with many results would else wait for hours.
func TestAStoreThatIsAwayIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &away{Store: sessions.NewMemory()}
		s := newTurnStore(store, store, context.Background(), newRecentTexts())
		quiet, began := log.NewStructuredLogger(slog.New(slog.DiscardHandler)), time.Now()
		var keeping sync.WaitGroup
		for i := range 5 {
			if _, err := s.Put(t.Context(), fmt.Append(nil, "an answer ", i)); err != nil {
				t.Fatal(err)
			}
			keeping.Go(func() {
				_, err := s.keepResult(t.Context(), looked{"s", 1, fmt.Sprint("call ", i)}, result{}, quiet, func() {})
				if !sessions.IsAway(err) {
					t.Error(err)
				}
			})
		}
		keeping.Wait()
		if took := time.Since(began); took < storePatience/2 || took > 5*storePatience/2 { // two batches
			t.Errorf("it took %v", took)
		}
	})
}

// TestTextsAreStoredAgainForANewHold: a sweep may have come between two holds.
func TestTextsAreStoredAgainForANewHold(t *testing.T) {
	ctx := t.Context()
	for name, hold := range map[string]func(*turnStore) error{
		"begin":  func(s *turnStore) error { _, err := s.Begin(ctx, "t", "q"); return err },
		"resume": func(s *turnStore) error { _, err := s.Resume(ctx, "s"); return err },
	} {
		store := &memory{Store: sessions.NewMemory(), results: map[string][]byte{}, refused: map[string]bool{}}
		if _, err := store.Begin(ctx, "s", "q"); err != nil {
			t.Fatal(err)
		}
		if err := store.AppendAt(ctx, "s", 1, 0, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		s := newTurnStore(store, store, context.Background(), newRecentTexts())
		put := func() int {
			if _, err := s.Put(ctx, []byte("an answer")); err != nil {
				t.Fatal(err)
			}
			unstored := len(s.unstored)
			if err := s.flush(ctx); err != nil {
				t.Fatal(err)
			}
			return unstored
		}
		if n := put() + put(); n != 1 {
			t.Errorf("in one hold the text is stored %d times", n)
		}
		if err := store.Leave(ctx, "s", 1); err != nil {
			t.Fatal(err)
		}
		if err := hold(s); err != nil {
			t.Fatal(name, err)
		}
		if n := put(); n != 1 {
			t.Errorf("%s: the text is stored %d times", name, n)
		}
	}
}

// TestBatchesAnswerEachRequest: all that come while one is answered are answered together.
func TestBatchesAnswerEachRequest(t *testing.T) {
	const n = 50
	began, goOn := make(chan struct{}), make(chan struct{})
	var sizes []int
	b := batches[int, string]{answer: func(list []int) (out []string, err error) {
		if sizes = append(sizes, len(list)); len(sizes) == 1 {
			close(began)
			<-goOn
		}
		for _, in := range list {
			out = append(out, fmt.Sprint(in))
		}
		return out, nil
	}}
	var asking sync.WaitGroup
	ask := func(in int) {
		asking.Go(func() {
			if out, err := b.ask(t.Context(), in); err != nil || out != fmt.Sprint(in) {
				t.Errorf("the answer to %d is %s, %v", in, out, err)
			}
		})
	}
	ask(0)
	<-began
	for i := range n {
		ask(i + 1)
	}
	for isWaiting := false; !isWaiting; {
		b.mu.Lock()
		isWaiting = len(b.waiting) == n
		b.mu.Unlock()
	}
	close(goOn)
	asking.Wait()
	if len(sizes) != 2 || sizes[1] != n {
		t.Errorf("%v requests were answered together", sizes)
	}
}

// TestTooLargePanelsAreRefused before anything is paid for.
func TestTooLargePanelsAreRefused(t *testing.T) {
	for _, c := range []struct {
		agents, rounds int
		says           string
	}{{1000, 5, ""}, {200, 1000, ""}, {2001, 2, "at most 2000"}, {1500, 10, "at most 1280"}} {
		err := checkSize(kernel.Config{Agents: make([]string, c.agents), MaxRounds: c.rounds})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d agents and %d rounds: %v", c.agents, c.rounds, err)
		}
	}
}
