package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestAnswerDoesNotWaitForFacts on any route. The next question in the session waits for the call, which the end of the
// first request does not cancel.
func TestAnswerDoesNotWaitForFacts(t *testing.T) {
	const session = "Dan|app_1"
	for path, body := range map[string]string{
		"/v1/chat/completions":                            `{"model":"one","conversation":"Dan|app_1","messages":[{"role":"user","content":"?"}]}`,
		"/v1/chat/completions?stream":                     `{"model":"one","stream":true,"conversation":"Dan|app_1","messages":[{"role":"user","content":"?"}]}`,
		"/v1/responses":                                   `{"model":"one","conversation":"Dan|app_1","input":"?"}`,
		"/v1/responses?stream":                            `{"model":"one","stream":true,"conversation":"Dan|app_1","input":"?"}`,
		"/sessions/" + url.PathEscape(session) + "/turns": `{"model":"one","question":"?"}`,
	} {
		answered := make(chan struct{})
		var isLate atomic.Bool
		models := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
			tools := c.Request().Tools
			if len(tools) == 0 {
				return backendtest.Reply{Text: "The sun."}
			}
			select {
			case <-answered:
			case <-time.After(20 * time.Second): // the answer waits for this call
				isLate.Store(true)
			}
			return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: tools[0].Name, Arguments: `{"facts":["The user lives in London."]}`}}}
		})
		config := filepath.Join(t.TempDir(), "one.yaml")
		text := fmt.Sprintf("agents:\n  - {id: ada, backend: {type: chatcompletion, base_url: %q, model: m}}\nmemory: {extract: true}\n", models.BaseURL)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := serve(t, func(s *server.Settings) {
			kept := s.Store
			s.Models = []server.Model{{ID: "one", Open: func(ctx context.Context) (*massgen.Panel, error) {
				return massgen.Load(ctx, config, massgen.WithStore(kept))
			}}}
		})
		if r := s.send(t, http.MethodPost, path, body); r.status != http.StatusOK || !strings.Contains(r.body, "sun.") {
			t.Fatalf("%s: status %d: %s", path, r.status, r.body)
		}
		next := make(chan reply, 1)
		go func() { next <- s.send(t, http.MethodPost, path, body) }()
		close(answered)
		if r := <-next; r.status != http.StatusOK {
			t.Errorf("%s: the next question has status %d: %s", path, r.status, r.body)
		}
		if isLate.Load() {
			t.Errorf("%s: the answer waited for the call for facts", path)
		}
		if r := s.send(t, http.MethodGet, "/debug/session/"+url.PathEscape(session), ""); !strings.Contains(r.body, "lives in London") {
			t.Errorf("%s: the facts are lost: %s", path, r.body)
		}
	}
}
