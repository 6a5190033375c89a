package providers

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
)

// TestAgentsOfModels have ids that people know the models by, and that are ids.
func TestAgentsOfModels(t *testing.T) {
	long := strings.Repeat("m", 100)
	names := []string{"gpt-5-mini", "claude/claude-opus-5", " gemini ", "openrouter/openai/gpt-5-mini", "ollama/qwen3:8b", "***", "***", long, long, "agent6"}
	want := []string{"gpt-5-mini", "claude-opus-5", "gemini", "gpt-5-mini-2", "qwen3-8b", "agent6", "agent7", long[:50], long[:50] + "-2", "agent6-2"}
	for i, a := range AgentsOf(names) {
		if err := configs.CheckID(a.ID); a.ID != want[i] || err != nil {
			t.Errorf("%s is %s, want %s: %v", names[i], a.ID, want[i], err)
		}
	}
	if b := AgentsOf(names)[3].Backend; b.Type != "openrouter" || b.Model != "openai/gpt-5-mini" {
		t.Errorf("%+v", b)
	}
}
