package server_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/tests/leaks"
)

// TestEntranceAnswersBeforeTheServer: a supervisor sees that the process runs, and clients are asked to come back. The
// server then has the same port.
func TestEntranceAnswersBeforeTheServer(t *testing.T) {
	leaks.Check(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	log := slog.New(slog.DiscardHandler)
	e := server.NewEntrance(l, log)
	get := func(path string) reply {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		return send(t, request)
	}
	e.Awaits("the database")
	if r := get("/healthz"); r.status != http.StatusOK || r.body != "ok\n" {
		t.Errorf("/healthz: %d %q", r.status, r.body)
	}
	if r := get("/readyz"); r.status != http.StatusServiceUnavailable || r.body != "the server has not started yet: it waits for the database\n" {
		t.Errorf("/readyz: %d %q", r.status, r.body)
	}
	r := get("/v1/models")
	refused(t, "/v1/models", r, http.StatusServiceUnavailable, "unavailable")
	if r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "waits for the database: try again later") {
		t.Errorf("/v1/models: Retry-After %q: %s", r.header.Get("Retry-After"), r.body)
	}
	same := func(text string) string { return text }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := server.New(server.Settings{Store: store.InMemory("", same).Sessions, Redact: same, Log: log})
	go func() { ended <- s.ServeAt(ctx, e) }()
	for get("/v1/models").status != http.StatusOK {
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
