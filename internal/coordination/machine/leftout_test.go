package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/machine"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

func sized(bytes int) blob.Ref { return blob.Ref{SHA256: "x", Bytes: bytes} }

// TestLeftOutCountsWhatIsSent: the answers in the first input, what stands in a
// transcript, and of what is left out the newest answers.
func TestLeftOutCountsWhatIsSent(t *testing.T) {
	answers := func(bytes int) kernel.Offer { return kernel.Offer{Shown: []kernel.Answer{{Text: sized(bytes)}}} }
	older, newer := answers(400), answers(700)
	call := machine.ModelCall{
		Offer: answers(1000), Votes: []kernel.Vote{{Reason: "good"}},
		Transcript: []machine.Entry{
			{Kind: machine.Assistant, Text: sized(100)},
			{Kind: machine.Result, Text: sized(2000)},
			{Kind: machine.Result, Text: sized(3000), Update: &older},
			{Kind: machine.Assistant, Text: sized(50)},
			{Kind: machine.Reminder, Final: true},
			{Kind: machine.Assistant, Text: sized(60)},
			{Kind: machine.Result, Notice: &machine.Notice{Code: machine.ToolsWithdrawn}, Update: &newer},
			{Kind: machine.Assistant, Text: sized(70)},
			{Kind: machine.Result, JSON: true, Text: sized(80)},
			{Kind: machine.Result, JSON: true, Text: sized(90)},
		},
	}
	const all = 1004 + 100 + 2000 + 3000 + 700 + 50 + 300 + 60 + 300 + 1000 + 70 + 80 + 90
	for name, c := range map[string]struct {
		limits *policy.StepLimits
		want   machine.LeftOut
	}{
		"no limits":   {nil, machine.LeftOut{AllMessages: 9, Bytes: all}},
		"wide limits": {&policy.StepLimits{Kind: policy.Prune, Messages: 9, Keep: 1}, machine.LeftOut{AllMessages: 9, Bytes: all}},
		"room for all but the first": {&policy.StepLimits{Kind: policy.Full, Bytes: 1004 + 6000}, machine.LeftOut{
			Entries: 3, Messages: 1, Results: 2, NoRoom: true, Update: &older, AllMessages: 9, Bytes: all - 5100,
		}},
		"few messages": {&policy.StepLimits{Kind: policy.Prune, Messages: 8, Keep: 3}, machine.LeftOut{
			Entries: 7, Messages: 4, Results: 3, Update: &newer, Final: true, AllMessages: 9, Bytes: 1004 + 1000 + 70 + 80 + 90,
		}},
	} {
		if diff := cmp.Diff(c.want, call.LeftOut(c.limits)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNotesAreNeverLeftOut: those of all entries that are left out are told in their place,
// and reckoned with, beside the newest answers.
func TestNotesAreNeverLeftOut(t *testing.T) {
	one, two, three := sized(10), sized(20), sized(30)
	update := kernel.Offer{Shown: []kernel.Answer{{Text: sized(700)}}}
	call := machine.ModelCall{
		Notes: []blob.Ref{sized(5)},
		Transcript: []machine.Entry{
			{Kind: machine.Assistant, Text: sized(100)},
			{Kind: machine.Result, Text: sized(200), Notes: []blob.Ref{one, two}, Update: &update},
			{Kind: machine.Assistant, Text: sized(100)},
			{Kind: machine.Reminder, Notes: []blob.Ref{three}},
			{Kind: machine.Assistant, Text: sized(100)},
			{Kind: machine.Result, Text: sized(200)},
		},
	}
	if got := call.NotesTold(); got != 4 {
		t.Errorf("%d notes are told", got)
	}
	want := machine.LeftOut{
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
	call := machine.ModelCall{Transcript: []machine.Entry{
		{Kind: machine.Assistant, Text: sized(100), Notes: []blob.Ref{sized(10)}},
		{Kind: machine.Assistant, Text: sized(100), Notes: []blob.Ref{sized(20)}},
		{Kind: machine.Assistant, Text: sized(100), Update: &update},
		{Kind: machine.Assistant, Text: sized(100)},
		{Kind: machine.Assistant, Text: sized(100)},
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
	call := machine.ModelCall{Transcript: []machine.Entry{
		{Kind: machine.Assistant, Text: sized(100)},
		{Kind: machine.Result, Text: sized(200)},
		{Kind: machine.Assistant, Text: sized(100)},
		{Kind: machine.Result, Text: sized(200)},
	}}
	want := machine.LeftOut{Entries: 2, Messages: 1, Results: 1, AllMessages: 4, Bytes: 300}
	if diff := cmp.Diff(want, call.LeftOut(&policy.StepLimits{Kind: policy.Prune, Messages: 3, Keep: 1})); diff != "" {
		t.Errorf("what is left out (-want +got):\n%s", diff)
	}
}

// TestNothingIsLeftOutOfNothing, whatever the limits are.
func TestNothingIsLeftOutOfNothing(t *testing.T) {
	call := machine.ModelCall{Offer: kernel.Offer{Shown: []kernel.Answer{{Text: sized(1000)}}}}
	for _, limits := range []*policy.StepLimits{nil, {Kind: policy.Prune, Messages: 1, Keep: 1}, {Kind: policy.Full, Bytes: 1}} {
		if diff := cmp.Diff(machine.LeftOut{Bytes: 1000}, call.LeftOut(limits)); diff != "" {
			t.Errorf("limits %+v (-want +got):\n%s", limits, diff)
		}
	}
}

// TestSummaryChangesTheLimits: with another history beside it a step has other room.
func TestSummaryChangesTheLimits(t *testing.T) {
	before, after := &policy.StepLimits{Bytes: 1}, &policy.StepLimits{Bytes: 2}
	begun := machine.Turn{Agents: []machine.Agent{{Step: before}}}
	shown := []*policy.Selection{nil}
	if got := begun.Changed(machine.Change{Shown: shown, Steps: []*policy.StepLimits{after}}); got.Agents[0].Step != after {
		t.Errorf("the limits are %+v", got.Agents[0].Step)
	}
	if got := begun.Changed(machine.Change{Shown: shown}); got.Agents[0].Step != before || begun.Agents[0].Step != before {
		t.Errorf("without new ones the limits are %+v", got.Agents[0].Step)
	}
}
