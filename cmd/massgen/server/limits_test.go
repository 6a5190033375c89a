package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/server"
)

// TestLongResponseIDIsRefused: an id that names a session, and a model of any length, is the client's fault.
func TestLongResponseIDIsRefused(t *testing.T) {
	s := serve(t, nil)
	if r := s.do(t, http.MethodPost, "/v1/responses", `{"model":"pair","input":"q","metadata":{"session_id":"s"}}`); r.status != http.StatusOK {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	for _, length := range []int{5000, 70_000} {
		id := "resp_" + base64.RawURLEncoding.EncodeToString([]byte("1.0\n"+strings.Repeat("M", length)+"\ns"))
		r := s.do(t, http.MethodPost, "/v1/responses", fmt.Sprintf(`{"model":"pair","input":"q1","previous_response_id":%q}`, id))
		refused(t, fmt.Sprint(length), r, http.StatusBadRequest, "previous_response_not_found")
	}
}

// TestMetadataFitsOrIsRefused: what a session cannot keep is refused before the turn begins, in a new
// session and in one that exists. The largest metadata of OpenAI's API fits.
func TestMetadataFitsOrIsRefused(t *testing.T) {
	s := serve(t, nil)
	ask := func(format string, metadata map[string]string) reply {
		text, err := json.Marshal(metadata)
		if err != nil {
			t.Fatal(err)
		}
		return s.do(t, http.MethodPost, "/v1/responses", fmt.Sprintf(`{"model":"pair","input":"q","metadata":%s%s}`, text, format))
	}
	large := map[string]string{"session_id": "s"}
	for i := range 15 {
		large[fmt.Sprintf("%064d", i)] = strings.Repeat("<", 512) // six bytes each in JSON
	}
	for range 2 {
		r := ask("", large)
		if r.status != http.StatusOK {
			t.Fatalf("status %d: %.300s", r.status, r.body)
		}
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(r.body), &made); err != nil {
			t.Fatal(err)
		}
		if shown := s.do(t, http.MethodGet, "/v1/responses/"+made.ID, ""); shown.status != http.StatusOK || !strings.Contains(shown.body, fmt.Sprintf("%064d", 14)) {
			t.Errorf("status %d: %.300s", shown.status, shown.body)
		}
	}
	const format = `,"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","description":"%s","properties":{}}}}`
	for _, session := range []string{"s", "new"} {
		large["session_id"] = session
		r := ask(fmt.Sprintf(format, strings.Repeat("x", 20_000)), large)
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, `"param":"metadata"`) {
			t.Errorf("%s: status %d: %.300s", session, r.status, r.body)
		}
		r = ask(fmt.Sprintf(format, strings.Repeat("x", 65_480)), map[string]string{"session_id": session})
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, `"param":"text.format"`) {
			t.Errorf("%s: status %d: %.300s", session, r.status, r.body)
		}
	}
	if _, err := s.store.Session(t.Context(), "new"); err == nil {
		t.Error("a refused request began a session")
	}
}

// TestSchemeOfATokenHasNoCase: the token is the same in any spelling of its header, so a key of one request
// is the key of its repetition.
func TestSchemeOfATokenHasNoCase(t *testing.T) {
	s := serve(t, func(s *server.Settings) { s.Access.Tokens = []server.Token{{Secret: adasToken}} })
	var bodies []string
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER   "} {
		r := s.do(t, http.MethodPost, "/v1/chat/completions", asked, "Authorization: "+scheme+adasToken, "Idempotency-Key: k")
		if r.status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", scheme, r.status, r.body)
		}
		bodies = append(bodies, r.body)
	}
	if bodies[1] != bodies[0] || bodies[2] != bodies[0] {
		t.Errorf("the key began several turns:\n%s", strings.Join(bodies, "\n"))
	}
}

// TestRefusalsAreNotCountedAsTurns: a client that polls a busy session may ask as soon as the session is free.
func TestRefusalsAreNotCountedAsTurns(t *testing.T) {
	until := make(chan struct{})
	s := serve(t, func(s *server.Settings) {
		holdingModel(until)(s)
		s.Limits.PerMinute = 2
	})
	const ask = `{"model":"one","conversation":"c","messages":[{"role":"user","content":"?"}]%s}`
	path := s.start(t, "c", "one")
	for range 3 {
		refused(t, "busy", s.chat(t, fmt.Sprintf(ask, "")), http.StatusConflict, "session_busy")
		refused(t, "search", s.chat(t, `{"model":"one","web_search_options":{},"messages":[{"role":"user","content":"?"}]}`), http.StatusBadRequest, "invalid_value")
	}
	close(until)
	if list := s.events(t, path, "", nil); list[len(list)-1].name != "end" {
		t.Fatalf("the turn has the events %+v", list)
	}
	if r := s.chat(t, fmt.Sprintf(ask, "")); r.status != http.StatusOK {
		t.Errorf("the next question: status %d: %s", r.status, r.body)
	}
	refused(t, "a third turn", s.chat(t, fmt.Sprintf(ask, "")), http.StatusTooManyRequests, "rate_limit_exceeded")
}
