package app

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

func TestNoMessageShowsMoreThanThePlace(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := io.WriteString(w, `{"data":[]}`); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	address := strings.Replace(s.URL, "http://", "http://name:CANARY@", 1) + "/v1?sig=CANARY"
	var log bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	r := &resolver{
		env: Env{Lookup: none, LocalServers: map[string]string{"vllm": address}}, lookup: none,
		log:     slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		secrets: &configs.Secrets{}, open: map[connection]backends.Backend{},
	}
	_, err := r.resolve(t.Context(), configs.Backend{Type: "ollama", BaseURL: address})
	if want := "Ollama at " + s.URL + "/v1 lists no model: load one, or name it with model"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.Close()
	r.localServers(t.Context())
	if strings.Contains(log.String(), "CANARY") || !strings.Contains(log.String(), "base_url="+s.URL+"/v1") {
		t.Errorf("logged %s", &log)
	}
}

func TestNamesOfModelsPlayNoTricks(t *testing.T) {
	m := reached{provider: provider{name: "ollama"}, model: "evil\x1b]0;title\a\u202e\u2028\nforged"}
	if got, want := m.name(), "ollama evil ]0;title    forged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
