package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// noWorker is an engine's reason why no worker plays a turn.
type noWorker struct{}

func (noWorker) Error() string { return "no worker listens to the queue massgen at 10.0.0.7:7233" }

func (noWorker) Is(target error) bool { return target == coordinator.ErrNoWorker }

// TestPassingFailuresAskForAnotherTry: the client learns that another try makes sense, and nothing of the machines. An
// operator sees the reason in the log, once for each request, and the number of requests in the metrics.
func TestPassingFailuresAskForAnotherTry(t *testing.T) {
	var log bytes.Buffer
	failing := func(err error) func(context.Context) (*massgen.Panel, error) {
		return func(context.Context) (*massgen.Panel, error) { return nil, err }
	}
	s := serve(t, func(s *server.Settings) {
		s.Models = []server.Model{
			{ID: "away", Open: failing(fmt.Errorf("begin a turn: %w", sessions.Away(errors.New("dial tcp 10.0.0.7:5432: connection refused"))))},
			{ID: "idle", Open: failing(fmt.Errorf("begin a turn: %w", noWorker{}))},
			{ID: "broken", Open: failing(errors.New("10.0.0.7 is broken"))},
		}
		s.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	for _, c := range []struct {
		model, code, says string
		status            int
	}{
		{"away", "unavailable", "try again later", http.StatusServiceUnavailable},
		{"idle", "no_worker", "no worker plays turns of this model now: try again later", http.StatusServiceUnavailable},
		{"broken", "internal_error", "its log says why", http.StatusInternalServerError},
	} {
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":%q,"messages":[{"role":"user","content":"?"}]}`,
			"/v1/responses":        `{"model":%q,"input":"?","stream":true}`,
			"/sessions/s/turns":    `{"model":%q,"question":"?"}`,
		} {
			log.Reset()
			r := s.send(t, http.MethodPost, path, fmt.Sprintf(body, c.model))
			refused(t, c.model, r, c.status, c.code)
			if wants := c.status == http.StatusServiceUnavailable; (r.header.Get("Retry-After") != "") != wants || !strings.Contains(r.body, c.says) {
				t.Errorf("%s %s: Retry-After %q: %s", c.model, path, r.header.Get("Retry-After"), r.body)
			}
			if strings.Contains(r.body, "10.0.0.7") || strings.Count(log.String(), "a request failed") != 1 || !strings.Contains(log.String(), "10.0.0.7") {
				t.Errorf("%s %s: %s\nthe log: %s", c.model, path, r.body, log.String())
			}
		}
	}
	shown := s.send(t, http.MethodGet, "/metrics", "").body
	for _, code := range []string{"unavailable", "no_worker"} {
		if want := fmt.Sprintf("massgen_requests_refused_total{code=%q} 3\n", code); !strings.Contains(shown, want) {
			t.Errorf("no %s in %s", want, shown)
		}
	}
}
