package agents_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

const (
	voteText   = `<tool_call>{"name":"vote","arguments":{"agent_id":"agent1","reason":"best"}}</tool_call>`
	answerText = `<tool_call>{"name":"new_answer","arguments":{"content":"The sun."}}</tool_call>`
	searchText = `<tool_call>{"name":"search","arguments":{"q":"sun"}}</tool_call>`
)

// textWorld is a world in which texts may contain calls.
func textWorld(t *testing.T) *world {
	w := newWorld(t)
	for i := range w.turn.Agents {
		w.turn.Agents[i].TextCalls = true
	}
	return w
}

// names are the names of the calls of a reply.
func names(r effect.ModelReply) []string {
	list := make([]string, len(r.Calls))
	for i, c := range r.Calls {
		list[i] = c.Name
	}
	return list
}

func (w *world) stored(ref blob.Ref) (m backends.Message) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.text(ref)), &m); err != nil {
		w.Fatal(err)
	}
	return m
}

// TestCallsInTextsAreCalls: a native reply with the same calls has the same facts, and the journaled message
// has the calls.
func TestCallsInTextsAreCalls(t *testing.T) {
	w := textWorld(t)
	c := w.call(researcher, effect.Coordination, researcher, analyst)
	r := w.reply(c, backends.ReasoningDelta{Text: "hm"}, backends.TextDelta{Text: searchText + "\n" + searchText})
	native := w.reply(c, backends.ReasoningDelta{Text: "hm"},
		toolCall(r.Calls[0].ID, "search", `{"q":"sun"}`), toolCall(r.Calls[1].ID, "search", `{"q":"sun"}`))
	if diff := cmp.Diff(native, r); diff != "" || r.Calls[0].ID == r.Calls[1].ID || !r.Calls[0].Own {
		t.Errorf("(-native +text)\n%s", diff)
	}
	again := w.reply(c, backends.ReasoningDelta{Text: "hm"}, backends.TextDelta{Text: searchText + "\n" + searchText})
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("read once more:\n%s", diff)
	}
	act := w.reply(c, backends.TextDelta{Text: "I looked.\n" + answerText})
	if w.text(act.Calls[0].Answer) != "The sun." || w.text(act.Text) != "I looked." || act.Markup {
		t.Errorf("%+v", act)
	}
}

func TestTextsWithoutTheFlagHaveNoCalls(t *testing.T) {
	w := newWorld(t)
	c := w.call(researcher, effect.Coordination, researcher, analyst)
	for _, text := range []string{searchText, voteText} {
		if r := w.reply(c, backends.TextDelta{Text: text}); r.Calls != nil || r.Markup || w.text(r.Text) != text {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if r := w.reply(c, toolCall("a", "functions.vote", `{}`)); r.Calls[0].Name != "functions.vote" {
		t.Errorf("%+v", r.Calls)
	}
}

func TestCallsInTextsCountOnlyOnOffer(t *testing.T) {
	w := textWorld(t)
	with := func(set func(*effect.ModelCall)) effect.ModelCall {
		c := w.call(researcher, effect.Coordination, researcher, analyst)
		set(&c)
		return c
	}
	native := []backends.Event{backends.TextDelta{Text: voteText}, toolCall("a", "search", `{}`)}
	for name, c := range map[string]struct {
		call   effect.ModelCall
		events []backends.Event
		want   []string
		markup bool
	}{
		"vote":              {with(func(*effect.ModelCall) {}), []backends.Event{backends.TextDelta{Text: voteText}}, []string{"vote"}, false},
		"withdrawn answer":  {with(func(c *effect.ModelCall) { c.Offer.MayAnswer = false }), []backends.Event{backends.TextDelta{Text: answerText}}, nil, true},
		"withdrawn tools":   {with(func(c *effect.ModelCall) { c.OwnTools = false }), []backends.Event{backends.TextDelta{Text: searchText}}, nil, true},
		"tool within prose": {with(func(*effect.ModelCall) {}), []backends.Event{backends.TextDelta{Text: "I look. " + searchText}}, nil, true},
		"beside a native":   {with(func(*effect.ModelCall) {}), native, []string{"search"}, false},
		"alone":             {with(func(c *effect.ModelCall) { c.Key.Purpose = effect.Conversation }), []backends.Event{backends.TextDelta{Text: searchText}}, []string{"search"}, false},
		"act of a presenter": {with(func(c *effect.ModelCall) { c.Key.Purpose = effect.Presentation }),
			[]backends.Event{backends.TextDelta{Text: answerText}}, nil, true},
		"bare act of a presenter": {with(func(c *effect.ModelCall) { c.Key.Purpose = effect.Presentation }),
			[]backends.Event{backends.TextDelta{Text: `{"name":"new_answer","arguments":{"content":"x"}}`}}, nil, true},
	} {
		r := w.reply(c.call, c.events...)
		if !slices.Equal(names(r), c.want) || r.Markup != c.markup || c.markup && (r.Text != (blob.Ref{}) || r.Hash != "") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestNamesWithMarksMeanToolsOnOffer(t *testing.T) {
	w := textWorld(t)
	c := w.call(researcher, effect.Coordination, researcher, analyst)
	for name, want := range map[string]string{
		"new_answer<|channel|>commentary": "new_answer", "vote<|channel|>json": "vote", "functions.search": "search",
		"default_api:vote": "vote", "default_api.search": "search", "functions.search:0": "search", "search": "search",
		"fs.search": "fs.search", "research": "research", "": "",
	} {
		r := w.reply(c, toolCall("a", name, `{}`))
		said := w.stored(r.Message).ToolCalls()
		if len(said) != 1 || said[0].Name != want || r.Calls[0].Name != want || r.Calls[0].Own != (want == "search") {
			t.Errorf("%s: %+v, said as %+v", name, r.Calls, said)
		}
	}
	c.OwnTools = false
	if r := w.reply(c, toolCall("a", "functions.search", `{}`)); r.Calls[0].Name != "functions.search" {
		t.Errorf("a tool that is not on offer: %+v", r.Calls)
	}
}

// TestPermissionsHoldForCallsInTexts: the rules see the tool and its arguments as read.
func TestPermissionsHoldForCallsInTexts(t *testing.T) {
	w := textWorld(t)
	for _, said := range []backends.Event{backends.TextDelta{Text: searchText}, toolCall("a", "functions.search", `{"q":"sun"}`)} {
		d := agents.Doer{Blobs: w.store, Members: []agents.Member{{
			Backend: says{said}, Tools: []agents.Tool{&search{}},
			Permit: func(tool, arguments string) (effect.Permission, string) { return effect.Denied, tool + arguments },
		}}}
		c := w.call(researcher, effect.Coordination, analyst)
		ev, err := d.Perform(t.Context(), &w.turn, c)
		r, ok := ev.(effect.ModelReply)
		if err != nil || !ok || len(r.Calls) != 1 || r.Calls[0].Permission != effect.Denied || r.Calls[0].Why != `search{"q":"sun"}` {
			t.Errorf("%v, %+v", err, ev)
			continue
		}
		tool := effect.ToolCall{Key: effect.Key{Agent: researcher, Round: 2, Purpose: effect.Tool}, Message: r.Message, Name: r.Calls[0].Name}
		if ev, err = d.Perform(t.Context(), &w.turn, tool); err != nil || ev.(effect.ToolReply).State != effect.ToolDenied {
			t.Errorf("the call itself: %v, %+v", err, ev)
		}
	}
}

func TestActsInOtherShapesCountInJSONMode(t *testing.T) {
	for _, text := range []string{
		`{"action":"vote","agent_id":"agent1","reason":"best"}`, `{"name":"vote","arguments":{"agent_id":"agent1","reason":"best"}}`,
		`{"vote":{"agent_id":"agent1","reason":"best"}}`, "I vote.\n" + voteText, `{"action":{"name":"functions.vote","agent_id":1,"reason":"best"}}`,
	} {
		want := []effect.Call{{Name: "vote", Target: analyst, Reason: "best"}}
		if diff := cmp.Diff(want, textWorld(t).written(text)); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
		if calls := newWorld(t).written(text); calls != nil {
			t.Errorf("%s without the flag: %+v", text, calls)
		}
	}
	if calls := textWorld(t).written(searchText); calls != nil {
		t.Errorf("a tool that JSON mode does not offer: %+v", calls)
	}
}

func TestMarkupIsNoContentOfAnAnswer(t *testing.T) {
	for content, refused := range map[string]bool{
		searchText: true, answerText: true, "I look. " + searchText: true,
		"The sun.": false, "Write `" + searchText + "`.": false,
	} {
		arguments, err := json.Marshal(map[string]string{"content": content})
		if err != nil {
			t.Fatal(err)
		}
		call := textWorld(t).decoded(effect.Coordination, "new_answer", string(arguments))
		if strings.Contains(call.Problem, "text of a tool call") != refused {
			t.Errorf("%s: %+v", content, call)
		}
		if call := newWorld(t).decoded(effect.Coordination, "new_answer", string(arguments)); call.Problem != "" {
			t.Errorf("%s without the flag: %+v", content, call)
		}
	}
}

// TestAnAnswerThatFitsItsSchemaIsNoCall: a schema may ask for an object that looks like a call.
func TestAnAnswerThatFitsItsSchemaIsNoCall(t *testing.T) {
	w := textWorld(t)
	w.turn.Schema = w.put(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	const text = `{"name":"search","arguments":{}}`
	r := w.reply(w.call(researcher, effect.Conversation), backends.TextDelta{Text: text})
	if r.Calls != nil || r.Markup || r.Problem != "" || w.text(r.Text) != text {
		t.Errorf("%+v", r)
	}
}

// TestConfigIDsCountInVotes: a name that models use wins, and a number is never an id.
func TestConfigIDsCountInVotes(t *testing.T) {
	w := newWorld(t)
	w.turn.Agents[researcher].ID, w.turn.Agents[analyst].ID, w.turn.Agents[creative].ID = "agent2", "7", "Writer"
	c := w.call(researcher, effect.Coordination, researcher, analyst) // 7 is agent1, Writer agent2, agent2 agent3
	for name, want := range map[string]int{
		"agent1": analyst, "agent2": creative, "agent_2": creative, "agent3": researcher, "7": -1, "agent7": -1, "writer": creative, "Writer": creative, "<Writer>": creative,
	} {
		r := w.reply(c, toolCall("a", "vote", `{"agent_id":"`+name+`"}`))
		if got := r.Calls[0].Target; got != want {
			t.Errorf("%s is agent %d, want %d", name, got, want)
		}
	}
}
