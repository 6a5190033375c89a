package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// startServer starts a server of the models "one", a forecaster, and "held", which waits for a channel. The function stop
// ends it as a signal does.
func startServer(t *testing.T, kept *sessions.Store, until chan struct{}) (s served, stop func()) {
	t.Helper()
	s, tell, wait := startDraining(t, kept, until, server.Drain{})
	return s, func() {
		tell()
		wait()
	}
}

// startDraining is startServer with a drain. tell tells the server to end, and wait waits for its end.
func startDraining(t *testing.T, kept *sessions.Store, until chan struct{}, drain server.Drain) (s served, tell, wait func()) {
	t.Helper()
	settings := server.Settings{Store: kept, Drain: drain, Redact: func(text string) string { return text }, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	forecasters(&forecaster{})(&settings)
	settings.Models = append(settings.Models, server.Model{ID: "held", Open: func(ctx context.Context) (*massgen.Panel, error) {
		return massgen.New(ctx, []massgen.Agent{{ID: "ada", Model: "m", Backend: holding{until}}}, massgen.WithStore(kept))
	}})
	ctx, cancel := context.WithCancel(context.Background())
	handler := server.New(settings)
	h := httptest.NewServer(handler)
	ended := make(chan error, 1)
	go func() { ended <- handler.Serve(ctx, newIdleListener(ctx)) }()
	return served{h, kept, ""}, cancel, func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.Close()
	}
}

// TestPlannedEndKeepsTurns that outlive their request or wait for their client, as a kill does, and turns without an
// answer.
func TestPlannedEndKeepsTurns(t *testing.T) {
	kept := store.InMemory("", func(text string) string { return text }).Sessions
	first, stop := startServer(t, kept, make(chan struct{}))
	tools := first.chat(t, question("one"))
	background, _ := first.respond(t, `{"model":"held","background":true,"input":"Why?"}`)
	plain := first.send(t, http.MethodPost, "/sessions", `{"model":"held","background":true,"question":"Why?"}`)
	cut := make(chan reply, 2)
	keyed := func(s served) reply {
		return s.once(t, "k", "/v1/chat/completions", `{"model":"held","messages":[{"role":"user","content":"Why?"}]}`)
	}
	named := func(s served) reply {
		return s.chat(t, `{"model":"held","conversation":"mine","messages":[{"role":"user","content":"Why?"}]}`)
	}
	for _, ask := range []func(served) reply{keyed, named} {
		go func() { cut <- ask(first) }()
	}
	for begun := 0; begun < 5; { // each has a session with a turn
		list, err := kept.List(t.Context(), sessions.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		begun = 0
		for _, s := range list {
			begun += s.Turns
		}
	}
	stop()
	for range 2 {
		if r := <-cut; r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, `"interrupted"`) {
			t.Errorf("a request that the end cut has status %d: %s", r.status, r.body)
		}
	}

	until := make(chan struct{})
	close(until)
	second, stop := startServer(t, kept, until)
	defer stop()
	if r := second.chat(t, results(t, "one", tools.body, 2)); r.status != http.StatusOK || r.session() != tools.session() {
		t.Errorf("results of tools: status %d: %s", r.status, r.body)
	}
	for name, r := range map[string]reply{
		"repeated request": keyed(second), "same question": named(second),
		"POST /continue": second.send(t, http.MethodPost, "/sessions/"+plain.session()+"/continue", `{}`),
	} {
		if r.status != http.StatusOK || !strings.Contains(r.body, "The sun.") {
			t.Errorf("%s: status %d: %s", name, r.status, r.body)
		}
		if turns, err := kept.Turns(t.Context(), r.session(), 0); err != nil || len(turns) != 1 {
			t.Errorf("%s: the session has %+v, %v", name, turns, err)
		}
	}
	for shown := background; shown.Status != "completed"; {
		if shown = decode[response](t, second.do(t, http.MethodGet, "/v1/responses/"+background.ID, "").body); shown.Status != "completed" && shown.Status != "in_progress" {
			t.Fatalf("the response in the background is %+v", shown)
		}
	}
}

// TestServerThatIsToldToEnd lets the turn of a request end, begins no other, and is not ready. Told again, it ends at once.
func TestServerThatIsToldToEnd(t *testing.T) {
	const asked = `{"model":"held","messages":[{"role":"user","content":"Why?"}]}`
	for times, status := range map[int]int{1: http.StatusOK, 2: http.StatusServiceUnavailable} {
		now, again := context.WithCancel(context.Background())
		defer again()
		kept, until := store.InMemory("", func(text string) string { return text }).Sessions, make(chan struct{})
		s, tell, wait := startDraining(t, kept, until, server.Drain{Longest: time.Hour, Now: now})
		got := make(chan reply, 1)
		go func() { got <- s.chat(t, asked) }()
		for list := []sessions.Session(nil); len(list) == 0 || list[0].Turns == 0; {
			var err error
			if list, err = kept.List(t.Context(), sessions.Filter{}); err != nil {
				t.Fatal(err)
			}
		}
		tell()
		for s.do(t, http.MethodGet, "/readyz", "").status == http.StatusOK {
		}
		if r := s.chat(t, asked); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "the server is ending") {
			t.Errorf("another question has status %d: %s", r.status, r.body)
		}
		if times > 1 {
			again()
		} else {
			close(until)
		}
		if r := <-got; r.status != status {
			t.Errorf("told %d times: status %d: %s", times, r.status, r.body)
		}
		wait()
	}
}

// TestLostTurnOfAnotherPanel: another model, or a config with other agents, does not go on with it. The same question
// begins a new turn.
func TestLostTurnOfAnotherPanel(t *testing.T) {
	until := make(chan struct{})
	close(until)
	kept := store.InMemory("", func(text string) string { return text }).Sessions
	first, stop := startServer(t, kept, make(chan struct{}))
	defer stop()
	tools := first.chat(t, question("one"))
	var lost []string
	for range 3 {
		lost = append(lost, first.send(t, http.MethodPost, "/sessions", `{"model":"held","background":true,"question":"Why?"}`).session())
	}
	for name, agent := range map[string]massgen.Agent{
		"another agent": {ID: "eve", Model: "m", Backend: holding{until}},
		"another model": {ID: "ada", Model: "other", Backend: holding{until}},
	} {
		moved := store.InMemory("", func(text string) string { return text }).Sessions
		for _, id := range append(lost, tools.session()) {
			copyInterrupted(t, kept, moved, id)
		}
		s := serve(t, func(s *server.Settings) {
			s.Store = moved
			open := func(ctx context.Context) (*massgen.Panel, error) {
				return massgen.New(ctx, []massgen.Agent{agent}, massgen.WithStore(moved))
			}
			s.Models = []server.Model{{ID: "one", Open: open}, {ID: "held", Open: open}}
		})
		refused(t, name+", /continue", s.send(t, http.MethodPost, "/sessions/"+lost[0]+"/continue", `{}`), http.StatusConflict, "other_panel")
		refused(t, name+", results", s.chat(t, results(t, "one", tools.body, 2)), http.StatusConflict, "other_panel")
		for i, r := range []reply{
			s.send(t, http.MethodPost, "/sessions/"+lost[1]+"/turns", `{"model":"held","question":"Why?"}`),
			s.chat(t, fmt.Sprintf(`{"model":"held","conversation":%q,"messages":[{"role":"user","content":"Why?"}]}`, lost[2])),
		} {
			if r.status != http.StatusOK || !strings.Contains(r.body, "The sun.") {
				t.Errorf("%s, the same question %d: status %d: %s", name, i, r.status, r.body)
			}
		}
	}
}
