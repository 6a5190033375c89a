package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// gauge is a tool that measures what it is asked for.
type gauge struct{}

func (gauge) Definition() backends.Tool {
	return backends.Tool{Name: "gauge", Description: "Measures.", Schema: []byte(`{"type":"object"}`)}
}

func (gauge) Idempotent() bool { return true }

func (gauge) Call(_ context.Context, arguments string) (string, error) {
	return "measured " + arguments, nil
}

// measures calls the tool twice at once, and then once more, before it answers.
const measures = `
rules:
  - when: {purpose: conversation, index: 0}
    reply: {text: "I measure.", tool_calls: [{id: a, name: gauge, arguments: {of: "{{.Question}}"}}, {id: b, name: gauge, arguments: {}}]}
  - {when: {purpose: conversation, index: 1}, reply: {tool_calls: [{id: a, name: gauge, arguments: {again: true}}]}}
  - {when: {purpose: conversation}, reply: {delay: 1s, reasoning: "So much.", text: "There is {{.Question}}."}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} on {{.Question}}"}}
  - {when: {}, reply: {vote: {agent: agent2, reason: "it is short"}}}
`

// withGauge gives every agent the tool, its calls to a recorder, and a context.
func withGauge(r *debugbackend.Recorder, c agents.Context) func(*Options) {
	return func(o *Options) {
		for i := range o.Agents {
			o.Agents[i].Tools, o.Agents[i].Context = []agents.Tool{gauge{}}, c
			o.Agents[i].Backend = r.Wrap(o.Agents[i].Backend)
		}
	}
}

// spoken writes messages as lines: who speaks, what is said, what is called, and what
// that returned.
func spoken(messages []backends.Message) []string {
	var lines []string
	for _, m := range messages {
		words := []string{string(m.Role) + ":"}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case backends.Reasoning:
				words = append(words, "("+p.Text+")")
			case backends.Text:
				words = append(words, p.Text)
			case backends.ToolCall:
				words = append(words, fmt.Sprintf("[call %s %s]", p.ID, p.Arguments))
			case backends.ToolResult:
				words = append(words, fmt.Sprintf("[result %s %s]", p.CallID, p.Content))
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// measured is the turn of a panel of one that asked about rain, or whatever.
func measured(about string) []string {
	return []string{
		"user: " + about,
		fmt.Sprintf(`assistant: I measure. [call a {"of":"%s"}] [call b {}]`, about),
		fmt.Sprintf(`tool: [result a measured {"of":"%s"}] [result b measured {}]`, about),
		`assistant: [call a {"again":true}]`,
		`tool: [result a measured {"again":true}]`,
		"assistant: (So much.) There is " + about + ".",
	}
}

// firstInput returns the first input of agent1 in a turn.
func firstInput(r *debugbackend.Recorder, number int) []string {
	return spoken(lastInputs(r, number)["agent1"].Messages)
}

// TestPanelOfOneSendsItsToolCallsAgain in two turns, with a presentation configured,
// for which a panel of one has no use.
func TestPanelOfOneSendsItsToolCallsAgain(t *testing.T) {
	t.Parallel()
	for _, final := range []kernel.Strategy{kernel.WinnerReuse, kernel.WinnerPresent, kernel.Synthesize} {
		synctest.Test(t, func(t *testing.T) {
			recorder := debugbackend.NewRecorder(debugbackend.Options{})
			p, store := panelOf(t, 1, measures, nil, func(o *Options) {
				withGauge(recorder, agents.Context{})(o)
				o.Rules = kernel.Defaults()
				o.Rules.Final = final
			})
			last := ask(t, p, weather[:2])
			if diff := cmp.Diff(append(measured("rain"), "user: snow"), firstInput(recorder, 2)); diff != "" {
				t.Errorf("%s: the second turn is sent (-want +got):\n%s", final, diff)
			}
			updated := eventsOf[report.SessionUpdated](t, last)
			if len(updated) != 1 || updated[0].Session.MessageCount != 12 {
				t.Errorf("%s: the session is told as %+v", final, updated)
			}
			if r := wait(t, last); len(r.Warnings) > 0 {
				t.Errorf("%s: warnings %q", final, r.Warnings)
			}
			rebuildsTurns(t, store, recorder, 2)
		})
	}
}

// rebuildsTurns checks that the journals give the inputs that were sent.
func rebuildsTurns(t *testing.T, store *sessions.Store, recorder *debugbackend.Recorder, turns int) {
	t.Helper()
	inputs := map[string]string{}
	for number := 1; number <= turns; number++ {
		isRecorded(t, store, number)
		_, turnInputs := replay(t, store, "s", number)
		for key, input := range turnInputs {
			inputs[key] = input
		}
	}
	if diff := cmp.Diff(recordedInputs(t, recorder), inputs); diff != "" {
		t.Errorf("the inputs that were rebuilt differ (-sent +rebuilt):\n%s", diff)
	}
}

// TestResumedTurnKeepsItsMessages leaves a turn after each event of its journal: what
// is kept of it in the end is the same.
func TestResumedTurnKeepsItsMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 1, measures, nil, withGauge(debugbackend.NewRecorder(debugbackend.Options{}), agents.Context{}))
		ask(t, p, weather[:1])
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil || len(journal) != 7 {
			t.Fatalf("a journal of %d events, %v", len(journal), err)
		}
		want := onlyTurn(t, store, "s")
		if want.Messages == (blob.Ref{}) || want.MessageCount != 6 {
			t.Fatalf("the turn keeps %d messages in %v", want.MessageCount, want.Messages)
		}
		for n := 1; n <= len(journal); n++ {
			id := fmt.Sprintf("left after %d", n)
			leaveTurn(t, store, id, "rain", journal[:n]...)
			resumed, err := p.Resume(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			wait(t, resumed)
			if got := onlyTurn(t, store, id); got.Messages != want.Messages || got.MessageCount != want.MessageCount || got.Answer != want.Answer {
				t.Errorf("%s: %d messages in %v, want %d in %v", id, got.MessageCount, got.Messages, want.MessageCount, want.Messages)
			}
		}
	})
}

func onlyTurn(t *testing.T, store *sessions.Store, session string) sessions.Turn {
	t.Helper()
	turns, err := store.Turns(t.Context(), session, 0)
	if err != nil || len(turns) != 1 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	return turns[0]
}

// TestLargerPanelShowsQuestionsAndAnswersAlone: panels of one and of three take turns
// in one session.
func TestLargerPanelShowsQuestionsAndAnswersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		one, store := panelOf(t, 1, measures, nil, withGauge(recorder, agents.Context{}))
		three, _ := panelOf(t, 3, measures, nil, func(o *Options) {
			withGauge(recorder, agents.Context{})(o)
			o.Store = store
		})
		ask(t, one, weather[:1])
		ask(t, three, weather[1:2])
		ask(t, one, weather[2:3])
		text := lastInputs(recorder, 2)["agent3"].Messages[1].Text()
		if want := "<CONVERSATION_HISTORY>\nUser: rain\nAssistant: There is rain.\n<END OF"; !strings.HasPrefix(text, want) {
			t.Errorf("a panel of three is sent\n%s", text)
		}
		want := slices.Concat(measured("rain"), []string{"user: snow", "assistant: agent2 on snow", "user: hail"})
		if diff := cmp.Diff(want, firstInput(recorder, 3)); diff != "" {
			t.Errorf("the panel of one is sent (-want +got):\n%s", diff)
		}
		if kept, err := store.Session(t.Context(), "s"); err != nil || kept.Messages != 14 {
			t.Errorf("the session has %d messages, %v", kept.Messages, err)
		}
	})
}

// TestPoliciesPartNoCallFromItsResult asks about the weather under policies that cut
// within a turn of six messages: of the last two, one is the result of a call.
func TestPoliciesPartNoCallFromItsResult(t *testing.T) {
	t.Parallel()
	context := func(kind policy.Kind, change func(*policy.Settings), window int) agents.Context {
		settings := policy.Defaults()
		settings.Kind = kind
		if change != nil {
			change(&settings)
		}
		return agents.Context{Policy: settings, Window: window}
	}
	for name, tc := range map[string]struct {
		context agents.Context
		want    []string
	}{
		"window": {
			context: context(policy.Window, func(s *policy.Settings) { s.WindowCharacters = 12 }, 0),
			want: []string{
				"user: (Earlier messages of this conversation are left out.)",
				`assistant: [call a {"again":true}]`, "tool: [result a measured {\"a...]", "assistant: (So much.) There is hai...", "user: wind",
			},
		},
		"prune between a call and its result": {
			context: context(policy.Prune, func(s *policy.Settings) { s.MaxMessages, s.KeepRecent = 6, 2 }, 0),
			want: []string{
				"user: (Earlier messages of this conversation are left out.)",
				"assistant: (So much.) There is hail.", "user: wind",
			},
		},
		"prune": {
			context: context(policy.Prune, func(s *policy.Settings) { s.MaxMessages, s.KeepRecent = 6, 5 }, 0),
			want:    append(append([]string{"user: (Earlier messages of this conversation are left out.)"}, measured("hail")[1:]...), "user: wind"),
		},
		"a small window of the model": {
			context: context(policy.Full, nil, 350),
			want:    append(measured("hail"), "user: wind"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := debugbackend.NewRecorder(debugbackend.Options{})
				p, store := panelOf(t, 1, measures, nil, withGauge(recorder, tc.context))
				ask(t, p, weather[:4])
				if diff := cmp.Diff(tc.want, firstInput(recorder, 4)); diff != "" {
					t.Errorf("the fourth turn is sent (-want +got):\n%s", diff)
				}
				for _, call := range recorder.Calls() {
					if diff := cmp.Diff(backends.Repair(call.Request.Messages), call.Request.Messages); diff != "" {
						t.Errorf("%s is not valid (-valid +sent):\n%s", call.Request.Key, diff)
					}
				}
				rebuildsTurns(t, store, recorder, 4)
			})
		})
	}
}

// listless is a store that takes no list of messages.
type listless struct{ *sessions.Store }

func (s listless) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	if strings.HasPrefix(string(data), `[{"kind":`) {
		return blob.Ref{}, errors.New("the disk is full")
	}
	return s.Store.Put(ctx, data)
}

// TestAnswerIsKeptWithoutItsMessages: an answer that was paid for is not lost with the
// list of what led to it.
func TestAnswerIsKeptWithoutItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, _ := panelOf(t, 1, measures, nil, func(o *Options) {
			withGauge(recorder, agents.Context{})(o)
			o.Store = listless{sessions.NewMemory()}
		})
		if _, err := start(t, p, "rain").Wait(t.Context()); err == nil || err.Error() != "store the messages of the turn: the disk is full" {
			t.Errorf("error %v", err)
		}
		if _, err := start(t, p, "snow").Wait(t.Context()); err == nil {
			t.Error("the second turn tells no error")
		}
		if diff := cmp.Diff([]string{"user: rain", "assistant: There is rain.", "user: snow"}, firstInput(recorder, 2)); diff != "" {
			t.Errorf("the second turn is sent (-want +got):\n%s", diff)
		}
	})
}
