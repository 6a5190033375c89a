package backends_test

import (
	"testing"

	"github.com/massgen/massgen/backends"
)

// TestEndings has words of each protocol, in the forms in which services write them.
func TestEndings(t *testing.T) {
	for word, want := range map[string]backends.Ending{
		"": backends.EndedWhole, "stop": backends.EndedWhole, "STOP": backends.EndedWhole, "end_turn": backends.EndedWhole,
		"tool-calls": backends.EndedWhole, "FINISH_REASON_STOP": backends.EndedWhole, "completed": backends.EndedWhole,
		"length": backends.EndedAtLimit, "MAX_TOKENS": backends.EndedAtLimit, "maxTokens": backends.EndedAtLimit, "max_output_tokens": backends.EndedAtLimit,
		"abort": backends.EndedCut, "model_context_window_exceeded": backends.EndedCut, "incomplete: odd": backends.EndedCut, "incomplete: stop": backends.EndedCut,
		"CANCELLED": backends.EndedCut, backends.RepetitionReason: backends.EndedCut,
		"content_filter": backends.EndedWithheld, "SAFETY": backends.EndedWithheld, "sensitive": backends.EndedWithheld, "guardrail_intervened": backends.EndedWithheld,
		"error": backends.EndedFailed, "timeout": backends.EndedFailed, "network_error": backends.EndedFailed, "insufficient_system_resource": backends.EndedFailed,
		"brand_new": backends.EndedUnknown, "pause_turn": backends.EndedUnknown,
	} {
		if got := backends.EndingOf(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}
