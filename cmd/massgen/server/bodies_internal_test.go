package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// TestBodiesShareOneBudget: values count as well as bytes, and count until the request is over.
func TestBodiesShareOneBudget(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string][]byte{
		"bytes":  bytes.Repeat([]byte("x"), 1<<20),
		"values": append(append([]byte("["), bytes.Repeat([]byte("0,"), 100_000)...), '"'),
	} {
		var all bodies
		var held []*heldBody
		var err error
		for err == nil && len(held) < 1000 {
			h := &heldBody{of: &all}
			if _, err := h.Write(piece); err != nil {
				t.Fatal(err)
			}
			err = h.refused
			held = append(held, h)
		}
		var known refusal
		if !errors.As(err, &known) || known.status != http.StatusServiceUnavailable {
			t.Fatalf("%s: after %d bodies: %v", name, len(held), err)
		}
		if name == "values" && len(held) > 20 {
			t.Errorf("%d bodies of 100,000 values are held at a time", len(held))
		}
		if err := held[0].Close(); err != nil || all.held == 0 {
			t.Errorf("%s: %d bytes are held after a body was read, %v", name, all.held, err)
		}
		for _, h := range held {
			h.release()
		}
		if all.held != 0 {
			t.Errorf("%s: %d bytes are held after all requests", name, all.held)
		}
	}
}

// TestSessionsAreLockedOneByOne: a turn that begins in one session delays no other session, and a wait ends with
// its context.
func TestSessionsAreLockedOneByOne(t *testing.T) {
	t.Parallel()
	var locks sessionLocks
	unlock, err := locks.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1_000 {
		other, err := locks.lock(t.Context(), fmt.Sprintf("b%d", i))
		if err != nil {
			t.Fatal(err)
		}
		defer other()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.lock(gone, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a locked session was locked again: %v", err)
	}
	next := make(chan func())
	go func() {
		unlock, err := locks.lock(t.Context(), "a")
		if err != nil {
			t.Error(err)
		}
		next <- unlock
	}()
	unlock()
	(<-next)()
	locks.mu.Lock()
	defer locks.mu.Unlock()
	if _, isHeld := locks.held["a"]; isHeld {
		t.Error("the lock of a session is kept after its last user")
	}
}
