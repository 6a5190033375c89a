package effect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

func sized(bytes int) blob.Ref { return blob.Ref{SHA256: "x", Bytes: bytes} }

// TestLeftOutCountsWhatIsSent: the answers in the first input, what stands in a
// transcript, and of what is left out the newest answers.
func TestLeftOutCountsWhatIsSent(t *testing.T) {
	answers := func(bytes int) kernel.Offer { return kernel.Offer{Shown: []kernel.Answer{{Text: sized(bytes)}}} }
	older, newer := answers(400), answers(700)
	call := effect.ModelCall{
		Offer: answers(1000), Votes: []kernel.Vote{{Reason: "good"}},
		Transcript: []effect.Entry{
			{Kind: effect.Assistant, Text: sized(100)},
			{Kind: effect.Result, Text: sized(2000)},
			{Kind: effect.Result, Text: sized(3000), Update: &older},
			{Kind: effect.Assistant, Text: sized(50)},
			{Kind: effect.Reminder, Final: true},
			{Kind: effect.Assistant, Text: sized(60)},
			{Kind: effect.Result, Notice: &effect.Notice{Code: effect.ToolsWithdrawn}, Update: &newer},
			{Kind: effect.Assistant, Text: sized(70)},
			{Kind: effect.Result, JSON: true, Text: sized(80)},
			{Kind: effect.Result, JSON: true, Text: sized(90)},
		},
	}
	const all = 1004 + 100 + 2000 + 3000 + 700 + 50 + 300 + 60 + 300 + 1000 + 70 + 80 + 90
	for name, c := range map[string]struct {
		limits *policy.StepLimits
		want   effect.LeftOut
	}{
		"no limits":   {nil, effect.LeftOut{AllMessages: 9, Bytes: all}},
		"wide limits": {&policy.StepLimits{Kind: policy.Prune, Messages: 9, Keep: 1}, effect.LeftOut{AllMessages: 9, Bytes: all}},
		"room for all but the first": {&policy.StepLimits{Kind: policy.Full, Bytes: 1004 + 6000}, effect.LeftOut{
			Entries: 3, Messages: 1, Results: 2, NoRoom: true, Update: &older, AllMessages: 9, Bytes: all - 5100,
		}},
		"few messages": {&policy.StepLimits{Kind: policy.Prune, Messages: 8, Keep: 3}, effect.LeftOut{
			Entries: 7, Messages: 4, Results: 3, Update: &newer, Final: true, AllMessages: 9, Bytes: 1004 + 1000 + 70 + 80 + 90,
		}},
	} {
		if diff := cmp.Diff(c.want, call.LeftOut(c.limits)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLastTurnIsToldAgain: the message about it is no message of the step, and stands in the place of what is
// left out with it.
func TestLastTurnIsToldAgain(t *testing.T) {
	call := effect.ModelCall{Transcript: []effect.Entry{
		{Kind: effect.FinalTurn},
		{Kind: effect.Assistant, Text: sized(100)},
		{Kind: effect.Result, Text: sized(200)},
		{Kind: effect.FinalTurn},
		{Kind: effect.Assistant, Text: sized(100)},
		{Kind: effect.Reminder},
	}}
	want := effect.LeftOut{Entries: 4, Messages: 1, Results: 1, Final: true, AllMessages: 4, Bytes: 400}
	if diff := cmp.Diff(want, call.LeftOut(&policy.StepLimits{Kind: policy.Prune, Messages: 3, Keep: 2})); diff != "" {
		t.Errorf("what is left out (-want +got):\n%s", diff)
	}
	if left := call.LeftOut(nil); left.AllMessages != 4 || left.Final {
		t.Errorf("without limits: %+v", left)
	}
}

// TestNotesAreNeverLeftOut: those of all entries that are left out are told in their place,
// and reckoned with, beside the newest answers.
func TestNotesAreNeverLeftOut(t *testing.T) {
	one, two, three := sized(10), sized(20), sized(30)
	update := kernel.Offer{Shown: []kernel.Answer{{Text: sized(700)}}}
	call := effect.ModelCall{
		Notes: []blob.Ref{sized(5)},
		Transcript: []effect.Entry{
			{Kind: effect.Assistant, Text: sized(100)},
			{Kind: effect.Result, Text: sized(200), Notes: []blob.Ref{one, two}, Update: &update},
			{Kind: effect.Assistant, Text: sized(100)},
			{Kind: effect.Reminder, Notes: []blob.Ref{three}},
			{Kind: effect.Assistant, Text: sized(100)},
			{Kind: effect.Result, Text: sized(200)},
		},
	}
	if got := call.NotesTold(); got != 4 {
		t.Errorf("%d notes are told", got)
	}
	want := effect.LeftOut{
		Entries: 4, Messages: 3, Results: 1, Update: &update, Notes: []blob.Ref{one, two, three}, AllMessages: 6,
		Bytes: 65 + 1000 + 70 + 80 + 90 + 300,
	}
	if diff := cmp.Diff(want, call.LeftOut(&policy.StepLimits{Kind: policy.Prune, Messages: 3, Keep: 2})); diff != "" {
		t.Errorf("what is left out (-want +got):\n%s", diff)
	}
}

// TestCarriedIsWhatIsToldAgain: of entries that are left out one after the other, the newest
// answers and all notes count, and nothing for entries that have neither.
func TestCarriedIsWhatIsToldAgain(t *testing.T) {
	update := kernel.Offer{Shown: []kernel.Answer{{Text: sized(700)}}}
	call := effect.ModelCall{Transcript: []effect.Entry{
		{Kind: effect.Assistant, Text: sized(100), Notes: []blob.Ref{sized(10)}},
		{Kind: effect.Assistant, Text: sized(100), Notes: []blob.Ref{sized(20)}},
		{Kind: effect.Assistant, Text: sized(100), Update: &update},
		{Kind: effect.Assistant, Text: sized(100)},
		{Kind: effect.Assistant, Text: sized(100)},
	}}
	for keep, want := range map[int]int{
		1: 100 + 1000 + 70 + 80, // all of it is told again
		2: 200 + 1000 + 70 + 80,
		3: 300 + 1000 + 70 + 80, // the answers in their place
		4: 400 + 1000 + 80 + 70,
	} {
		if got := call.LeftOut(&policy.StepLimits{Kind: policy.Prune, Messages: 4, Keep: keep}).Bytes; got != want {
			t.Errorf("%d entries of 5 are kept: %d bytes, want %d", keep, got, want)
		}
	}
}

// TestResultsStayWithTheirCall: the newest message of the model is sent with all that came back
// to it, however many messages are kept.
func TestResultsStayWithTheirCall(t *testing.T) {
	call := effect.ModelCall{Transcript: []effect.Entry{
		{Kind: effect.Assistant, Text: sized(100)},
		{Kind: effect.Result, Text: sized(200)},
		{Kind: effect.Assistant, Text: sized(100)},
		{Kind: effect.Result, Text: sized(200)},
	}}
	want := effect.LeftOut{Entries: 2, Messages: 1, Results: 1, AllMessages: 4, Bytes: 300}
	if diff := cmp.Diff(want, call.LeftOut(&policy.StepLimits{Kind: policy.Prune, Messages: 3, Keep: 1})); diff != "" {
		t.Errorf("what is left out (-want +got):\n%s", diff)
	}
}

// TestNothingIsLeftOutOfNothing, whatever the limits are.
func TestNothingIsLeftOutOfNothing(t *testing.T) {
	call := effect.ModelCall{Offer: kernel.Offer{Shown: []kernel.Answer{{Text: sized(1000)}}}}
	for _, limits := range []*policy.StepLimits{nil, {Kind: policy.Prune, Messages: 1, Keep: 1}, {Kind: policy.Full, Bytes: 1}} {
		if diff := cmp.Diff(effect.LeftOut{Bytes: 1000}, call.LeftOut(limits)); diff != "" {
			t.Errorf("limits %+v (-want +got):\n%s", limits, diff)
		}
	}
}

// TestSummaryChangesTheLimits: with another history beside it a step has other room.
func TestSummaryChangesTheLimits(t *testing.T) {
	before, after := &policy.StepLimits{Bytes: 1}, &policy.StepLimits{Bytes: 2}
	begun := effect.Turn{Agents: []effect.Agent{{Step: before}}}
	shown := []*policy.Selection{nil}
	if got := begun.Changed(effect.Change{Shown: shown, Steps: []*policy.StepLimits{after}}); got.Agents[0].Step != after {
		t.Errorf("the limits are %+v", got.Agents[0].Step)
	}
	if got := begun.Changed(effect.Change{Shown: shown}); got.Agents[0].Step != before || begun.Agents[0].Step != before {
		t.Errorf("without new ones the limits are %+v", got.Agents[0].Step)
	}
}
