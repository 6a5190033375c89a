package providers

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/retry"
)

// TestSharedLimits: what keeps limits for many is asked once for each account that has
// some, by a name that has no key in it.
func TestSharedLimits(t *testing.T) {
	config := configs.Default()
	config.Providers = map[string]configs.Provider{"openai": {RequestsPerMinute: 7, TokensPerMinute: 100, MaxConcurrentCalls: 2}}
	asked := map[string]int{}
	shared := func(account string, l retry.Limits) retry.Limiter {
		asked[account]++
		if l != (retry.Limits{Concurrent: 2, RequestsPerMinute: 7, TokensPerMinute: 100}) {
			t.Errorf("limits %+v", l)
		}
		return retry.NewLimiter(l)
	}
	r, err := New(Settings{Config: config}, nil, shared)
	if err != nil {
		t.Fatal(err)
	}
	const key = "sk-canary-1234567890"
	for _, c := range []connection{
		{provider: "openai", key: key, model: "one"}, {provider: "openai", key: key, model: "two"},
		{provider: "openai", key: "sk-another-1234567890"}, {provider: "openai", key: key, baseURL: "https://example.com"},
		{provider: "claude", key: key},
	} {
		r.gate(c)
	}
	if len(asked) != 3 {
		t.Errorf("asked for %v", asked)
	}
	for account, n := range asked {
		if n != 1 || strings.Contains(account, "canary") || len(account) != 64 {
			t.Errorf("asked %d times for %q", n, account)
		}
	}
}

// TestModelsOfAnAccountShareConnections: one is enough for calls that follow each other.
func TestModelsOfAnAccountShareConnections(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the call fails if this does
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	world := World{Environment: func(string) (string, bool) { return "", false }, Lookup: func(string) (string, bool) { return "", false }}
	r, err := New(Settings{World: world, Config: configs.Default(), Log: slog.New(slog.DiscardHandler), Secrets: &configs.Secrets{}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		m, faults := r.Resolve(t.Context(), configs.Backend{Type: anyType, Model: fmt.Sprint("model", i), BaseURL: server.URL + "/v1"})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		if _, err := backends.Collect(m.Backend.Stream(t.Context(), backends.Request{Model: m.Name, Messages: []backends.Message{backends.User("hello")}}), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("ten models of an account took %d connections one after the other", n)
	}
}
