package coordinator

import (
	"path/filepath"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/sessions/sqlite"
)

func TestConversationGoesOnFromDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	recorder := debugbackend.NewRecorder(debugbackend.Options{})
	ask := func(question string) Result {
		t.Helper()
		store, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}()
		script, err := debugbackend.ParseScript([]byte("rules:\n  - {when: {}, reply: {text: \"on {{.Question}}\"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(Options{Store: store, Agents: []Agent{{ID: "a", Backend: recorder.Wrap(debugbackend.NewScripted(script))}}})
		if err != nil {
			t.Fatal(err)
		}
		return wait(t, start(t, p, question))
	}
	first, second := ask("rain"), ask("snow")
	if first.Turn != 1 || second.Turn != 2 {
		t.Errorf("turns %d and %d", first.Turn, second.Turn)
	}
	calls := recorder.Calls()
	var said []string
	for _, m := range calls[len(calls)-1].Request.Messages {
		said = append(said, string(m.Role)+": "+m.Parts[0].(backends.Text).Text)
	}
	want := []string{"user: rain", "assistant: on rain", "user: snow"}
	if len(said) != 3 || said[0] != want[0] || said[1] != want[1] || said[2] != want[2] {
		t.Errorf("the second turn was sent %q, want %q", said, want)
	}
}
