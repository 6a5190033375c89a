package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
)

// TestMistralGetsItsOrderOfRoles: a user's message behind another one, or behind a result, stands at its end.
func TestMistralGetsItsOrderOfRoles(t *testing.T) {
	result := func(text string, files ...backends.File) backends.Message {
		return backends.Message{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "a", Content: text, Files: files}}}
	}
	called := backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{backends.ToolCall{ID: "a", Name: "f", Arguments: "{}"}}}
	image := backends.File{Data: []byte("x")}
	given := []backends.Message{
		backends.System("s"), backends.User("a"), backends.User("b"), called, result("found"), backends.User("last"),
		backends.Assistant("x"), backends.User("c"), called, result("seen", image), backends.User("d"),
	}
	folded := []backends.Message{
		backends.System("s"), backends.User("a\n\nb"), called, result("found\n\nlast"),
		backends.Assistant("x"), backends.User("c"), called, result("seen", image), backends.User("d"),
	}
	for model, want := range map[string][]backends.Message{
		"mistralai/Devstral-Small-2-24B-Instruct-2512": folded, "ministral-3:8b": folded, "mixtral": folded, "gpt-4o": given, "qwen3": given,
	} {
		if diff := cmp.Diff(want, encoder{model: model}.alternating(given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
	if diff := cmp.Diff(folded, encoder{model: "m", dialect: Dialect{NineLetterIDs: true}}.alternating(given)); diff != "" {
		t.Errorf("the dialect of Mistral (-want +got):\n%s", diff)
	}
}
