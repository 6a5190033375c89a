package storetest_test

import (
	"fmt"
	"testing"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) sessions.Keeper { return sessions.NewMemory() })
}

func TestPages(t *testing.T) {
	store := sessions.NewMemory()
	storetest.Pages(t, store, func(t testing.TB, from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			id := fmt.Sprintf("old%08d", i)
			begun, err := store.Begin(t.Context(), id, "a question about a harbour")
			if err == nil {
				err = store.End(t.Context(), id, begun.Turn, sessions.Ended{Status: kernel.Completed, Winner: "agent1", Answer: "an answer"})
			}
			if err == nil {
				err = store.SetTitle(t.Context(), id, "Of the sea")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}, nil)
}
