package finish_test

import (
	"testing"

	"github.com/massgen/massgen/internal/models/finish"
)

// TestEndings has words of each protocol, in the forms in which services write them.
func TestEndings(t *testing.T) {
	for word, want := range map[string]finish.Ending{
		"": finish.Whole, "stop": finish.Whole, "STOP": finish.Whole, "end_turn": finish.Whole,
		"tool-calls": finish.Whole, "FINISH_REASON_STOP": finish.Whole, "completed": finish.Whole,
		"length": finish.AtLimit, "MAX_TOKENS": finish.AtLimit, "maxTokens": finish.AtLimit, "max_output_tokens": finish.AtLimit,
		"abort": finish.Cut, "model_context_window_exceeded": finish.Cut, "incomplete: odd": finish.Cut, "incomplete: stop": finish.Cut,
		"CANCELLED": finish.Cut, finish.Repetition: finish.Cut,
		"content_filter": finish.Withheld, "SAFETY": finish.Withheld, "sensitive": finish.Withheld, "guardrail_intervened": finish.Withheld,
		"error": finish.Failed, "timeout": finish.Failed, "network_error": finish.Failed, "insufficient_system_resource": finish.Failed,
		"brand_new": finish.Unknown, "pause_turn": finish.Unknown,
	} {
		if got := finish.Of(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}

// TestWarning checks the sentences for people.
func TestWarning(t *testing.T) {
	for want, got := range map[string]string{
		"it was cut (abort): what it says may be incomplete":                           finish.Warning("it", "abort", true),
		"it ended with a word that is not known (odd): what it says may be incomplete": finish.Warning("it", "odd", false),
		"it was ended because it only repeated itself: what it says may be incomplete": finish.Warning("it", finish.Repetition, true),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
