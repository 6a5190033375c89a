package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// response is what a test reads of a response.
type response struct {
	ID, Status string
	Output     []struct{ Type string }
	Error      *struct{ Message string }
}

// request sends a request with a JSON body and an Idempotency-Key, "" for none, and returns the body of the reply.
func (s *served) request(ctx context.Context, method, path, key, body string) io.ReadCloser {
	s.world.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	ok(s.world.t, err)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	reply, err := http.DefaultClient.Do(r)
	ok(s.world.t, err)
	s.world.t.Cleanup(func() { _ = reply.Body.Close() }) // it was only read
	return reply.Body
}

// response sends a request, and returns the response that it names.
func (s *served) response(method, path, key, body string) (r response) {
	s.world.t.Helper()
	text, err := io.ReadAll(s.request(s.world.t.Context(), method, path, key, body))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.Error != nil {
		s.world.t.Errorf("%s %s: %s, %v", method, path, text, err)
	}
	return r
}

const inBackground = `{"model": "panel", "input": "energy?", "background": true}`

// TestAnyServerKnowsAResponse: of two servers with one database, the second finds the response that the first has
// begun, has its events, cancels it, and begins none for the same Idempotency-Key.
func TestAnyServerKnowsAResponse(t *testing.T) {
	t.Parallel()
	w, s, config := heldTurn(t)
	a, b := w.serve(config), w.serve(config)
	begun := a.response(http.MethodPost, "/v1/responses", "key", inBackground)
	if begun.Status != "in_progress" {
		t.Errorf("it began as %+v", begun)
	}
	w.until("the models are asked", func() bool { return s.holds() == 3 })
	if again := b.response(http.MethodPost, "/v1/responses", "key", inBackground); again.ID != begun.ID {
		t.Errorf("the same key begins %s, and began %s", again.ID, begun.ID)
	}
	if found := b.response(http.MethodGet, "/v1/responses/"+begun.ID, "", ""); found.ID != begun.ID || found.Status != "in_progress" {
		t.Errorf("the second server finds %+v", found)
	}
	events := bufio.NewScanner(b.request(t.Context(), http.MethodGet, "/v1/responses/"+begun.ID+"?stream=true&starting_after=1", "", ""))
	s.release <- struct{}{}
	events.Buffer(nil, 1<<20)
	var seen []string
	next := func(kind string) {
		for events.Scan() {
			if name, isEvent := strings.CutPrefix(events.Text(), "event: "); isEvent {
				seen = append(seen, name)
				if name == kind {
					return
				}
			}
		}
		t.Errorf("the stream has no %s: %q", kind, seen)
	}
	next("response.reasoning_summary_text.delta")
	if strings.HasPrefix(seen[0], "response.created") {
		t.Errorf("after event 1 the stream begins with %q", seen)
	}
	if cancelled := b.response(http.MethodPost, "/v1/responses/"+begun.ID+"/cancel", "", "{}"); cancelled.Status != "cancelled" {
		t.Errorf("cancelled it is %+v", cancelled)
	}
	next("response.incomplete")
	w.until("the first server knows", func() bool {
		return a.response(http.MethodGet, "/v1/responses/"+begun.ID, "", "").Status == "cancelled"
	})
	if n := len(s.Calls()); n != 3 {
		t.Errorf("%d calls", n)
	}
}

// TestOneKeyAtTwoServersAtOnce begins one turn.
func TestOneKeyAtTwoServersAtOnce(t *testing.T) {
	t.Parallel()
	w, s, config := heldTurn(t)
	servers := []*served{w.serve(config), w.serve(config)}
	var ids [2]string
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() { ids[i] = server.response(http.MethodPost, "/v1/responses", "key", inBackground).ID })
	}
	all.Wait()
	w.until("the models are asked", func() bool { return s.holds() == 3 })
	if ids[0] != ids[1] || len(s.Calls()) != 3 {
		t.Errorf("the responses %q, with %d calls", ids, len(s.Calls()))
	}
	s.free()
	for i, server := range servers {
		w.until(fmt.Sprint("server ", i, " has the answer"), func() bool {
			return server.response(http.MethodGet, "/v1/responses/"+ids[i], "", "").Status == "completed"
		})
	}
}

// TestAnyServerChangesATurn: notes and cancels reach a turn that another server has begun.
func TestAnyServerChangesATurn(t *testing.T) {
	t.Parallel()
	w, s, config := heldTurn(t)
	a, b := w.serve(config), w.serve(config)
	begun := a.request(t.Context(), http.MethodPost, "/sessions/s/turns", "", `{"model": "panel", "question": "energy?", "background": true}`)
	_, err := io.ReadAll(begun)
	ok(t, err)
	w.until("the models are asked", func() bool { return s.holds() == 3 })
	change := func(what string) {
		text, err := io.ReadAll(b.request(t.Context(), http.MethodPost, "/sessions/s/turns/1"+what, "", `{"text": "in French"}`))
		if ok(t, err); len(text) > 0 {
			t.Errorf("%s: %s", what, text)
		}
	}
	change("/notes")
	isKept := func() bool { return strings.Contains(w.pending(), "massgen.keep") }
	change("/pause")
	w.until("a worker keeps the session of the paused turn", isKept)
	change("/resume")
	w.until("nobody keeps it", func() bool { return !isKept() })
	change("/cancel")
	store := w.store()
	w.until("the turn is cancelled", func() bool {
		turns, err := store.Turns(t.Context(), "s", 1)
		return err == nil && turns[0].Status == "interrupted"
	})
}
