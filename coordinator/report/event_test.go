package report_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/policy"
)

// TestSessionEventsAsJSON holds the fields to those of seed 000.
func TestSessionEventsAsJSON(t *testing.T) {
	cost := 0.5
	for want, ev := range map[string]report.Event{
		`{"at":"0001-01-01T00:00:00Z","kind":"session_updated","session":{"session_id":"s","message_count":6,` +
			`"usage_total":{"calls":7,"input_tokens":100,"output_tokens":20,"cached_input_tokens":10,"reasoning_tokens":8,"unknown_calls":1,"cost_usd":0.5}}}`: report.SessionUpdated{
			Session: report.SessionUpdate{SessionID: "s", MessageCount: 6, UsageTotal: budget.Usage{
				Calls: 7, InputTokens: 100, OutputTokens: 20, CachedInputTokens: 10, ReasoningTokens: 8, UnknownCalls: 1, CostUSD: &cost,
			}},
		},
		`{"at":"0001-01-01T00:00:00Z","kind":"context_warning","agent":"a",` +
			`"context":{"session_id":"s","message_count":6,"estimated_tokens":900,"warning":"approaching_limit"}}`: report.ContextWarned{
			Actor:   report.Actor{Agent: "a"},
			Context: report.ContextWarning{SessionID: "s", MessageCount: 6, EstimatedTokens: 900, Warning: policy.ApproachingLimit},
		},
	} {
		data, err := json.Marshal(report.Stamp(ev, time.Time{}, false))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(data)); diff != "" {
			t.Error(diff)
		}
	}
}
