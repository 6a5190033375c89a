package providers

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
)

func resolverFor(t *testing.T, config *configs.Config, world World, record *debugbackend.Recorder) *Resolver {
	t.Helper()
	r, err := New(Settings{World: world, Config: config, Log: slog.New(slog.DiscardHandler), Secrets: &configs.Secrets{}}, record, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestSilentServerIsGivenUp once it has had its time.
func TestSilentServerIsGivenUp(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	none := func(string) (string, bool) { return "", false }
	r := resolverFor(t, configs.Default(), World{Environment: none, Lookup: none, LocalServers: map[string]string{"vllm": s.URL + "/v1"}}, nil)
	begun := time.Now()
	asked := r.askLocal(t.Context())
	if len(asked) != 1 || asked[0].err == nil || time.Since(begun) < probeTime {
		t.Errorf("after %s: %+v", time.Since(begun), asked)
	}
}

func TestAutoIsDecidedOnce(t *testing.T) {
	var lists atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lists.Add(1)
		if _, err := io.WriteString(w, `{"data":[{"id":"m"}]}`); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	none := func(string) (string, bool) { return "", false }
	r := resolverFor(t, configs.Default(), World{
		Environment: none, Lookup: none, LocalServers: map[string]string{"vllm": s.URL + "/v1"}, Slack: time.Minute,
	}, nil)
	for range 3 {
		got, err := r.model(t.Context(), configs.Backend{Type: Auto})
		if err != nil || got.Provider != "vllm" || got.Name != "m" {
			t.Fatalf("%s, %v", got, err)
		}
	}
	if lists.Load() != 1 || len(r.open) != 1 {
		t.Errorf("the models were listed %d times, and %d backends made, for three agents", lists.Load(), len(r.open))
	}
}

// TestNameOfAModel: a service may list anything, and only what a request can name is a model.
func TestNameOfAModel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"qwen3:8b": true, "accounts/fireworks/models/gpt-oss-120b": true, "my model.gguf": true,
		"": false, "a\x1b[31m": false, "a\nb": false, strings.Repeat("x", 5000): false,
	} {
		if got := isName(name); got != want {
			t.Errorf("isName(%q) = %v", name, got)
		}
	}
}

// TestRefusedListNamesTheKey: the cure of a refused key says where that key is.
func TestRefusedListNamesTheKey(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(server.Close)
	environment := map[string]string{"OPENAI_API_KEY": "sk-0123456789", "OPENAI_BASE_URL": server.URL}
	lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	_, faults, err := resolverFor(t, configs.Default(), World{Environment: lookup, Lookup: lookup, Slack: time.Minute}, nil).Models(t.Context(), openAIType)
	if got := strings.Join(faults, "\n"); err != nil || !strings.HasSuffix(got, ": check the key in OPENAI_API_KEY") {
		t.Errorf("%q, %v", got, err)
	}
}
