//go:build judges

package judges

import (
	"fmt"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/described"
)

// TestConversationMovesThroughAllServices has all services go on with one conversation, one after the
// other and twice: with thoughts, searches, code, calls of tools, pictures and a PDF of each before. Each
// request is what its provider describes, with calls and results in order.
func TestConversationMovesThroughAllServices(t *testing.T) {
	models := map[string]string{"openai": "gpt-4.1", "responses": "gpt-5.4", "anthropic": "claude-opus-4-6", "gemini": "gemini-3.5-flash"}
	picture := backends.File{File: blob.File{Name: "a.png", MediaType: "image/png", Width: 1, Height: 1}, Data: []byte{0x89, 'P', 'N', 'G'}}
	paper := backends.File{File: blob.File{Name: "a.pdf", MediaType: "application/pdf", Pages: 1}, Data: []byte("%PDF-1.7\n")}
	services := subjects()
	schemas := map[string]*jsonschema.Schema{}
	for _, s := range services {
		schemas[s.name] = bodySchema(t, s.name)
	}
	for from := range services {
		order := slices.Concat(services[from:], services[:from])
		t.Run("from "+order[0].name, func(t *testing.T) {
			history := []backends.Message{backends.System("Be brief.")}
			for i, s := range slices.Concat(order, order) {
				asked := backends.User(fmt.Sprint("And ", i, "?"))
				history = append(history, backends.Message{Role: backends.RoleUser, Parts: append([]backends.Part{picture, paper}, asked.Parts...)})
				calls := []backends.ToolCall{
					{ID: fmt.Sprintf("call_%d_1", i), Name: "look_up", Arguments: `{"subject":"a"}`}, {ID: fmt.Sprintf("call_%d_2", i), Name: "look_up", Arguments: "{}"},
				}
				server := s.serve(t, func(c backendtest.Call) backendtest.Reply {
					if c.Number > 1 {
						return backendtest.Reply{Text: "So it is.", Reasoning: "hm", Signature: signature}
					}
					found := []backends.Citation{{URL: "https://tides.example/", Title: "Tides"}}
					return backendtest.Reply{Reasoning: "hm", Signature: signature, Text: "I look.", ToolCalls: calls,
						Hosted: &backendtest.Hosted{Query: "tides", Found: found, Code: "print(42)", Output: "42"}}
				})
				backend := s.dial(t, server.BaseURL, backendtest.Settings{})
				req := backends.Request{Model: models[s.name], Tools: []backends.Tool{(&library{}).Definition()}}
				req.Params.Hosted = backends.HostedTools{WebSearch: s.name != "openai", CodeExecution: s.name != "openai"}
				for _, results := range [][]backends.Part{nil, {
					backends.ToolResult{CallID: calls[0].ID, Name: "look_up", Content: "found", Files: []backends.File{picture}},
					backends.ToolResult{CallID: calls[1].ID, Name: "look_up", Content: "no subject", IsError: true},
				}} {
					if len(results) > 0 {
						history = append(history, backends.Message{Role: backends.RoleTool, Parts: results})
					}
					req.Messages = slices.Clone(history)
					resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
					if err != nil {
						t.Fatalf("%s, request %d: %v", s.name, i, err)
					}
					history = append(history, resp.Message)
				}
				for _, body := range server.Bodies() {
					if err := described.Check(schemas[s.name], body); err != nil {
						t.Errorf("%s, request %d: %v: %s", s.name, i, err, body)
					}
					if err := s.order(body); err != nil {
						t.Errorf("%s, request %d: %v: %s", s.name, i, err, body)
					}
				}
			}
		})
	}
}
