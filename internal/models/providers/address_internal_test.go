package providers

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
	r, err := New(Settings{
		World:   World{Environment: none, Lookup: none, LocalServers: map[string]string{"vllm": address}, Slack: time.Minute},
		Log:     slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Secrets: &configs.Secrets{}, Config: configs.Default(),
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.model(t.Context(), configs.Backend{Type: "ollama", BaseURL: address})
	if want := "Ollama at " + s.URL + "/v1 lists no model: load one, or name it with model"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.Close()
	r.askLocal(t.Context())
	if strings.Contains(log.String(), "CANARY") || !strings.Contains(log.String(), "base_url="+s.URL+"/v1") {
		t.Errorf("logged %s", &log)
	}
}

func TestNamesOfModelsPlayNoTricks(t *testing.T) {
	m := Model{Provider: "ollama", Name: "evil\x1b]0;title\a\u202e\u2028\nforged"}
	if got, want := m.String(), "ollama evil ]0;title    forged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorsOfServicesNameTheCure(t *testing.T) {
	c := connection{baseURL: "http://name:CANARY@host/v1?sig=CANARY", model: "m"}
	for want, e := range map[string]backends.Error{
		"http://host/v1 sends elsewhere: set base_url to where that is":     {Kind: backends.KindBadRequest, Status: 307},
		"wait, or look at what your plan at http://host/v1 allows":          {Kind: backends.KindRateLimit, Status: 429},
		"the fault is at http://host/v1: try again later, or another model": {Kind: backends.KindOverloaded, Status: 500},
		"is the model m right, and base_url http://host/v1?":                {Kind: backends.KindBadRequest, Status: 404},
	} {
		e.Message = "message"
		if err := withHint(provider{}, c, "", &e); !strings.HasSuffix(err.Error(), ": message: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
