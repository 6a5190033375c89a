package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// alone is a world whose panel is the analyst alone.
func alone(t *testing.T) *world {
	w := newWorld(t)
	w.turn.Agents = w.turn.Agents[analyst : analyst+1]
	return w
}

// The question and the answer of the turn before in the worlds of these tests.
const question, answer = "Which city?", "Oslo & <Bergen>."

// after makes said what came between the question and the answer of the turn before.
func (w *world) after(list blob.Ref) {
	w.Helper()
	w.turn.History = w.putJSON(sessions.Link{Turn: 1, Question: w.put(question), Answer: w.put(answer), Messages: list})
}

func (w *world) part(parts ...backends.Part) effect.Entry {
	w.Helper()
	return effect.Entry{Kind: effect.Assistant, Text: w.putJSON(backends.Message{Role: backends.RoleAssistant, Parts: parts})}
}

func (w *world) resultOf(id, text string) effect.Entry {
	w.Helper()
	return effect.Entry{Kind: effect.Result, CallID: id, Name: "search", Text: w.put(text)}
}

// loop is the transcript of a step that has everything in it that one can have.
func (w *world) loop() []effect.Entry {
	thought := backends.Opaque{Provider: "claude", Model: "opus", Data: json.RawMessage(`{"signature":"a+/=","thinking":"<1> & 2"}`)}
	refused := effect.Notice{Code: effect.ToolsWithdrawn, Detail: "dig"}
	failed := w.resultOf("b", "Error: nothing there")
	failed.Error = true
	return []effect.Entry{
		w.part(thought, backends.Text{Text: "I look."}, backends.ToolCall{ID: "a", Name: "search", Arguments: `{"q":"<city>"}`},
			backends.ToolCall{ID: "b", Name: "search", Arguments: `{}`}),
		w.resultOf("a", "Oslo & Bergen"), failed,
		w.part(backends.Reasoning{Text: "Deeper."}, backends.ToolCall{ID: "a", Name: "dig", Arguments: `{}`}),
		{Kind: effect.Result, CallID: "a", Name: "dig", Notice: &refused, Final: true},
		w.part(thought, backends.Text{Text: answer}),
	}
}

// TestKeptMessagesAreSentAgain: the next turn of a panel of one is sent what was said
// and done between a question and its answer; that of a larger panel is not.
func TestKeptMessagesAreSentAgain(t *testing.T) {
	w := alone(t)
	asked := w.turn
	asked.Question = w.put(question)
	list, count, err := agents.PutMessages(t.Context(), w.store, &asked, w.loop(), answer)
	if err != nil || count != 6 {
		t.Fatalf("%d messages, %v", count, err)
	}
	w.after(list)
	req := w.input(w.call(0, effect.Conversation))
	w.golden("input/kept_messages.txt", render(req))
	if len(req.Messages) != 1+count+1 { // with the system message and the question
		t.Errorf("%d messages are sent, and %d were counted", len(req.Messages), count)
	}
	larger := newWorld(t)
	larger.store, larger.turn.History = w.store, w.turn.History
	larger.turn.Question = w.turn.Question
	larger.turn.Agents[analyst].System = w.put("You count.")
	larger.turn.Agents[analyst].Tools, larger.turn.Agents[analyst].Params = w.turn.Agents[0].Tools, w.turn.Agents[0].Params
	sent := render(larger.input(larger.call(analyst, effect.Coordination)))
	want := "<CONVERSATION_HISTORY>\nUser: " + question + "\nAssistant: " + answer + "\n<END OF CONVERSATION_HISTORY>"
	if !strings.Contains(sent, want) || strings.Contains(sent, "I look.") {
		t.Errorf("a larger panel is sent\n%s", sent)
	}
}

func TestTurnWithoutToolsKeepsNoMessages(t *testing.T) {
	w := alone(t)
	said := []effect.Entry{w.part(backends.Reasoning{Text: "hm"}, backends.Text{Text: answer})}
	list, count, err := agents.PutMessages(t.Context(), w.store, &w.turn, said, answer)
	if list != (blob.Ref{}) || count != 2 || err != nil {
		t.Errorf("list %v of %d messages, %v", list, count, err)
	}
}

func TestMessagesThatCannotBeStored(t *testing.T) {
	w := alone(t)
	said := []effect.Entry{{Kind: effect.Assistant, Text: sessions.RefOf([]byte("gone"))}, w.resultOf("a", "b")}
	list, _, err := agents.PutMessages(t.Context(), w.store, &w.turn, said, answer)
	if list != (blob.Ref{}) || !errors.Is(err, sessions.ErrNoText) || !strings.HasPrefix(err.Error(), "store the messages of the turn: ") {
		t.Errorf("list %v, %v", list, err)
	}
}

// damages are lists that no turn of this program leaves, with what is shown of them
// beside the question and the answer, and what is said of that.
var damages = map[string]struct {
	list  func(w *world) blob.Ref
	shown []backends.Message
	note  string
}{
	"a call without a result": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{w.part(search1), w.part(backends.Text{Text: answer})})
		},
		shown: []backends.Message{
			{Role: backends.RoleAssistant, Parts: []backends.Part{search1}},
			{Role: backends.RoleTool, Parts: []backends.Part{
				backends.ToolResult{CallID: "a", Name: "search", Content: backends.NoResult, IsError: true},
			}},
		},
		note: `turn 1 was repaired before it was shown: message 2: the call "a" of search has no result, and was given one that says so`,
	},
	"a result without a call": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{w.resultOf("z", "lost"), w.part(backends.Text{Text: answer})})
		},
		note: `turn 1 was repaired before it was shown: message 2: the result for "z" was left out: no call waits for it`,
	},
	"both, and no answer": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{w.resultOf("z", "lost"), w.part(search1)})
		},
		shown: []backends.Message{
			{Role: backends.RoleAssistant, Parts: []backends.Part{search1}},
			{Role: backends.RoleTool, Parts: []backends.Part{
				backends.ToolResult{CallID: "a", Name: "search", Content: backends.NoResult, IsError: true},
			}},
		},
		note: `turn 1 was repaired before it was shown: message 2: the result for "z" was left out: no call waits for it; ` +
			`message 3: the call "a" of search has no result, and was given one that says so`,
	},
	"another answer at the end": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{w.part(search1), w.resultOf("a", "found"), w.part(backends.Text{Text: "Rome."})})
		},
		shown: []backends.Message{
			{Role: backends.RoleAssistant, Parts: []backends.Part{search1}},
			{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "a", Name: "search", Content: "found"}}},
		},
		note: "turn 1 was repaired before it was shown: message 4 was not the answer, which stands in its place",
	},
	"an answer that calls a tool": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{w.part(backends.Text{Text: answer}, search1), w.resultOf("a", "found")})
		},
		shown: []backends.Message{
			{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Text{Text: answer}, search1}},
			{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "a", Name: "search", Content: "found"}}},
		},
	},
	"no JSON": {
		list: func(w *world) blob.Ref { return w.put("[{") },
		note: unread + "blob 8b351adb5635: unexpected end of JSON input",
	},
	"no list": {
		list: func(w *world) blob.Ref { return w.put(`{"a":1}`) },
		note: unread + "blob 015abd7f5cc5: json: cannot unmarshal object into Go value of type []effect.Entry",
	},
	"an unknown kind": {
		list: func(w *world) blob.Ref { return w.put(`[{"kind":"system"}]`) },
		note: unread + `entry 1 is of the kind "system"`,
	},
	"a message of another role": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{{Kind: effect.Assistant, Text: w.putJSON(backends.System("Obey."))}})
		},
		note: unread + `message 1 is of the role "system"`,
	},
	"a message that is none": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{{Kind: effect.Assistant, Text: w.put("?")}})
		},
		note: unread + "blob 8a8de823d5ed: invalid character '?' looking for beginning of value",
	},
	"a text that is gone": {
		list: func(w *world) blob.Ref {
			return w.putJSON([]effect.Entry{{Kind: effect.Assistant, Text: sessions.RefOf([]byte("gone"))}})
		},
		note: unread + "no text is stored under 283bb9deef02",
	},
	"a list that is gone": {
		list: func(*world) blob.Ref { return sessions.RefOf([]byte("gone")) },
		note: unread + "no text is stored under 283bb9deef02",
	},
}

const unread = "turn 1 is shown without what its tools were asked and returned, which cannot be read: "

var search1 = backends.ToolCall{ID: "a", Name: "search", Arguments: "{}"}

// TestDamagedMessagesAreRepairedOnLoad: each damage is told once, and the session goes
// on.
func TestDamagedMessagesAreRepairedOnLoad(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			w := alone(t)
			w.after(damage.list(w))
			heard := &listens{says: says{backends.TextDelta{Text: "ok"}}}
			d := agents.Doer{Blobs: w.store, Members: []agents.Member{{Backend: heard}}}
			for range 2 {
				if _, err := d.Perform(t.Context(), &w.turn, w.call(0, effect.Conversation)); err != nil {
					t.Fatal(err)
				}
			}
			want := append([]backends.Message{backends.System("You count."), backends.User(question)}, damage.shown...)
			want = append(want, backends.Assistant(answer), backends.User("Which is cheapest?"))
			if diff := cmp.Diff(want, heard.last.Messages); diff != "" {
				t.Errorf("what is sent (-want +got):\n%s", diff)
			}
			var notes []string
			if damage.note != "" {
				notes = []string{damage.note}
			}
			if diff := cmp.Diff(notes, d.Repairs(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what is said of it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepairsAreToldOldestTurnFirst(t *testing.T) {
	w := alone(t)
	w.after(w.put("?"))
	said := w.put("later")
	w.turn.History = w.putJSON(sessions.Link{Previous: w.turn.History, Turn: 2, Question: said, Answer: said, Messages: w.put("!")})
	d := agents.Doer{Blobs: w.store, Members: []agents.Member{{Backend: says{backends.TextDelta{Text: "ok"}}}}}
	if _, err := d.Perform(t.Context(), &w.turn, w.call(0, effect.Conversation)); err != nil {
		t.Fatal(err)
	}
	notes := d.Repairs()
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "turn 1 ") || !strings.HasPrefix(notes[1], "turn 2 ") {
		t.Errorf("%q", notes)
	}
	larger := w.turn
	larger.Agents = append(larger.Agents, w.describe("another", ""))
	d = agents.Doer{Blobs: w.store, Members: slices.Repeat(d.Members, 2)}
	if _, err := d.Perform(t.Context(), &larger, w.call(0, effect.Coordination)); err != nil || len(d.Repairs()) > 0 {
		t.Errorf("a larger panel, which is not shown them: %v, %q", err, d.Repairs())
	}
}

// losing is a store that cannot read one text.
type losing struct {
	*sessions.Store
	lost blob.Ref
}

func (f losing) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if ref == f.lost {
		return nil, errors.New("the disk is gone")
	}
	return f.Store.Get(ctx, ref)
}

// TestStoreThatFailsFailsTheCall: what cannot be read now may be read tomorrow, and
// must not be left out today.
func TestStoreThatFailsFailsTheCall(t *testing.T) {
	w := alone(t)
	said := w.loop()
	list := w.putJSON(said)
	w.after(list)
	for _, lost := range []blob.Ref{list, said[1].Text} {
		_, err := agents.NewRebuilder(losing{w.store, lost}).Input(t.Context(), &w.turn, w.call(0, effect.Conversation))
		if err == nil || !strings.Contains(err.Error(), "history: the messages of turn 1: the disk is gone") {
			t.Errorf("error %v", err)
		}
	}
}

// TestEveryListIsSentValid: whatever a list has in it, the turn is sent as providers
// accept it, from its question to its answer.
func TestEveryListIsSentValid(t *testing.T) {
	t.Parallel()
	w := alone(t)
	rapid.Check(t, func(r *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "c", ""})
		said := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) effect.Entry {
			if rapid.Bool().Draw(r, "result") {
				return w.resultOf(ids.Draw(r, "of"), "found")
			}
			var parts []backends.Part
			if text := rapid.SampledFrom([]string{"", "I look.", answer}).Draw(r, "text"); text != "" {
				parts = append(parts, backends.Text{Text: text})
			}
			for range rapid.IntRange(0, 2).Draw(r, "calls") {
				parts = append(parts, backends.ToolCall{ID: ids.Draw(r, "id"), Name: "search", Arguments: rapid.SampledFrom([]string{"{}", "", "["}).Draw(r, "arguments")})
			}
			return w.part(parts...)
		}), 0, 8).Draw(r, "said")
		w.after(w.putJSON(said))
		messages := w.input(w.call(0, effect.Conversation)).Messages
		shown := messages[1 : len(messages)-1]
		if diff := cmp.Diff(backends.Repair(shown), shown); diff != "" {
			r.Errorf("what is sent is not valid (-valid +sent):\n%s", diff)
		}
		last := shown[len(shown)-1]
		if diff := cmp.Diff(backends.User(question), shown[0]); diff != "" || last.Text() != answer || len(last.ToolCalls()) > 0 {
			r.Errorf("the turn is sent as\n%v", shown)
		}
	})
}
