package conversation_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
)

func message(role backends.Role, parts ...backends.Part) backends.Message {
	return backends.Message{Role: role, Parts: parts}
}

func assistant(parts ...backends.Part) backends.Message {
	return message(backends.RoleAssistant, parts...)
}

func call(id, name, arguments string) backends.ToolCall {
	return backends.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func results(parts ...backends.Part) backends.Message { return message(backends.RoleTool, parts...) }

func result(id, name, content string) backends.ToolResult {
	return backends.ToolResult{CallID: id, Name: name, Content: content}
}

// TestForm: what stands on the left is written as, and read from, what stands on
// the right.
func TestForm(t *testing.T) {
	const calls = `"has_tool_calls":true,"tool_calls":[{"id":"a","name":"read_file","arguments":{"path":"x"}}]`
	for name, c := range map[string]struct {
		messages conversation.Messages
		json     string
	}{
		"none":  {nil, `null`},
		"empty": {conversation.Messages{}, `[]`},
		"texts": {
			conversation.Messages{backends.System("s"), backends.User("Hello"), backends.Assistant("Hi there!")},
			`[{"role":"system","content":"s"},{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi there!","has_tool_calls":false}]`,
		},
		"text and call": {
			conversation.Messages{assistant(backends.Text{Text: "Let me see."}, call("a", "read_file", `{"path":"x"}`))},
			`[{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"a","name":"read_file","input":{"path":"x"}}],` + calls + `}]`,
		},
		"results are the user's": {
			conversation.Messages{
				assistant(call("a", "read_file", `{"path":"x"}`)),
				results(result("a", "read_file", "print()")),
				results(backends.ToolResult{CallID: "b", IsError: true}),
			},
			`[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read_file","input":{"path":"x"}}],` + calls + `},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"print()"}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"","is_error":true}]}]`,
		},
		"images": {
			conversation.Messages{message(backends.RoleUser, backends.Text{Text: "?"}, backends.Image{URL: "https://x/y.png"}, backends.Image{MediaType: "image/png", Data: []byte{1, 2}})},
			`[{"role":"user","content":[{"type":"text","text":"?"},{"type":"image","source":{"type":"url","url":"https://x/y.png"}},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQI="}}]}]`,
		},
		"thinking": {
			conversation.Messages{assistant(
				backends.Reasoning{Text: "hm"},
				backends.Opaque{Provider: "claude", Model: "m", Data: []byte(`{"type":"thinking","signature":"EqQB+/8="}`)},
				backends.Text{Text: "x"})},
			`[{"role":"assistant","content":[{"type":"reasoning","text":"hm"},` +
				`{"type":"opaque","provider":"claude","model":"m","data":{"type":"thinking","signature":"EqQB+/8="}},{"type":"text","text":"x"}],"has_tool_calls":false}]`,
		},
		"arguments that are none": {
			conversation.Messages{assistant(call("a", "f", `{"p`))},
			`[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"{\"p"}],"has_tool_calls":true,` +
				`"tool_calls":[{"id":"a","name":"f","arguments":"{\"p"}]}]`,
		},
		"nothing said": {
			conversation.Messages{message(backends.RoleUser), message(backends.RoleUser, backends.Text{})},
			`[{"role":"user","content":""},{"role":"user","content":[{"type":"text","text":""}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			written, err := json.Marshal(c.messages)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.json, string(written)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			var read conversation.Messages
			if err := json.Unmarshal([]byte(c.json), &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.messages, read); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOtherFormsAreRead: what seed 001 and its readers write besides.
func TestOtherFormsAreRead(t *testing.T) {
	calls := assistant(backends.Text{Text: "Hm."}, call("a", "f", `{"x":1.0}`))
	for name, c := range map[string]struct {
		json string
		want conversation.Messages
	}{
		"calls beside a text": {
			`[{"role":"assistant","content":"Hm.","has_tool_calls":true,"tool_calls":[{"id":"a","name":"f","arguments":{ "x" : 1.0 }}]}]`,
			conversation.Messages{calls},
		},
		"calls without a content": {
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"f","arguments":{"x":1.0}}]}]`,
			conversation.Messages{assistant(calls.Parts[1])},
		},
		"calls as blocks alone": {
			`[{"content":[{"type":"text","text":"Hm."},{"input":{"x":1.0},"type":"tool_use","id":"a","name":"f"}],"role":"assistant"}]`,
			conversation.Messages{calls},
		},
		"results in the role tool": {
			`[{"role":"tool","content":[{"type":"tool_result","tool_use_id":"a","content":"1","is_error":false}]}]`,
			conversation.Messages{results(result("a", "", "1"))},
		},
		"results and more from the user": {
			`[{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"f","arguments":{}}]},
			  {"role":"user","content":[{"type":"text","text":"Go on."},{"type":"tool_result","tool_use_id":"a","content":"1"}]}]`,
			conversation.Messages{assistant(call("a", "f", "{}")), results(result("a", "f", "1")), backends.User("Go on.")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var read conversation.Messages
			if err := json.Unmarshal([]byte(c.json), &read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, read); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrongConversationsAreNamed(t *testing.T) {
	block := func(block string) string {
		return `[{"role":"user","content":"a"},{"role":"user","content":[` + block + `]}]`
	}
	reply := func(rest string) string { return `[{"role":"assistant",` + rest + `}]` }
	for data, want := range map[string]string{
		`{`:                               "byte 1: unexpected end of JSON input",
		`{}`:                              "the conversation is not a list",
		`[1]`:                             "message 1: it is not an object",
		`[{"role":"user","content":1}]`:   "message 1: content is neither a text nor a list of blocks",
		`[{"role":"user"}]`:               "message 1: content is missing",
		`[{"content":""}]`:                "message 1: role is missing",
		`[{"role":1,"content":""}]`:       "message 1: role is not a text",
		`[{"role":"model","content":""}]`: `message 1: role "model" is unknown: the roles are system, user, assistant and tool`,
		`[{"role":"user","content":"","Content":"x"}]`:                                                     `message 1: field "Content" is unknown: the fields are role, content, tool_calls, has_tool_calls`,
		`[{"role":"user","content":"","tool_calls":[]}]`:                                                   "message 1: tool_calls belongs to a message of role assistant, not user",
		`[{"role":"tool","content":[{"type":"text"}]}]`:                                                    `message 1: content[0]: a message of role tool has only tool_result blocks, and this is of type "text"`,
		block(`{"type":"text","text":"a"},2`):                                                              "message 2: content[1]: it is not an object",
		block(`{"text":"a"}`):                                                                              "message 2: content[0]: type is missing",
		block(`{"type":"audio"}`):                                                                          `message 2: content[0]: type "audio" is unknown: the types are text, image, tool_use, tool_result, reasoning, opaque`,
		block(`{"type":"text","txt":"a"}`):                                                                 `message 2: content[0]: field "txt" is unknown: the fields are type, text`,
		block(`{"type":"text"}`):                                                                           "message 2: content[0]: text is missing",
		block(`{"type":"reasoning","text":null}`):                                                          "message 2: content[0]: text is not a text",
		block(`{"type":"tool_use","id":"a"}`):                                                              "message 2: content[0]: a tool_use block stands in a message of role assistant, not user",
		block(`{"type":"tool_result","content":"a"}`):                                                      "message 2: content[0]: tool_use_id is missing",
		block(`{"type":"tool_result","tool_use_id":"a"}`):                                                  "message 2: content[0]: content is missing",
		block(`{"type":"image"}`):                                                                          "message 2: content[0]: source: it is not an object",
		block(`{"type":"image","source":{"type":"file"}}`):                                                 `message 2: content[0]: source: type "file" is unknown: the types are base64 and url`,
		block(`{"type":"opaque","provider":"p","model":"m"}`):                                              "message 2: content[0]: data is missing",
		block(`{"type":"opaque","model":"m","data":{}}`):                                                   "message 2: content[0]: provider is missing",
		reply(`"content":[{"type":"tool_use","id":"a"}]`):                                                  "message 1: content[0]: name is missing",
		reply(`"content":[{"type":"tool_result"}]`):                                                        "message 1: content[0]: a tool_result block stands in a message of role user, not assistant",
		reply(`"content":"","tool_calls":{}`):                                                              "message 1: tool_calls is not a list",
		reply(`"content":"","tool_calls":[{"id":"a","f":1}]`):                                              `message 1: tool_calls[0]: field "f" is unknown: the fields are id, name, arguments`,
		reply(`"content":"","has_tool_calls":1`):                                                           "message 1: has_tool_calls is neither true nor false",
		reply(`"content":"","has_tool_calls":true`):                                                        "message 1: has_tool_calls is true, and there are 0 tool calls",
		reply(`"content":[],"tool_calls":[],"role":"system"`):                                              "message 1: tool_calls belongs to a message of role assistant, not system",
		reply(`"content":[{"type":"opaque","provider":"p"}]`):                                              "message 1: content[0]: model is missing",
		block(`{"type":"tool_result","tool_use_id":"a","content":"","is_error":"no"}`):                     "message 2: content[0]: is_error is neither true nor false",
		block(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%"}}`):           "message 2: content[0]: source: data is not base64",
		block(`{"type":"image","source":{"type":"url","url":"u","data":""}}`):                              `message 2: content[0]: source: field "data" is unknown: the fields are type, url`,
		reply(`"content":"","tool_calls":[{"id":"a","name":"f","arguments":[]}]`):                          "message 1: tool_calls[0]: arguments is not an object",
		reply(`"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"has_tool_calls":false`):     "message 1: has_tool_calls is false, and there are 1 tool calls",
		reply(`"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"tool_calls":[]`):            "message 1: tool_calls says otherwise than the tool_use blocks of content: change both, or leave tool_calls out",
		reply(`"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"tool_calls":null,"x":null`): `message 1: field "x" is unknown: the fields are role, content, tool_calls, has_tool_calls`,
		reply(`"content":[{"type":"tool_use","id":"a","name":"f","arguments":{}}]`):                        `message 1: content[0]: field "arguments" is unknown: the fields are type, id, name, input`,
	} {
		m, _, err := conversation.Parse([]byte(data))
		if err == nil || m != nil || err.Error() != "read a conversation: "+want {
			t.Errorf("%s\n got %v\nwant %s", data, err, want)
		}
	}
}

// TestParseRepairs: what lacks its other half is mended with a word, but for the
// calls at the end, whose results are to come.
func TestParseRepairs(t *testing.T) {
	m, warnings, err := conversation.Parse([]byte(`[
		{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"f","arguments":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"z","content":"?"}]},
		{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"f","arguments":"x"}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := conversation.Messages{
		assistant(call("a", "f", "{}")),
		results(backends.ToolResult{CallID: "a", Name: "f", Content: backends.NoResult, IsError: true}),
		assistant(call("a", "f", `{"invalid_arguments":"x"}`)),
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(warnings, "\n"); got != `message 2: the result for "z" was left out: no call waits for it
message 1: the call "a" of f has no result, and was given one that says so` {
		t.Errorf("the warnings are\n%s", got)
	}
}

// TestDocumentedConversation: the example of the documentation has the form that is
// written.
func TestDocumentedConversation(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "conversation.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(doc), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	m, warnings, err := conversation.Parse([]byte(example))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, warnings)
	}
	written, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal([]byte(example), &want), json.Unmarshal(written, &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-documented +written)\n%s", diff)
	}
}

// drawMessages draws any messages, with calls and results that seldom match.
func drawMessages(t *rapid.T) conversation.Messages {
	id := rapid.SampledFrom([]string{"", "call_1", "a", "b"})
	name := rapid.SampledFrom([]string{"", "vote", "functions.vote"})
	arguments := rapid.SampledFrom([]string{"", "{}", ` {"a": [1.50, 1e400]}`, `{"<a>":"&\u2028"}`, `{"a":`, "[1]", "null", "plain"})
	text := rapid.SampledFrom([]string{"", "hello", "<b> & \u2028\x00\"", "\n"})
	part := rapid.OneOf(
		rapid.Map(text, func(s string) backends.Part { return backends.Text{Text: s} }),
		rapid.Map(text, func(s string) backends.Part { return backends.Reasoning{Text: s} }),
		rapid.SampledFrom([]backends.Part{
			backends.Image{URL: "https://x/y"}, backends.Image{MediaType: "image/png", Data: []byte("\xff\x00")},
			backends.Opaque{Provider: "p", Model: "m", Data: []byte(`{"signature":"EqQB+/8=","thinking":"<a>","n":1.0}`)},
			backends.Opaque{Data: []byte(`"text"`)},
		}),
		rapid.Custom(func(t *rapid.T) backends.Part {
			return call(id.Draw(t, "id"), name.Draw(t, "name"), arguments.Draw(t, "arguments"))
		}),
		rapid.Custom(func(t *rapid.T) backends.Part {
			return backends.ToolResult{CallID: id.Draw(t, "id"), Content: text.Draw(t, "content"), IsError: rapid.Bool().Draw(t, "error")}
		}),
	)
	role := rapid.SampledFrom([]backends.Role{backends.RoleSystem, backends.RoleUser, backends.RoleAssistant, backends.RoleTool})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backends.Message {
		return message(role.Draw(t, "role"), rapid.SliceOfN(part, 0, 4).Draw(t, "parts")...)
	}), 0, 8).Draw(t, "messages")
}

// TestJSONRoundTrip: a conversation reads back equal, its opaque parts too.
// Arguments and opaque data are the same JSON, if not the same bytes.
func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want, _ := drawMessages(t).Repaired()
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, warnings, err := conversation.Parse(data)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		if diff := cmp.Diff(sameJSON(t, want), sameJSON(t, got), cmpopts.EquateEmpty()); diff != "" || len(warnings) > 0 {
			t.Fatalf("warnings %q, (-want +got)\n%s\nin %s", warnings, diff, data)
		}
	})
}

// sameJSON writes what is JSON in a conversation in one way.
func sameJSON(t interface{ Fatal(...any) }, m conversation.Messages) conversation.Messages {
	same := func(data []byte) []byte {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var out conversation.Messages
	for _, m := range m {
		copied := message(m.Role)
		for _, p := range m.Parts {
			switch q := p.(type) {
			case backends.ToolCall:
				q.Arguments = string(same([]byte(q.Arguments)))
				p = q
			case backends.Opaque:
				q.Data = same(q.Data)
				p = q
			}
			copied.Parts = append(copied.Parts, p)
		}
		out = append(out, copied)
	}
	return out
}

// FuzzParse: what can be read is valid, and reads back equal.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}}]}]`))
	f.Add([]byte(`[{"role":"tool","content":[{"type":"tool_result","tool_use_id":"a","content":"b"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"","name":"","arguments":"x"}]}]`))
	f.Add([]byte(`[{"role":"assistant","content":[{"type":"opaque","provider":"p","model":"m","data":[1, 2]}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := conversation.Parse(data)
		if err != nil {
			return
		}
		written, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, warnings, err := conversation.Parse(written)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v, warnings %q", err, warnings)
		}
		if diff := cmp.Diff(sameJSON(t, m), sameJSON(t, again), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestMessagesOfSeed004 are those of its message format reference, of chat completions, and of Ollama.
func TestMessagesOfSeed004(t *testing.T) {
	want := conversation.Messages{
		backends.User("Create a file"),
		assistant(backends.Text{Text: "Let me create that file..."}, call("call_123", "filesystem", `{"operation":"write"}`), call("call_124", "shell", `{}`)),
		results(result("call_123", "filesystem", `{"success": true}`), result("call_124", "shell", "done")),
		backends.Assistant("It is there."),
	}
	const begin, end = `[{"role":"user","content":"Create a file"},{"role":"assistant","content":"Let me create that file...","tool_calls":[`, `{"role":"assistant","content":"It is there."}]`
	for name, c := range map[string]struct{ calls, results, ids string }{
		"seed 004": {
			`{"id":"call_123","function":{"name":"filesystem","arguments":{"operation":"write"}}},{"id":"call_124","function":{"name":"shell","arguments":{}}}`,
			`{"role":"tool","content":"{\"success\": true}"},{"role":"tool","content":"done"}`, "",
		},
		"chat completions": {
			`{"id":"call_123","type":"function","function":{"name":"filesystem","arguments":"{\"operation\":\"write\"}"}},{"id":"call_124","type":"function","function":{"name":"shell","arguments":"{}"}}`,
			`{"role":"tool","tool_call_id":"call_124","content":"done"},{"role":"tool","tool_call_id":"call_123","content":"{\"success\": true}"}`, "",
		},
		"Ollama": {
			`{"function":{"index":0,"name":"filesystem","arguments":{"operation":"write"}}},{"function":{"index":1,"name":"shell"}}`,
			`{"role":"tool","tool_name":"shell","content":"done"},{"role":"tool","name":"filesystem","content":"{\"success\": true}"}`, "noid",
		},
	} {
		want := slices.Clone(want)
		if c.ids != "" {
			want[1] = assistant(backends.Text{Text: "Let me create that file..."}, call("noid00001", "filesystem", `{"operation":"write"}`), call("noid00002", "shell", `{}`))
			want[2] = results(result("noid00001", "filesystem", `{"success": true}`), result("noid00002", "shell", "done"))
		}
		got, warnings, err := conversation.Parse([]byte(begin + c.calls + `]},` + c.results + `,` + end))
		if diff := cmp.Diff(want, got); diff != "" || err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %q (-want +got):\n%s", name, err, warnings, diff)
		}
	}
	orphan, warnings, err := conversation.Parse([]byte(`[{"role":"user","content":"a"},{"role":"tool","content":"x"}]`))
	if diff := cmp.Diff(conversation.Messages{backends.User("a")}, orphan); diff != "" || err != nil || len(warnings) != 1 {
		t.Errorf("a result without a call: %v, %q (-want +got):\n%s", err, warnings, diff)
	}
	for text, want := range map[string]string{
		`[{"role":"tool","content":"x","tool_calls":[]}]`:                                                      `message 1: field "tool_calls" is unknown: the fields are role, content, tool_call_id, tool_name, name, is_error`,
		`[{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"arguments":{}}}]}]`:            "message 1: tool_calls[0]: function: name is missing",
		`[{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":[]}}]}]`: "message 1: tool_calls[0]: function: arguments is not an object",
		`[{"role":"assistant","content":"","tool_calls":[{"id":"a","function":3}]}]`:                           "message 1: tool_calls[0]: function: it is not an object",
		`[{"role":"user","content":"x","tool_call_id":"a"}]`:                                                   `message 1: field "tool_call_id" is unknown: the fields are role, content, tool_calls, has_tool_calls`,
	} {
		if _, _, err := conversation.Parse([]byte(text)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
