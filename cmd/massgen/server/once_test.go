package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/sessions"
)

// once sends a request with an Idempotency-Key.
func (s served) once(t *testing.T, key, path, body string) reply {
	t.Helper()
	return s.do(t, http.MethodPost, path, body, "Idempotency-Key: "+key)
}

// onceBodies are requests of both protocols, of sessions with and without a name.
func onceBodies() map[string]string {
	return map[string]string{
		`{"model":"slow","messages":[{"role":"user","content":"?"}]}`:                                                                   "/v1/chat/completions",
		`{"model":"slow","messages":[{"role":"user","content":"?"},{"role":"assistant","content":"!"},{"role":"user","content":"??"}]}`: "/v1/chat/completions",
		`{"model":"slow","messages":[{"role":"user","content":"?"}],"conversation":"named"}`:                                            "/v1/chat/completions",
		`{"model":"slow","input":"?"}`:                        "/v1/responses",
		`{"model":"slow","input":"?","conversation":"named"}`: "/v1/responses",
	}
}

// TestRepeatedRequestBeginsNoSecondTurn, whether the turn goes on or is over, and after a restart.
func TestRepeatedRequestBeginsNoSecondTurn(t *testing.T) {
	for body, path := range onceBodies() {
		g := &halved{open: make(chan struct{})}
		s := serveHalved(t, g, nil)
		replies := make([]reply, 4)
		var asking sync.WaitGroup
		for i := range 2 {
			asking.Go(func() { replies[i] = s.once(t, "key", path, body) })
		}
		close(g.open)
		asking.Wait()
		replies[2] = s.once(t, "key", path, body)
		replies[3] = serveHalved(t, g, s.store).once(t, "key", path, body)
		for i, r := range replies {
			if r.status != http.StatusOK || r.body != replies[0].body || r.session() != replies[0].session() || !strings.Contains(r.body, "Half and half.") {
				t.Errorf("%s: reply %d is %d, %s, and the first %s", body, i, r.status, r.body, replies[0].body)
			}
		}
		if g.calls.Load() != 1 {
			t.Errorf("%s: the model was called %d times", body, g.calls.Load())
		}
	}
}

func TestKeyIsOfOneBodyAndToken(t *testing.T) {
	g := &halved{open: make(chan struct{})}
	close(g.open)
	s := serveHalved(t, g, nil)
	for body, path := range onceBodies() {
		first := s.once(t, body, path, body)
		other := strings.Replace(body, "slow", "slow ", 1)
		if r := s.once(t, body, path, other); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, "idempotency_key_reused") {
			t.Errorf("%s: another body gets %d, %s", body, r.status, r.body)
		}
		if r := s.once(t, "other "+body, path, body); r.body == first.body {
			t.Errorf("%s: another key gets %s", body, r.body)
		}
	}
	if r := s.once(t, strings.Repeat("x", 256), "/v1/responses", `{"model":"slow","input":"?"}`); r.status != http.StatusBadRequest {
		t.Errorf("a long key gets %d, %s", r.status, r.body)
	}
}

// TestRepeatedResponseAfterAnother finds its turn in the session, and in a branch.
func TestRepeatedResponseAfterAnother(t *testing.T) {
	g := &halved{open: make(chan struct{})}
	close(g.open)
	s := serveHalved(t, g, nil)
	first, _ := s.respond(t, `{"model":"slow","input":"One?"}`)
	body := `{"model":"slow","input":"Two?","previous_response_id":"` + first.ID + `"}`
	for _, key := range []string{"in the session", "in a branch"} {
		one, two := s.once(t, key, "/v1/responses", body), s.once(t, key, "/v1/responses", body)
		if one.status != http.StatusOK || one.body != two.body {
			t.Errorf("%s: the replies are %s and %s", key, one.body, two.body)
		}
	}
	if g.calls.Load() != 3 {
		t.Errorf("the model was called %d times", g.calls.Load())
	}
}

// TestRequestThatCameToNoTurnIsSentAgain: a limit stood against its turn, or the panel could not be opened. No branch
// is left then.
func TestRequestThatCameToNoTurnIsSentAgain(t *testing.T) {
	hold := make(chan struct{})
	var opens atomic.Bool // a scrape opens panels, too
	s := serve(t, func(s *server.Settings) {
		alone := s.Models[1].Open
		holdingModel(hold)(s)
		s.Limits.Runs = 1
		s.Models = append(s.Models, server.Model{ID: "pair/ada", Open: alone}, server.Model{ID: "flaky", Open: func(ctx context.Context) (*massgen.Panel, error) {
			if !opens.Load() {
				return nil, errors.New("not yet")
			}
			return alone(ctx)
		}})
	})
	first, _ := s.respond(t, `{"model":"pair/ada","input":"One?"}`)
	after := `"previous_response_id":"` + first.ID + `"}`
	s.respond(t, `{"model":"pair/ada","input":"Two?",`+after) // the session goes on
	s.respond(t, `{"model":"one","input":"?","background":true}`)
	for _, want := range []struct{ status, sessions int }{
		{http.StatusTooManyRequests, 2}, {http.StatusInternalServerError, 2}, {http.StatusOK, 3}, {http.StatusOK, 3},
	} {
		r := s.once(t, "key", "/v1/responses", `{"model":"flaky","input":"Or?",`+after)
		kept, err := s.store.List(t.Context(), sessions.Filter{})
		if r.status != want.status || len(kept) != want.sessions || err != nil {
			t.Errorf("status %d, not %d, and %d sessions, not %d: %s, %v", r.status, want.status, len(kept), want.sessions, r.body, err)
		}
		opens.Store(want.status == http.StatusInternalServerError || opens.Load())
		if want.status == http.StatusTooManyRequests {
			close(hold)
			for !strings.Contains(s.do(t, http.MethodGet, "/metrics", "").body, "massgen_turns_running{model=\"one\"} 0\n") {
				time.Sleep(time.Millisecond)
			}
		}
	}
}
