package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// drawStep draws the transcript of a step: messages with calls and without, refusals,
// reminders and updates, and from some place on JSON objects in place of calls.
func (w *world) drawStep(t *rapid.T) []effect.Entry {
	var entries []effect.Entry
	json := false
	for unit := range rapid.IntRange(0, 12).Draw(t, "units") {
		json = json || rapid.IntRange(0, 9).Draw(t, "json") == 0
		var calls []backends.ToolCall
		for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
			calls = append(calls, backends.ToolCall{ID: fmt.Sprintf("%d.%d", unit, i), Name: "search", Arguments: `{}`})
		}
		asked := calls
		if json {
			asked = nil
		}
		entries = append(entries, w.message(rapid.SampledFrom([]string{"I look.", "So it is, says " + strings.Repeat("x", 200)}).Draw(t, "text"), asked...))
		for _, c := range calls {
			entry := effect.Entry{Kind: effect.Result, CallID: c.ID, Name: c.Name, JSON: json}
			if rapid.Bool().Draw(t, "refused") {
				entry.Notice = &effect.Notice{Code: effect.ToolsWithdrawn, Detail: "search"}
			} else {
				entry.Text = w.put(fmt.Sprintf("result %s %s", c.ID, strings.Repeat("y", rapid.IntRange(0, 400).Draw(t, "size"))))
			}
			entries = append(entries, entry)
		}
		last := &entries[len(entries)-1]
		if len(calls) == 0 {
			entries = append(entries, effect.Entry{Kind: effect.Reminder, JSON: json, MayAnswer: true, MayVote: true})
		} else if rapid.IntRange(0, 3).Draw(t, "update") == 0 {
			last.Update = &kernel.Offer{Set: unit + 2, Shown: w.answers(researcher, analyst), MayAnswer: true}
		}
		if rapid.IntRange(0, 3).Draw(t, "noted") == 0 {
			entries[len(entries)-1].Notes = []blob.Ref{w.put(fmt.Sprint("note ", unit))}
		}
	}
	return entries
}

func drawLimits(t *rapid.T) *policy.StepLimits {
	s := policy.Defaults()
	s.Kind = rapid.SampledFrom([]policy.Kind{policy.Full, policy.Window, policy.Prune, policy.Summarize}).Draw(t, "policy")
	s.MaxMessages = rapid.IntRange(0, 12).Draw(t, "max")
	s.KeepRecent = rapid.IntRange(0, s.MaxMessages).Draw(t, "keep")
	l := s.StepLimits(rapid.SampledFrom([]int{0, 200, 600, 1200}).Draw(t, "window"), 50, 50, 3)
	return &l
}

// TestShortenedInputsAreValid: whatever is left out of a step, the first messages stay,
// the newest stay as they are, each call has its result and each result its call, the
// roles alternate as they did, and one line says how much is missing.
func TestShortenedInputsAreValid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		whole := w.call(rapid.SampledFrom([]int{researcher, analyst}).Draw(t, "agent"),
			rapid.SampledFrom([]effect.Purpose{effect.Coordination, effect.Conversation}).Draw(t, "purpose"), researcher)
		whole.Transcript = w.drawStep(t)
		limits := drawLimits(t)
		var before []backends.Message
		leftBefore := 0
		for n := range len(whole.Transcript) + 1 {
			if n < len(whole.Transcript) && whole.Transcript[n].Kind != effect.Assistant {
				continue
			}
			c := whole
			c.Transcript = whole.Transcript[:n]
			w.turn.Agents[c.Key.Agent].Step = nil
			all := w.input(c).Messages
			first := len(all) - len(mustTranscript(t, w, c))
			w.turn.Agents[c.Key.Agent].Step = limits
			sent, left := w.input(c).Messages, c.LeftOut(limits)
			if diff := cmp.Diff(backends.Repair(sent), sent); diff != "" {
				t.Fatalf("it is not valid (-valid +sent):\n%s", diff)
			}
			kept := len(sent) - first
			if diff := cmp.Diff(all[len(all)-kept:], sent[first:], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the newest messages differ (-whole +sent):\n%s", diff)
			}
			if diff := cmp.Diff(all[:first-1], sent[:first-1], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the first messages differ (-whole +sent):\n%s", diff)
			}
			checkNote(t, all[first-1].Text(), sent[first-1].Text(), left, all[first:len(all)-kept])
			if left.Entries == leftBefore {
				if diff := cmp.Diff(before, sent[:len(before)], cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("entry %d changed what stood before:\n%s", n, diff)
				}
			}
			before, leftBefore = sent, left.Entries
		}
	})
}

func mustTranscript(t *rapid.T, w *world, c effect.ModelCall) []backends.Message {
	added, err := agents.Transcript(w.Context(), w.store, &w.turn, c)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// checkNote looks at what the message before the gap says: which messages are missing,
// and what is still to be known of them.
func checkNote(t *rapid.T, whole, sent string, left effect.LeftOut, missing []backends.Message) {
	const added = "\n\nThe user has added to what was asked. Take this into account:\n\n"
	messages, results, update := 0, 0, ""
	var notes []string
	for _, m := range missing {
		if m.Role != backends.RoleTool {
			messages++
		} else {
			results += len(m.Parts)
		}
		for _, p := range m.Parts {
			text := m.Text()
			if r, ok := p.(backends.ToolResult); ok {
				text = r.Content
			}
			text, note, ok := strings.Cut(text, added)
			if ok {
				notes = append(notes, note)
			}
			if _, told, ok := strings.Cut(text, "\n\nThe CURRENT ANSWERS have changed"); ok {
				update = "\n\nThe CURRENT ANSWERS have changed" + told
			}
		}
	}
	want := whole
	if messages > 0 {
		want += "\n\n" + contextbuild.StepLeftOut(messages, results, "") + update
		if len(notes) > 0 {
			want += added + strings.Join(notes, "\n")
		}
	}
	if diff := cmp.Diff(want, sent); diff != "" || messages != left.Messages || results != left.Results {
		t.Fatalf("%d messages and %d results are missing, said to be %+v; the word about it (-want +got):\n%s", messages, results, left, diff)
	}
}

// TestLeftOutIsSaidWithItsLastWords: a message that is left out may have told of newer
// answers, or that the turn is the last.
func TestLeftOutIsSaidWithItsLastWords(t *testing.T) {
	w := newWorld(t)
	limits := policy.StepLimits{Kind: policy.Prune, Messages: 2}
	w.turn.Agents[analyst].Step = &limits
	c := inputs["final_turn_after_update"](w)
	c.Transcript = append(c.Transcript, w.message("I am at a loss."), effect.Entry{Kind: effect.Reminder, MayAnswer: true, MayVote: true})
	w.golden("input/left_out.txt", render(w.input(c)))
	if got := w.input(c).History; got != "of the step 1 earlier message and 1 tool result were left out" {
		t.Errorf("people are told %q", got)
	}
}

// TestLeftOutAfterResults: a conversation may go on with the results of calls, which the
// line about what is left out follows.
func TestLeftOutAfterResults(t *testing.T) {
	w := newWorld(t)
	ask := backends.ToolCall{ID: "0", Name: "search", Arguments: `{}`}
	said := []backends.Message{
		backends.User("a"), {Role: backends.RoleAssistant, Parts: []backends.Part{ask}},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "0", Name: "search", Content: "found"}}},
	}
	w.turn.Conversation, w.turn.History, w.turn.Question = w.putJSON(said), blob.Ref{}, blob.Ref{}
	w.turn.Agents[researcher].Step = &policy.StepLimits{Kind: policy.Prune, Messages: 2}
	c := w.call(researcher, effect.Conversation)
	for i := range 3 {
		c.Transcript = append(c.Transcript, w.message("", backends.ToolCall{ID: fmt.Sprint(i), Name: "search", Arguments: `{}`}),
			effect.Entry{Kind: effect.Result, CallID: fmt.Sprint(i), Name: "search", Text: w.put("found")})
	}
	sent := w.input(c).Messages
	want := backends.ToolResult{CallID: "0", Name: "search", Content: "found\n\n[2 earlier messages and 2 tool results were left out]"}
	if diff := cmp.Diff([]backends.Part{want}, sent[2].Parts); diff != "" || len(sent) != 5 {
		t.Errorf("%d messages are sent (-want +got):\n%s", len(sent), diff)
	}
}
