package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/tests/backendtest"
)

// conversation is a backend, its server, and what was said until now.
type conversation struct {
	server  *backendtest.Server
	backend *gemini.Backend
	request backends.Request
}

// newConversation starts one in which the server answers with each of replies in
// turn.
func newConversation(t *testing.T, model string, replies ...string) *conversation {
	t.Helper()
	server := backendtest.NewProtocolServer(t, backendtest.GenerateContent(), func(c backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Raw: replies[c.Number-1]}
	})
	return &conversation{
		server:  server,
		backend: newBackend(t, gemini.Config{BaseURL: server.BaseURL}),
		request: backends.Request{Model: model, Messages: []backends.Message{backends.User("go")}},
	}
}

// step calls the model, keeps what it said as a store would, and answers its calls.
func (c *conversation) step(t *testing.T) {
	t.Helper()
	resp, err := backends.Collect(c.backend.Stream(t.Context(), c.request), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(resp.Message)
	if err != nil {
		t.Fatal(err)
	}
	var stored backends.Message
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	c.request.Messages = append(c.request.Messages, stored)
	results := backends.Message{Role: backends.RoleTool}
	for _, call := range stored.ToolCalls() {
		results.Parts = append(results.Parts, backends.ToolResult{CallID: call.ID, Name: call.Name, Content: "done"})
	}
	if len(results.Parts) > 0 {
		c.request.Messages = append(c.request.Messages, results)
	}
}

// lastContents returns the contents of the last request, as they were sent.
func (c *conversation) lastContents(t *testing.T) string {
	t.Helper()
	bodies := c.server.Bodies()
	var body struct{ Contents json.RawMessage }
	if err := json.Unmarshal(bodies[len(bodies)-1], &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Contents)
}

func finished(parts string) string {
	return `data: {"candidates":[{"content":{"role":"model","parts":[` + parts + `]},"finishReason":"STOP"}]}` + "\n\n"
}

// TestLoopOfTwoCalls: Gemini 3 refuses the third request if one signature is
// missing or has changed.
func TestLoopOfTwoCalls(t *testing.T) {
	const (
		first  = `{"functionCall":{"id":"fc1","name":"search","args":{"z":1,"a":"<b>"}},"thoughtSignature":"Zmlyc3Q+Pz8="}`
		second = `{"functionCall":{"id":"fc2","name":"read","args":{"n":12345678901234567890}},"thoughtSignature":"c2Vjb25k"}`
		last   = `{"text":"","thoughtSignature":"bGFzdA=="}`
		user   = `{"role":"user","parts":[{"text":"go"}]}`
	)
	result := func(id, name string) string {
		return `{"role":"user","parts":[{"functionResponse":{"id":"` + id + `","name":"` + name + `","response":{"output":"done"}}}]}`
	}
	model := func(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }
	c := newConversation(t, "gemini-3-pro",
		finished(first), finished(second), finished(`{"text":"It"},{"text":" is so."},`+last), finished(`{"text":"bye"}`))
	c.step(t)
	c.step(t)
	c.step(t)
	twoSteps := user + "," + model(first) + "," + result("fc1", "search") + "," + model(second) + "," + result("fc2", "read")
	if diff := cmp.Diff("["+twoSteps+"]", c.lastContents(t)); diff != "" {
		t.Errorf("the third request differs (-want +got):\n%s", diff)
	}
	c.request.Messages = append(c.request.Messages, backends.User("thanks"))
	c.step(t)
	want := "[" + twoSteps + "," + model(`{"text":"It is so."},`+last) + `,{"role":"user","parts":[{"text":"thanks"}]}]`
	if diff := cmp.Diff(want, c.lastContents(t)); diff != "" {
		t.Errorf("the fourth request differs (-want +got):\n%s", diff)
	}
}

// returned says how the parts of an answer come back in the next request; an empty
// want means as they came.
var returned = []struct{ name, parts, want string }{
	{
		"two calls, of which the first is signed",
		`{"functionCall":{"id":"a","name":"x","args":{}},"thoughtSignature":"QQ=="},{"functionCall":{"id":"b","name":"y","args":{}}}`,
		"",
	},
	{
		"a call, and a signature in an empty part",
		`{"functionCall":{"id":"a","name":"x","args":{}}},{"text":"","thoughtSignature":"QQ=="}`,
		"",
	},
	{
		"a signed text after one that is not",
		`{"text":"one"},{"text":" two","thoughtSignature":"a-b_"}`,
		"",
	},
	{
		"two signed texts",
		`{"text":"one","thoughtSignature":"QQ=="},{"text":"two","thoughtSignature":"Qg=="}`,
		"",
	},
	{
		"thoughts, signed and not",
		`{"text":"hm","thought":true},{"text":"so","thought":true,"thoughtSignature":"QQ=="},{"text":"yes"}`,
		`{"text":"so","thought":true,"thoughtSignature":"QQ=="},{"text":"yes"}`,
	},
	{
		"a part of another kind",
		`{"executableCode":{"code":"1 + 2"},"thoughtSignature":"QQ=="},{"text":"yes"}`,
		"",
	},
	{
		"a signature in a part without a text",
		`{"text":"yes"},{"thoughtSignature":"QQ=="}`,
		`{"text":"yes"},{"text":"","thoughtSignature":"QQ=="}`,
	},
	{
		"a signed call, and another signature",
		`{"functionCall":{"id":"a","name":"x","args":{}},"thoughtSignature":"QQ=="},{"thoughtSignature":"Qg=="}`,
		`{"functionCall":{"id":"a","name":"x","args":{}},"thoughtSignature":"QQ=="},{"text":"","thoughtSignature":"Qg=="}`,
	},
	{
		"calls without ids",
		`{"functionCall":{"name":"x","args":{}},"thoughtSignature":"QQ=="},{"functionCall":{"name":"x","args":{}}}`,
		"",
	},
}

// TestPartsComeBackAsTheyWere answers once, and looks at what the next request says
// of it.
func TestPartsComeBackAsTheyWere(t *testing.T) {
	for _, c := range returned {
		t.Run(c.name, func(t *testing.T) {
			talk := newConversation(t, "gemini-3-flash", finished(c.parts), finished(`{"text":"bye"}`))
			talk.step(t)
			if talk.request.Messages[len(talk.request.Messages)-1].Role != backends.RoleTool {
				talk.request.Messages = append(talk.request.Messages, backends.User("more"))
			}
			talk.step(t)
			want := c.want
			if want == "" {
				want = c.parts
			}
			var contents []struct{ Parts json.RawMessage }
			if err := json.Unmarshal([]byte(talk.lastContents(t)), &contents); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("["+want+"]", string(contents[1].Parts)); diff != "" {
				t.Errorf("the model's message differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCallsWithoutIDs: an id that was made up here is not sent.
func TestCallsWithoutIDs(t *testing.T) {
	c := newConversation(t, "gemini-2.5-flash",
		finished(`{"functionCall":{"name":"x","args":{}}},{"functionCall":{"name":"y","args":{}}}`), finished(`{"text":"bye"}`))
	c.step(t)
	c.step(t)
	const want = `[{"role":"user","parts":[{"text":"go"}]},` +
		`{"role":"model","parts":[{"functionCall":{"name":"x","args":{}}},{"functionCall":{"name":"y","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":"done"}}},{"functionResponse":{"name":"y","response":{"output":"done"}}}]}]`
	if diff := cmp.Diff(want, c.lastContents(t)); diff != "" {
		t.Errorf("the request differs (-want +got):\n%s", diff)
	}
}
