package tests

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// cancelled is how a turn with one agent ended that was cancelled in the middle of its call.
type cancelled struct {
	result report.Result
	// closed is how long after the cancel the server saw its connection end, and over how
	// long after the cancel the turn ended.
	closed, over time.Duration
}

// cancelInCall cancels a turn as soon as an event of the kind is told. The server gives its reply, and
// tells of each call on called.
func cancelInCall(t *testing.T, p protocol, server *backendtest.Server, backend backends.Backend, called <-chan struct{}, when string) (c cancelled) {
	t.Helper()
	panel, err := coordinator.New(coordinator.Options{
		Store: sessions.NewMemory(), Rules: kernel.Defaults(),
		Agents: []coordinator.Agent{{ID: "a", Model: p.model, Backend: backend}},
	})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := panel.Start(t.Context(), "s", "energy?")
	if err != nil {
		t.Fatal(err)
	}
	<-called
	for ev := range turn.Events(t.Context()) {
		if ev.Head().Kind == when {
			break
		}
	}
	begun := time.Now()
	turn.Cancel()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := server.AwaitIdle(ctx); err != nil {
		t.Fatalf("the server still answers: %v", err)
	}
	c.closed = time.Since(begun)
	if c.result, err = turn.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	c.over = time.Since(begun)
	return c
}

// TestCancelledCallsAreClosedAtOnce: within 100 ms, before the first byte of an answer and
// in the middle of one. The time is that of a bubble, where only waiting takes any; over
// the network the connection ends too, as soon as the machine comes to it.
func TestCancelledCallsAreClosedAtOnce(t *testing.T) {
	t.Parallel()
	type replies = func(backendtest.Call) backendtest.Reply
	const atOnce = 100 * time.Millisecond
	for name, c := range map[string]struct {
		reply backendtest.Reply
		when  string
	}{
		"before the first byte": {backendtest.Reply{Fault: backendtest.HangBefore}, "call_started"},
		"in mid-stream":         {backendtest.Reply{Text: "the first half, and the second half", Fault: backendtest.HangMidStream}, "text"},
	} {
		cancel := func(t *testing.T, p protocol, serve func(replies) (*backendtest.Server, backends.Backend)) cancelled {
			t.Helper()
			called := make(chan struct{}, 10)
			server, backend := serve(func(backendtest.Call) backendtest.Reply {
				called <- struct{}{}
				return c.reply
			})
			one := cancelInCall(t, p, server, backend, called, c.when)
			checkCancelled(t, one.result, c.reply.Text)
			return one
		}
		t.Run(name, func(t *testing.T) {
			perProtocol(t, func(t *testing.T, p protocol) {
				synctest.Test(t, func(t *testing.T) {
					one := cancel(t, p, func(reply replies) (*backendtest.Server, backends.Backend) {
						return p.serve(t, reply)
					})
					if one.closed > atOnce || one.over > atOnce {
						t.Errorf("closed %s after the cancel, the turn over after %s, and not within %s", one.closed, one.over, atOnce)
					}
				})
				for range 5 {
					cancel(t, p, func(reply replies) (*backendtest.Server, backends.Backend) {
						server := backendtest.NewProtocolServer(t, p.wire, reply)
						return server, p.connect(t, server.BaseURL, &http.Transport{})
					})
				}
			})
		})
	}
}

// checkCancelled looks for what had come: a beginning of the text, and never an answer.
func checkCancelled(t *testing.T, r report.Result, text string) {
	t.Helper()
	if r.Status != kernel.Cut || r.Winner != "" || r.Agents[0].State != kernel.ActCancelled {
		t.Errorf("status %s, winner %q, agents %+v", r.Status, r.Winner, r.Agents)
	}
	if text == "" {
		if len(r.Partials) > 0 {
			t.Errorf("something had come: %+v", r.Partials)
		}
		return
	}
	if len(r.Partials) != 1 || r.Partials[0].Reason != "cancelled" || r.Partials[0].Content == "" || !strings.HasPrefix(text, r.Partials[0].Content) {
		t.Errorf("what had come is %+v", r.Partials)
	}
}

// TestBegunAnswersAreKept: of a panel's answers, which are arguments of a tool, wherever
// these come in pieces. Google's come whole.
func TestBegunAnswersAreKept(t *testing.T) {
	t.Parallel()
	perProtocol(t, func(t *testing.T, p protocol) {
		_, backend := p.serve(t, func(backendtest.Call) backendtest.Reply {
			r := newAnswer("the first half, and the second half")
			r.Fault = backendtest.CutStream
			return r
		})
		opts := coordinator.Options{Store: sessions.NewMemory(), Rules: kernel.Defaults()}
		for _, id := range []string{"a", "b"} {
			opts.Agents = append(opts.Agents, coordinator.Agent{ID: id, Model: p.model, Backend: backend})
		}
		panel, err := coordinator.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := panel.Start(t.Context(), "s", "energy?")
		if err != nil {
			t.Fatal(err)
		}
		r, err := turn.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := 2
		if p.name == "gemini" {
			want = 0
		}
		if r.Status != kernel.AllFailed || len(r.Partials) != want {
			t.Fatalf("status %s, partials %+v", r.Status, r.Partials)
		}
		for _, partial := range r.Partials {
			if !strings.HasPrefix(partial.Content, "the first") || strings.Contains(partial.Content, "second half") || partial.Reason != "network" {
				t.Errorf("what had come is %+v", partial)
			}
		}
	})
}
