package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// written says what a text was taken for that a model in JSON mode wrote.
func (w *world) written(text string) []effect.Call {
	w.Helper()
	c := w.call(researcher, effect.Coordination, researcher, analyst)
	c.JSON = true
	return w.reply(c, backends.TextDelta{Text: text}).Calls
}

func TestActsAreReadFromTheText(t *testing.T) {
	vote := effect.Call{Name: "vote", Target: analyst, Reason: "it is short"}
	for _, c := range []struct {
		text string
		want effect.Call
	}{
		{`{"action":{"name":"vote","agent_id":"agent1","reason":"it is short"}}`, vote},
		{" {\"action\": {\n \"reason\":\"it is short\", \"agent_id\":\"agent1\", \"name\":\"vote\"}}\n", vote},
		{"```json\n{\"action\":{\"name\":\"vote\",\"agent_id\":\"agent1\",\"reason\":\"it is short\"}}\n```", vote},
		{`I vote: {"action":{"name":"vote","agent_id":"agent1","reason":"it is short"}}. Done.`, vote},
		{`{"action":{"name":"vote","agent_id":"agent1"},"more":[]}`, effect.Call{Name: "vote", Target: analyst}},
		{`{"action":{"name":"vote","agent_id":"agent9","reason":"x"}}`, effect.Call{Name: "vote", Target: -1, Reason: "x"}},
		{`{"action":{"name":"vote","reason":"x"}}`, effect.Call{Name: "vote", Target: -1, Problem: "agent_id is missing"}},
		{`{"action":{"name":"new_answer"}}`, effect.Call{Name: "new_answer", Problem: "content is missing"}},
		{`{"action":{"name":"new_answer","content":""}}`, effect.Call{Name: "new_answer"}},
	} {
		w := newWorld(t)
		if diff := cmp.Diff([]effect.Call{c.want}, w.written(c.text)); diff != "" {
			t.Errorf("%s:\n%s", c.text, diff)
		}
	}
	w := newWorld(t)
	calls := w.written(`{"action":{"name":"new_answer","content":"The {sun}."}}`)
	if len(calls) != 1 || w.text(calls[0].Answer) != "The {sun}." {
		t.Errorf("an answer became %+v", calls)
	}
}

func TestOtherTextsHoldNoAct(t *testing.T) {
	for _, text := range []string{
		"", "The sun.", "{", "} {", "{}", "null", `{"action":null}`, `{"action":"vote"}`, `{"action":[]}`, `{"action":{}}`,
		`{"action":{"name":"search","q":"sun"}}`,
		`{"action":{"name":["vote"],"agent_id":"agent1"}}`,
		`{"name":"vote","agent_id":"agent1","reason":"x"}`,
		`{"action":{"name":"vote","agent_id":"agent1"}} {"action":{"name":"vote","agent_id":"agent2"}}`,
		// Names are exact.
		`{"Action":{"name":"vote","agent_id":"agent1"}}`,
		`{"action":{"Name":"vote","agent_id":"agent1"}}`,
		`{"action":{"name":"Vote","agent_id":"agent1"}}`,
	} {
		if calls := newWorld(t).written(text); calls != nil {
			t.Errorf("%s became %+v", text, calls)
		}
	}
}

// TestNamesInJSONModeAreExact: encoding/json would take the last of both.
func TestNamesInJSONModeAreExact(t *testing.T) {
	want := []effect.Call{{Name: "vote", Target: analyst, Reason: "a"}}
	const text = `{"action":{"name":"vote","agent_id":"agent1","reason":"a","NAME":"new_answer","AGENT_ID":"agent2"},"ACTION":{}}`
	if diff := cmp.Diff(want, newWorld(t).written(text)); diff != "" {
		t.Error(diff)
	}
}

// TestFormsCountForNothing: small models repeat the forms that they are shown.
func TestFormsCountForNothing(t *testing.T) {
	forms := strings.Split(contextbuild.JSONMode(true, true), "\n")[1:]
	want := []effect.Call{
		{Name: "new_answer", Problem: "content is only the placeholder of the form: write your whole answer in its place"},
		{Name: "vote", Target: -1},
	}
	var got []effect.Call
	for _, form := range forms {
		got = append(got, newWorld(t).written(form)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if calls := newWorld(t).written(strings.Join(forms, "\n")); calls != nil {
		t.Errorf("all forms at once became %+v", calls)
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for content, refused := range map[string]bool{
		"...": true, "…": true, " .... \n": true, "...`, ": true, "(...),": true,
		"": false, "... and so on": false, "... 4": false, "?": false, ".": false, "4.": false, "日…": false,
	} {
		w := newWorld(t)
		data, err := json.Marshal(map[string]string{"content": content})
		if err != nil {
			t.Fatal(err)
		}
		calls := w.written(`{"action":{"name":"new_answer",` + string(data[1:]) + `}`)
		if len(calls) != 1 || (calls[0].Problem != "") != refused {
			t.Errorf("%q became %+v", content, calls)
		}
		if native := w.decoded(effect.Coordination, "new_answer", string(data)); native.Problem != "" {
			t.Errorf("%q as a tool's argument: %s", content, native.Problem)
		}
		vote := w.written(`{"action":{"name":"vote","agent_id":"agent1","reason":` + string(data[len(`{"content":`):]) + `}`)
		if len(vote) != 1 || (vote[0].Reason == "") != (refused || content == "") {
			t.Errorf("%q as a reason became %+v", content, vote)
		}
	}
}

// TestTextInJSONModeIsNoToolCall: nothing but the text counts there, and nothing in
// it elsewhere.
func TestTextInJSONModeIsNoToolCall(t *testing.T) {
	w := newWorld(t)
	c := w.call(researcher, effect.Coordination, analyst)
	text := backends.TextDelta{Text: `{"action":{"name":"vote","agent_id":"agent1","reason":"a"}}`}
	native := toolCall("1", "vote", `{"agent_id":"agent2","reason":"b"}`)
	if calls := w.reply(c, text, native).Calls; len(calls) != 1 || calls[0].Target != creative {
		t.Errorf("with tools: %+v", calls)
	}
	c.JSON = true
	if calls := w.reply(c, text, native).Calls; len(calls) != 1 || calls[0].Target != analyst {
		t.Errorf("in JSON mode: %+v", calls)
	}
}

// TestBoundedReplies: a small model cannot write on to the end of its context, unless the config
// says otherwise.
func TestBoundedReplies(t *testing.T) {
	w := newWorld(t)
	vote := w.call(researcher, effect.Coordination, researcher, analyst)
	vote.JSON, vote.OwnTools = true, false
	limited := func(set func(*effect.Agent)) backends.Request {
		set(&w.turn.Agents[researcher])
		return w.input(vote)
	}
	const bound = `"reason":{"type":"string","maxLength":400}`
	if req := limited(func(*effect.Agent) {}); req.Params.MaxTokens != nil || strings.Contains(string(req.Schema), "maxLength") {
		t.Errorf("a call has limits that nobody asked for: %s", req.Schema)
	}
	if req := limited(func(a *effect.Agent) { a.Bounded = true }); *req.Params.MaxTokens != 4096 || !strings.Contains(string(req.Schema), bound) {
		t.Errorf("%d tokens, %s", *req.Params.MaxTokens, req.Schema)
	}
	own := func(p backends.Params) func(*effect.Agent) {
		return func(a *effect.Agent) { a.Params = w.putJSON(p) }
	}
	if req := limited(own(backends.Params{MaxTokens: new(7)})); *req.Params.MaxTokens != 7 {
		t.Errorf("%d tokens, not those of the config", *req.Params.MaxTokens)
	}
	if req := limited(own(backends.Params{ReasoningEffort: "low"})); req.Params.MaxTokens != nil {
		t.Errorf("a model that reasons has %d tokens", *req.Params.MaxTokens)
	}
	vote.JSON = false
	if req := limited(own(backends.Params{})); req.Params.MaxTokens != nil {
		t.Errorf("a call with tools has %d tokens", *req.Params.MaxTokens)
	}
}
