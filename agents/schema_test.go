package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/tools/schema"
)

// verdict is a schema with a definition and a limit.
const verdict = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "properties": {"city": {"type": "string"}, "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}, "score": {"type": "integer", "minimum": 1}},
  "required": ["city"],
  "additionalProperties": false,
  "$defs": {"tag": {"enum": ["a", "<b>"]}}
}`

func TestSchemasOfAnswersAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`: "it is no JSON object", `{`: "it is no JSON object", `null`: "it is no JSON object",
		`{"properties":{}}`:               `it describes no object, which services want: set "type": "object" at its top`,
		`{"type":"array"}`:                "it describes no object",
		`{"type":"object","required":1}`:  "it is no JSON Schema: ",
		`{"type":"object","$defs":[]}`:    "$defs is no object of schemas",
		`{"type":"object","$ref":"#"}`:    `$ref "#" leads to no definition at its top: put that part under $defs and write #/$defs/NAME`,
		`{"type":"object","$ref":"x:/y"}`: `$ref "x:/y" leads to no definition`,
		`{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{}}}`:                                                         `$ref "#/properties/b" leads to no definition`,
		`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`:          "refers to itself without a property or an item between",
		`{"type":"object","dependentSchemas":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"dependentSchemas":{"x":{"$ref":"#/$defs/a"}}}}}`: "refers to itself without",
		`{"type":"object","properties":{"a":{"items":[{"anyOf":[{"type":"strng"}]}]}}}`:                                                 `type "strng" is none of JSON: it is one of array, boolean, integer, null, number, object, string`,
		`{"type":"object","$defs":{"a":{"type":["null","text"]}}}`:                                                                      `type "text" is none of JSON`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}`:                                                      "it cannot be used: ",
		`{"type":"object","description":"` + strings.Repeat("x", schema.MaxBytes) + `"}`:                                                "and the most is 65536: every model call is sent it",
	} {
		if _, err := schema.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{
		verdict, `{"type":"object"}`,
		`{"type":"object","properties":{"type":{"type":"string","enum":["x"],"default":{"type":"x"}}},"x-form":{"type":"textarea"},"const":{"type":"x"}}`,
		`{"type":"object","$ref":"#/definitions/node","definitions":{"node":{"properties":{"next":{"$ref":"#/definitions/node"}}}}}`,
	} {
		if _, err := schema.Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzSchemas: no schema of a client, and no answer, stops the program.
func FuzzSchemas(f *testing.F) {
	f.Add(verdict, `{"city":"Rome","tags":["a"]}`)
	f.Add(`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"$ref":"#/$defs/a"}}}}}`, `{"b":{"b":{}}}`)
	f.Add(`{"type":"object","unevaluatedProperties":{"$ref":"#/$defs/a"},"$defs":{"a":{"anyOf":[true]}}}`, `{"b":1}`)
	f.Fuzz(func(t *testing.T, text, answer string) {
		parsed, err := schema.Parse([]byte(text))
		if err != nil {
			return
		}
		if !json.Valid([]byte(parsed.String())) {
			t.Fatalf("%q became %q", text, parsed)
		}
		w := newWorld(t)
		w.turn.Schema = w.put(parsed.String())
		c := w.call(researcher, effect.Conversation)
		c.OwnTools = false
		for _, tool := range w.input(w.call(researcher, effect.Coordination)).Tools {
			if !json.Valid(tool.Schema) {
				t.Fatalf("%q gives a tool %q", text, tool.Schema)
			}
		}
		if reply := w.reply(c, backends.TextDelta{Text: answer}); (reply.Problem == "") != (w.text(reply.Text) != "" || strings.TrimSpace(answer) == "") {
			t.Fatalf("%q is read as %+v", answer, reply)
		}
	})
}

// schemaWorld is a world whose turn has a schema.
func schemaWorld(t *testing.T) *world {
	w := newWorld(t)
	answers, err := schema.Parse([]byte(verdict))
	if err != nil {
		t.Fatal(err)
	}
	w.turn.Schema = w.put(answers.String())
	return w
}

func TestInputsOfATurnWithASchema(t *testing.T) {
	for name, call := range map[string]func(w *world) effect.ModelCall{
		"schema_round1": func(w *world) effect.ModelCall { return w.call(analyst, effect.Coordination) },
		"schema_json": func(w *world) effect.ModelCall {
			c := w.call(analyst, effect.Coordination, researcher)
			c.JSON, c.OwnTools = true, false
			return c
		},
		"schema_conversation": func(w *world) effect.ModelCall { return w.call(analyst, effect.Conversation) },
		"schema_repair": func(w *world) effect.ModelCall {
			c := w.call(creative, effect.Conversation)
			c.OwnTools = false
			c.Transcript = []effect.Entry{
				w.message("Rome."),
				{Kind: effect.Reminder, Notice: &effect.Notice{Code: effect.BadAnswer, Detail: "there is no JSON object in it"}},
			}
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := schemaWorld(t)
			req := w.input(call(w))
			w.golden("input/"+name+".txt", render(req))
			if req.Lenient != (len(req.Schema) > 0) || strings.Contains(string(req.Schema), "$schema") {
				t.Errorf("lenient %t, schema %s", req.Lenient, req.Schema)
			}
		})
	}
}

// TestOnlyAnswersThatFitAreRead, on one line. Others say why.
func TestOnlyAnswersThatFitAreRead(t *testing.T) {
	const rome = `{"city":"Rome","tags":["<b>"]}`
	for _, c := range []struct{ said, want, problem string }{
		{rome, rome, ""},
		{"Here it is:\n```json\n{\"city\": \"Rome\",\n \"tags\": [\"<b>\"]}\n```\nDone.", rome, ""},
		{"Rome", "", "there is no JSON object in it"},
		{`{"city":"Rome"`, "", "there is no JSON object in it"},
		{`{"city":}`, "", "it is not valid JSON"},
		{`{"town":"Rome"}`, "", "it does not fit the JSON Schema of the answer: "},
		{`{"city":"Rome","score":0}`, "", "minimum"},
		{`{"city":"Rome","tags":["c"]}`, "", "enum"},
	} {
		w := schemaWorld(t)
		reply := w.reply(w.call(researcher, effect.Conversation), backends.TextDelta{Text: c.said})
		if w.text(reply.Text) != c.want || !strings.Contains(reply.Problem, c.problem) || (c.problem == "") != (reply.Problem == "") {
			t.Errorf("%s: %q, %s", c.said, w.text(reply.Text), reply.Problem)
		}
		as := map[string]string{"an object": c.said, "a text": ""}
		quoted, err := json.Marshal(c.said)
		if err != nil {
			t.Fatal(err)
		}
		as["a text"] = string(quoted)
		for form, content := range as {
			if form == "an object" && !json.Valid([]byte(content)) {
				continue
			}
			reply := w.reply(w.call(researcher, effect.Coordination), backends.ToolCall{Name: "new_answer", Arguments: `{"content":` + content + `}`})
			call := reply.Calls[0]
			if w.text(call.Answer) != c.want || !strings.Contains(call.Problem, c.problem) || (c.problem == "") != (call.Problem == "") {
				t.Errorf("%s as %s: %q, %s", c.said, form, w.text(call.Answer), call.Problem)
			}
		}
	}
	w := schemaWorld(t)
	said := w.reply(w.call(researcher, effect.Coordination), backends.TextDelta{Text: "Rome, I would say."})
	if said.Text.Bytes != 0 || said.Hash != "" || said.Problem != "" {
		t.Errorf("a text beside coordination is %+v", said)
	}
	missing := w.reply(w.call(researcher, effect.Coordination), backends.ToolCall{Name: "new_answer", Arguments: `{}`}).Calls[0]
	if diff := cmp.Diff("content is missing", missing.Problem); diff != "" {
		t.Error(diff)
	}
}

// TestRefusedAnswersAreNotKept in the messages of a turn.
func TestRefusedAnswersAreNotKept(t *testing.T) {
	w := schemaWorld(t)
	said := []effect.Entry{
		w.message("", backends.ToolCall{ID: "a", Name: "search", Arguments: `{}`}),
		{Kind: effect.Result, CallID: "a", Name: "search", Text: w.put("found")},
		w.message("Rome."),
		{Kind: effect.Reminder, Notice: &effect.Notice{Code: effect.BadAnswer, Detail: "no"}},
		w.message(`{"city":"Rome"}`),
	}
	list, count, err := agents.PutMessages(t.Context(), w.store, &w.turn, said, `{"city":"Rome"}`)
	if err != nil || count != 4 || strings.Contains(w.text(list), "reminder") {
		t.Errorf("%d messages, %v: %s", count, err, w.text(list))
	}
}

// TestSchemaBesideHostedTools: the provider's tools do not go with a schema, so that it is enforced
// only once the answer was refused; and sources have no place in such an answer.
func TestSchemaBesideHostedTools(t *testing.T) {
	w := schemaWorld(t)
	w.turn.Agents[researcher].Params = w.putJSON(backends.Params{Hosted: backends.HostedTools{WebSearch: true}})
	c := w.call(researcher, effect.Conversation)
	c.OwnTools = false
	if req := w.input(c); len(req.Schema) > 0 {
		t.Errorf("a call that may search has the schema %s", req.Schema)
	}
	reply := w.reply(c, backends.TextDelta{Text: `{"city":"Rome"}`}, backends.Citation{URL: "https://example.com/rome", Title: "Rome"})
	if text := w.text(reply.Text); text != `{"city":"Rome"}` || reply.Citations.Bytes == 0 {
		t.Errorf("the answer is %s, its sources %+v", text, reply.Citations)
	}
	c.Transcript = []effect.Entry{
		w.message("Rome."), {Kind: effect.Reminder, Notice: &effect.Notice{Code: effect.BadAnswer, Detail: "no"}},
	}
	if req := w.input(c); len(req.Schema) == 0 {
		t.Error("the call for a repair has no schema")
	}
}
