package backendtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/blob"
)

func requestChecks() []check {
	return []check{
		{"conversation arrives", checkConversation},
		{"image arrives", checkImage},
		{"files arrive", checkFiles},
		{"tools arrive", checkTools},
		{"schema of the reply arrives", checkSchema},
		{"parameters arrive", checkParams},
		{"headers arrive", checkHeaders},
		{"request is repaired", checkRepaired},
		{"any conversation is sent in order", checkAnyOrder},
		{"same request, same bytes", checkSameBytes},
	}
}

// checkConversation sends a turn with tool results, one of them empty.
func checkConversation(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "done"})})
	req := ask()
	req.Messages = []backends.Message{
		backends.System("<rules> & \"more\""),
		backends.User("first"),
		{Role: backends.RoleAssistant, Parts: []backends.Part{
			backends.Reasoning{Text: "not to be sent"},
			backends.Opaque{Provider: "another", Model: "another", Data: json.RawMessage(`{"secret":1}`)},
			backends.Text{Text: "I call two"}, vote("c1", "agent1"), vote("c2", "agent2"),
		}},
		{Role: backends.RoleTool, Parts: []backends.Part{
			backends.ToolResult{CallID: "c1", Name: "vote", Content: "counted"},
			backends.ToolResult{CallID: "c2", Name: "vote", Content: ""},
		}},
		backends.Assistant("second"),
		backends.User("third"),
	}
	h.mustCall(t, req)
	want := []backends.Message{
		req.Messages[0], req.Messages[1],
		{Role: backends.RoleAssistant, Parts: req.Messages[2].Parts[2:]},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "c1", Content: "counted"}}},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "c2", Content: ""}}},
		req.Messages[4], req.Messages[5],
	}
	same(t, "what the server received", want, plainResults(h.Calls()[0].Messages()))
	same(t, "the model", "test-model", h.Calls()[0].Model())
}

// plainResults gives each tool result a message of its own and leaves away what
// not every protocol can say.
func plainResults(messages []backends.Message) []backends.Message {
	var out []backends.Message
	for _, m := range messages {
		if m.Role != backends.RoleTool {
			out = append(out, m)
			continue
		}
		for _, p := range m.Parts {
			if r, ok := p.(backends.ToolResult); ok {
				p = backends.ToolResult{CallID: r.CallID, Content: r.Content}
			}
			out = append(out, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{p}})
		}
	}
	return out
}

func checkImage(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "seen"})})
	want := backends.Message{Role: backends.RoleUser, Parts: []backends.Part{
		backends.Text{Text: "look:"},
		backends.Image{MediaType: "image/png", Data: []byte{0x89, 'P', 'N', 'G', 0, 0xff}},
		backends.Image{URL: "https://example.com/a.png"},
	}}
	req := ask()
	req.Messages = []backends.Message{want}
	h.mustCall(t, req)
	same(t, "what the server received", []backends.Message{want}, h.Calls()[0].Messages())
}

// checkFiles sends files with a question and with the results of tools. They must arrive byte for
// byte and in order, those of a tool after its call.
func checkFiles(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "seen"})})
	png := receivedFile("image/png", []byte{0x89, 'P', 'N', 'G', 0, 0xff})
	pdf := receivedFile("application/pdf", []byte("%PDF-1.7\n\x00\xfe"))
	first, second := receivedFile("image/jpeg", []byte{0xff, 0xd8, 0xff, 1}), receivedFile("image/webp", []byte("RIFF\x01"))
	req := ask()
	req.Messages = []backends.Message{
		{Role: backends.RoleUser, Parts: []backends.Part{png, pdf, backends.Text{Text: "look"}}},
		{Role: backends.RoleAssistant, Parts: []backends.Part{vote("c1", "agent1"), vote("c2", "agent1")}},
		{Role: backends.RoleTool, Parts: []backends.Part{
			backends.ToolResult{CallID: "c1", Name: "vote", Content: "one", Files: []backends.File{first}},
			backends.ToolResult{CallID: "c2", Name: "vote", Content: "two", Files: []backends.File{second}},
		}},
	}
	h.mustCall(t, req)
	same(t, "the files that the server received", []backends.File{png, pdf, first, second}, filesIn(h.Calls()[0].Messages()))
	body := h.Calls()[0].Body
	for _, f := range []backends.File{png, pdf, first, second} {
		same(t, "how often the body has "+f.MediaType, 1, bytes.Count(body, []byte(base64.StdEncoding.EncodeToString(f.Data))))
	}
}

// receivedFile is a file as it came over the wire.
func receivedFile(mediaType string, data []byte) backends.File {
	return backends.File{File: blob.File{MediaType: mediaType}, Data: data}
}

// filesIn are the files of messages in the order in which they stand there.
func filesIn(messages []backends.Message) (files []backends.File) {
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case backends.Image:
				files = append(files, receivedFile(p.MediaType, p.Data))
			case backends.ToolResult:
				files = append(files, p.Files...)
			}
		}
	}
	return files
}

func checkTools(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "ok"})})
	schema := `{"type":"object","properties":{"z":{"type":"string"},"a":{"enum":["x","y"]}},"required":["z"]}`
	req := ask()
	req.Tools = []backends.Tool{
		{Name: "zeta", Description: "the last < first", Schema: json.RawMessage(schema)},
		{Name: "alpha", Description: "the other", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
	h.mustCall(t, req)
	got := h.Calls()[0].Request().Tools
	if diff := cmp.Diff(req.Tools, got); diff != "" {
		t.Errorf("the tools differ; their order and bytes matter to prompt caches (-want +got):\n%s", diff)
	}
	h.mustCall(t, ask())
	same(t, "the tools of a request without any", []string(nil), h.Calls()[1].ToolNames())
}

func checkSchema(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: `{"z":1}`})})
	req := ask()
	req.Schema = json.RawMessage(`{"type":"object","properties":{"z":{"enum":["<","a"]},"a":{}},"required":["z"],"additionalProperties":false}`)
	h.mustCall(t, req)
	same(t, "the schema", string(req.Schema), string(h.Calls()[0].Request().Schema))
	h.mustCall(t, ask())
	same(t, "the schema of a request without any", "", string(h.Calls()[1].Request().Schema))
	req.Schema = json.RawMessage("{")
	_, err := h.mustFail(t, req)
	same(t, "the kind of error for a schema that is none", backends.KindBadRequest, err.Kind)
	same(t, "the number of requests", 2, len(h.Calls()))
}

func checkParams(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "ok"})})
	zero, most := 0.0, 321
	req := ask()
	req.Params = backends.Params{Temperature: &zero, MaxTokens: &most, Stop: []string{"END"}}
	h.mustCall(t, req)
	same(t, "the parameters", req.Params, h.Calls()[0].Request().Params)
}

func checkHeaders(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "ok"})})
	req := ask()
	req.Params.Headers = map[string]string{"X-Title": "massgen"}
	h.mustCall(t, req)
	same(t, "the header", "massgen", h.Calls()[0].Header.Get("X-Title"))
}

// checkRepaired sends what a cancelled step leaves: a call without its result, a
// result without its call, arguments that are no JSON.
func checkRepaired(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "ok"})})
	req := ask()
	req.Messages = []backends.Message{
		backends.User("go"),
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "gone", Content: "an orphan"}}},
		{Role: backends.RoleAssistant, Parts: []backends.Part{
			vote("c1", "agent1"), backends.ToolCall{ID: "c2", Name: "vote", Arguments: `{"agent_id":`},
		}},
		backends.User("go on"),
	}
	h.mustCall(t, req)
	want := plainResults(backends.Repair(req.Messages))
	same(t, "what the server received", want, plainResults(h.Calls()[0].Messages()))
}

// checkAnyOrder sends conversations in which calls and results stand anywhere. The
// server fails the test if one arrives that a service would refuse.
func checkAnyOrder(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "ok"})})
	random := rand.New(rand.NewPCG(4, 2))
	for range 200 {
		req := ask()
		for range random.IntN(7) {
			req.Messages = append(req.Messages, anyMessage(random))
		}
		h.mustCall(t, req)
	}
}

func anyMessage(random *rand.Rand) backends.Message {
	roles := []backends.Role{backends.RoleUser, backends.RoleAssistant, backends.RoleAssistant, backends.RoleTool, backends.RoleSystem}
	m := backends.Message{Role: roles[random.IntN(len(roles))]}
	for range random.IntN(4) {
		id := []string{"", "a", "b", "a.b"}[random.IntN(4)]
		switch random.IntN(3) {
		case 0:
			m.Parts = append(m.Parts, backends.Text{Text: "text"})
		case 1:
			m.Parts = append(m.Parts, vote(id, "agent1"))
		default:
			m.Parts = append(m.Parts, backends.ToolResult{CallID: id, Name: "vote", Content: "counted"})
		}
	}
	return m
}

func checkSameBytes(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "ok"})})
	req := ask()
	req.Tools = []backends.Tool{{Name: "t", Schema: json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)}}
	req.Params.ExtraBody = map[string]any{"z": 1, "y": map[string]any{"q": 1, "p": 2}, "x": []string{"b", "a"}, "w": true}
	h.mustCall(t, req)
	for range 5 {
		h.mustCall(t, req)
		calls := h.Calls()
		same(t, "the body", string(calls[0].Body), string(calls[len(calls)-1].Body))
	}
}
