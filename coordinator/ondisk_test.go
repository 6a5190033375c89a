package coordinator

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/sessions/sqlite"
)

func openStore(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestConversationGoesOnFromDisk opens the store anew for each question. Each
// turn's inputs can be built again when all are over.
func TestConversationGoesOnFromDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	recorder := debugbackend.NewRecorder(debugbackend.Options{})
	script, err := debugbackend.ParseScript([]byte("rules:\n  - {when: {}, reply: {text: \"on {{.Question}}\"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, question := range []string{"rain", "snow", "hail"} {
		store := openStore(t, path)
		p, err := New(Options{Store: store, Agents: []Agent{{ID: "a", Backend: recorder.Wrap(debugbackend.NewScripted(script))}}})
		if err != nil {
			t.Fatal(err)
		}
		if r := wait(t, start(t, p, question)); r.Turn != i+1 {
			t.Errorf("turn %d, want %d", r.Turn, i+1)
		}
		p.Wait()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	calls := recorder.Calls()
	var said []string
	for _, m := range calls[len(calls)-1].Request.Messages {
		said = append(said, string(m.Role)+": "+m.Parts[0].(backends.Text).Text)
	}
	want := []string{"user: rain", "assistant: on rain", "user: snow", "assistant: on snow", "user: hail"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the last turn was sent (-want +got):\n%s", diff)
	}
	store, inputs := openStore(t, path), map[string]string{}
	for number := 1; number <= 3; number++ {
		_, again := replay(t, store, "s", number)
		for key, input := range again {
			inputs[key] = input
		}
	}
	if diff := cmp.Diff(recordedInputs(t, recorder), inputs); diff != "" {
		t.Errorf("the inputs that are built again differ (-sent +built):\n%s", diff)
	}
}
