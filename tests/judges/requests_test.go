//go:build judges

package judges

import (
	"context"
	"encoding/json"

	"iter"
	"slices"
	"strings"

	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/described"
)

// TestRequests holds what the adapters send to what the providers say of their APIs.
func TestRequests(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			schema := bodySchema(t, s.name)
			t.Run("suite", func(t *testing.T) { runSuite(t, s, schema) })
			t.Run("more", func(t *testing.T) { sendMore(t, s, schema) })
			t.Run("spoilt", func(t *testing.T) { spoilRequests(t, s, schema) })
		})
	}
}

// runSuite runs the suite of the adapters, and checks every request in it.
func runSuite(t *testing.T, s subject, schema *jsonschema.Schema) {
	backendtest.Run(t, func(t *testing.T, settings backendtest.Settings) backendtest.Harness {
		reply := settings.Reply
		settings.Reply = func(c backendtest.Call) backendtest.Reply {
			if err := described.Check(schema, s.described(t, c.Body)); err != nil {
				t.Errorf("request %d: %v: %s", c.Number, err, c.Body)
			}
			return reply(c)
		}
		protocol := s.wire()
		server := settings.Serve(t, protocol)
		if s.anybody != nil {
			s.connect = s.anybody
		}
		backend := withoutExtraBody{s.dial(t, server.BaseURL, settings)}
		return backendtest.Harness{Backend: backend, Provider: s.name, Calls: server.Calls, AwaitIdle: server.AwaitIdle, WholeCalls: protocol.WholeCalls}
	})
}

// described is what a description is about in a body: the suite sends a stop, which OpenAI does
// not take over the Responses API, and others do.
func (s subject) described(t *testing.T, body []byte) []byte {
	if s.anybody == nil {
		return body
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Error(err)
	}
	delete(fields, "stop")
	left, err := json.Marshal(fields)
	if err != nil {
		t.Error(err)
	}
	return left
}

// withoutExtraBody leaves away what nobody describes: extra_body holds what a person
// wants to be sent as it stands.
type withoutExtraBody struct{ backends.Backend }

func (b withoutExtraBody) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	req.Params.ExtraBody = nil
	return b.Backend.Stream(ctx, req)
}

// sendMore sends what the suite does not, with the names of models for which the
// adapters send different things. An adapter may refuse what a model does not take,
// but not for all models.
func sendMore(t *testing.T, s subject, schema *jsonschema.Schema) {
	for name, req := range requests() {
		sent := 0
		for _, model := range s.models {
			req.Model = model
			sent += sendJudged(t, s, name, req, schema)
		}
		if isRefused := slices.Contains(s.refuses, name); isRefused != (sent == 0) {
			t.Errorf("%s: %d requests were sent, in spite of %q", name, sent, s.refuses)
		}
	}
}

// sendJudged sends a request, and after it what came back, with the results of its
// calls. It returns how many requests were sent: none, if the adapter refuses the
// request by name.
func sendJudged(t *testing.T, s subject, name string, req backends.Request, schema *jsonschema.Schema) int {
	t.Helper()
	bodies, err := loop(t, s, req)
	for _, body := range bodies {
		if err := described.Check(schema, body); err != nil {
			t.Errorf("%s, %s: %v: %s", name, req.Model, err, body)
		}
	}
	switch {
	case err == nil && len(bodies) == 2:
		if signed := strings.Contains(string(bodies[1]), signature); signed != s.signs {
			t.Errorf("%s, %s: the signature goes back: %t: %s", name, req.Model, signed, bodies[1])
		}
	case err == nil || backends.KindOf(err) != backends.KindBadRequest || len(bodies) != 0 || !names(err, name):
		t.Errorf("%s, %s: %d requests and %v", name, req.Model, len(bodies), err)
	}
	return len(bodies)
}

// names reports whether an error is about what a request is called after.
func names(err error, request string) bool {
	what, _, _ := strings.Cut(request, " ")
	return strings.Contains(err.Error(), what)
}

const signature = "c2lnbmVk"

// loop sends a request to a server that thinks and calls two tools, and then their
// results. It returns the bodies that were sent.
func loop(t *testing.T, s subject, req backends.Request) ([][]byte, error) {
	t.Helper()
	calls := []backends.ToolCall{
		{ID: "call_1", Name: "look_up", Arguments: `{"subject":"a"}`}, {ID: "call_2", Name: "look_up", Arguments: "{}"},
	}
	server := s.serve(t, func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Reasoning: "hm", Signature: signature, Text: "I look.", ToolCalls: calls}
	})
	backend := s.dial(t, server.BaseURL, backendtest.Settings{})
	resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	if err != nil {
		return server.Bodies(), err
	}
	req.Messages = append(slices.Clone(req.Messages), resp.Message, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{
		backends.ToolResult{CallID: "call_1", Name: "look_up", Content: "found"},
		backends.ToolResult{CallID: "call_2", Name: "look_up", Content: "no subject", IsError: true},
	}})
	_, err = backends.Collect(backend.Stream(t.Context(), req), nil)
	return server.Bodies(), err
}

func requests() map[string]backends.Request {
	messages := []backends.Message{backends.System("Be brief."), backends.User(question)}
	out := map[string]backends.Request{
		"plain":  {Messages: messages},
		"tools":  {Messages: messages, Tools: []backends.Tool{(&library{}).Definition(), {Name: "bare"}}},
		"schema": {Messages: messages, Schema: (&library{}).Definition().Schema},
		"images": {Messages: []backends.Message{{Role: backends.RoleUser, Parts: []backends.Part{
			backends.Text{Text: "Look:"},
			backends.Image{MediaType: "image/png", Data: []byte{0x89, 'P', 'N', 'G'}},
			backends.Image{MediaType: "image/jpeg", URL: "https://example.com/a.jpg"},
		}}}},
	}
	zero, one, most, seed := 0.0, 1.0, 4000, int64(7)
	for name, params := range map[string]backends.Params{
		"temperature 0": {Temperature: &zero},
		"temperature 1": {Temperature: &one},
		"top_p":         {TopP: &zero},
		"max_tokens":    {MaxTokens: &most},
		"stop":          {Stop: []string{"END", "STOP"}},
		"seed":          {Seed: &seed},
	} {
		out[name] = backends.Request{Messages: messages, Params: params}
	}
	for _, effort := range []string{"none", "minimal", "low", "medium", "high", "xhigh"} {
		out["reasoning "+effort] = backends.Request{Messages: messages, Params: backends.Params{ReasoningEffort: effort}}
	}
	return out
}

// spoilRequests shows that the descriptions find faults, and that they do not find
// those in the order of calls and results: these are found by our own check.
func spoilRequests(t *testing.T, s subject, schema *jsonschema.Schema) {
	req := requests()["tools"]
	req.Model = s.models[1]
	bodies, err := loop(t, s, req)
	if err != nil {
		t.Fatal(err)
	}
	good := string(bodies[1])
	for _, spoil := range s.spoilt {
		bad := strings.Replace(good, spoil[0], spoil[1], 1)
		if bad == good || described.Check(schema, []byte(bad)) == nil {
			t.Errorf("%s in place of %s passes: %s", spoil[1], spoil[0], bad)
		}
	}
	disorderly := strings.Replace(good, s.result[0], s.result[1], 1)
	if err := described.Check(schema, []byte(disorderly)); err != nil {
		t.Errorf("the description sees the order, too: %v: %s", err, disorderly)
	}
	if s.order([]byte(disorderly)) == nil || s.order([]byte(good)) != nil {
		t.Errorf("the order is not seen: %s", disorderly)
	}
}
