package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestTelemetryOfARun of the real program: a panel of two, whose question is not sent.
func TestTelemetryOfARun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	sent := map[string]string{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		sent[r.URL.Path] += string(data)
	}))
	t.Cleanup(collector.Close)
	dir := t.TempDir()
	config := filepath.Join(dir, "pair.yaml")
	if err := os.WriteFile(config, []byte("agents: [{id: ada, backend: {type: demo}}, {id: bob, backend: {type: demo}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "massgen", "--config", config, "a private question")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "STATUS="+filepath.Join(dir, "status"),
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "GORACE=atexit_sleep_ms=10")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{`"name":"invoke_workflow massgen"`, `"name":"invoke_agent ada"`, `"name":"invoke_agent bob"`, `"name":"chat`} {
		if !strings.Contains(sent["/v1/traces"], name) {
			t.Errorf("no span has %s: %s", name, sent["/v1/traces"])
		}
	}
	for _, name := range []string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage"} {
		if !strings.Contains(sent["/v1/metrics"], name) {
			t.Errorf("there is no metric %s: %s", name, sent["/v1/metrics"])
		}
	}
	for path, text := range sent {
		if strings.Contains(text, "a private question") {
			t.Errorf("%s was sent the question", path)
		}
	}
}
