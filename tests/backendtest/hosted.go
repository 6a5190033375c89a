package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// Hosted is what the tools of the service itself did in a reply, before its text: a search, if Query
// is not empty, and code, if Code is not. The text, if there is one, cites what was found.
type Hosted struct {
	Query string
	Found []backends.Citation
	// Code wrote Output.
	Code, Output string
}

// encrypted is what only the service can read of a page that it found.
const encrypted = "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5LTQ1NGUtODgxNC1kNjNjNTk1ZWI3Y=="

func (w *claudeWriter) hosted(h *Hosted) {
	if h == nil {
		return
	}
	if h.Query != "" {
		w.serverTool("srvtoolu_1", "web_search", object{"query": h.Query})
		results := []object{}
		for _, f := range h.Found {
			results = append(results, object{
				"type": "web_search_result", "url": f.URL, "title": f.Title, "encrypted_content": encrypted, "page_age": "May 2, 2026",
			})
		}
		w.start(object{"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": results})
		w.stop()
	}
	if h.Code != "" {
		w.serverTool("srvtoolu_2", "bash_code_execution", object{"command": h.Code})
		w.start(object{"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content": object{
			"type": "bash_code_execution_result", "stdout": h.Output + "\n", "stderr": "", "return_code": 0, "content": []any{},
		}})
		w.stop()
	}
}

func (w *claudeWriter) serverTool(id, name string, input object) {
	w.start(object{"type": "server_tool_use", "id": id, "name": name, "input": object{}})
	for _, piece := range halves(mustJSON(input)) {
		w.delta("input_json_delta", "partial_json", piece)
	}
	w.stop()
}

// cite writes the citations of the open text block.
func (w *claudeWriter) cite(h *Hosted) {
	if h == nil {
		return
	}
	for _, f := range h.Found {
		w.event("content_block_delta", object{"index": w.index, "delta": object{"type": "citations_delta", "citation": object{
			"type": "web_search_result_location", "url": f.URL, "title": f.Title, "cited_text": f.Text, "encrypted_index": "Eo8BCioIAhgB",
		}}})
	}
}

func (w *itemWriter) hosted(h *Hosted) {
	if h == nil {
		return
	}
	if h.Query != "" {
		w.begin(object{"type": "web_search_call", "id": "ws_1", "status": "in_progress"})
		w.event("response.web_search_call.searching", object{"item_id": "ws_1"})
		sources := []object{}
		for _, f := range h.Found {
			sources = append(sources, object{"type": "url", "url": f.URL})
		}
		w.done(object{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": object{
			"type": "search", "query": h.Query, "sources": sources,
		}})
	}
	if h.Code != "" {
		w.begin(object{"type": "code_interpreter_call", "id": "ci_1", "status": "in_progress", "code": "", "container_id": "cntr_1", "outputs": nil})
		w.event("response.code_interpreter_call_code.delta", object{"item_id": "ci_1", "delta": h.Code})
		w.done(object{
			"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": h.Code, "container_id": "cntr_1",
			"outputs": []object{{"type": "logs", "logs": h.Output + "\n"}},
		})
	}
}

// annotations are the sources that a text names.
func (h *Hosted) annotations(text string) []object {
	list := []object{}
	if h == nil {
		return list
	}
	for _, f := range h.Found {
		list = append(list, object{"type": "url_citation", "url": f.URL, "title": f.Title, "start_index": 0, "end_index": len(text)})
	}
	return list
}

// generateHosted writes the parts of hosted tools. A search stands there only in an answer to a
// request that has functions too.
func generateHosted(h *Hosted, withFunctions bool) string {
	if h == nil {
		return ""
	}
	var out strings.Builder
	if h.Query != "" && withFunctions {
		out.WriteString(partEvent(object{
			"toolCall":         object{"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": object{"queries": []string{h.Query}}},
			"thoughtSignature": "c2lnbmVk",
		}))
		out.WriteString(partEvent(object{
			"toolResponse": object{"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": object{"search_suggestions": "<div>"}}, "thoughtSignature": "c2lnbmVk",
		}))
	}
	if h.Code != "" {
		out.WriteString(partEvent(object{"executableCode": object{"language": "PYTHON", "code": h.Code}}))
		out.WriteString(partEvent(object{"codeExecutionResult": object{"outcome": "OUTCOME_OK", "output": h.Output + "\n"}}))
	}
	return out.String()
}

// grounding is what stands beside a content.
func (h *Hosted) grounding() object {
	chunks, indices := []object{}, []int{}
	for i, f := range h.Found {
		chunks = append(chunks, object{"web": object{"uri": f.URL, "title": f.Title}})
		indices = append(indices, i)
	}
	return object{
		"webSearchQueries": []string{h.Query}, "groundingChunks": chunks,
		"groundingSupports": []object{{"segment": object{"text": ""}, "groundingChunkIndices": indices}},
	}
}

// checkServerTools says what is wrong with the blocks of Claude's server tools in a request: each
// call has its result behind it in the same message, unless a paused answer goes on there.
func checkServerTools(body []byte) error {
	var request struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return fmt.Errorf("read the messages: %w", err)
	}
	for i, m := range request.Messages {
		var blocks []struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			ToolUseID string `json:"tool_use_id"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a text
		}
		var open []string
		for _, b := range blocks {
			switch {
			case b.Type == "server_tool_use":
				open = append(open, b.ID)
			case b.Type != "tool_result" && strings.HasSuffix(b.Type, "_tool_result"):
				at := slices.Index(open, b.ToolUseID)
				if at < 0 {
					return fmt.Errorf("message %d has a result of the server tool %q without its call", i, b.ToolUseID)
				}
				open = slices.Delete(open, at, at+1)
			}
		}
		if goesOn := i == len(request.Messages)-1 && m.Role == "assistant"; len(open) > 0 && !goesOn {
			return fmt.Errorf("message %d has calls of server tools without results: %q", i, open)
		}
	}
	return nil
}

// checkGoogleTools refuses what Gemini refuses before version 3: functions, or a schema, beside its
// own tools. From 3 on functions go with them only if the request says so.
func checkGoogleTools(body []byte) error {
	var request struct {
		Tools []map[string]json.RawMessage `json:"tools"`
		// Mode is set if the calls of its own tools stand in the content.
		ToolConfig struct {
			Mode bool `json:"includeServerSideToolInvocations"`
		} `json:"toolConfig"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return fmt.Errorf("read the tools: %w", err)
	}
	functions, own := false, false
	for _, t := range request.Tools {
		for name := range t {
			functions, own = functions || name == "functionDeclarations", own || name != "functionDeclarations"
		}
	}
	if functions && own && !request.ToolConfig.Mode {
		return errors.New("tool use with function calling is unsupported")
	}
	return nil
}

// RunHosted checks what an adapter does with the tools of its service, on a server that speaks p:
// it asks for them, tells of their calls, results and sources, and sends back all of them to the
// model that made them, and none to another.
func RunHosted[B Closer](t *testing.T, p Protocol, model string, connect func(wire.Config) (B, error)) {
	found := []backends.Citation{{URL: "https://tides.example/a", Title: "Tides", Text: "The moon pulls."}}
	call := backends.ToolCall{ID: "c1", Name: "new_answer", Arguments: `{"content":"42"}`}
	server := NewProtocolServer(t, p, func(c Call) Reply {
		if c.Number > 1 {
			return Reply{Text: "done"}
		}
		return Reply{
			Hosted: &Hosted{Query: "tides", Found: found, Code: "print(6*7)", Output: "42"}, Text: "The moon pulls.", ToolCalls: []backends.ToolCall{call},
			Usage: &backends.Usage{InputTokens: 10, OutputTokens: 5},
		}
	})
	backend := Connect(t, connect, wire.Config{Provider: provider, BaseURL: server.BaseURL})
	req := ask()
	req.Model, req.Tools = model, []backends.Tool{{Name: "new_answer", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	req.Params.Hosted = backends.HostedTools{WebSearch: true, CodeExecution: true, MaxUses: 3}
	resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the tools that were asked for", []string{backends.WebSearch, backends.CodeExecution}, server.Calls()[0].Request().Params.Hosted.Names())
	same(t, "the functions that were asked for", 1, len(server.Calls()[0].Request().Tools))
	var told []string
	for _, c := range resp.Message.HostedCalls() {
		told = append(told, fmt.Sprintf("%s open=%t failed=%t", c.Name, c.Open, c.Error))
		if c.Name == backends.WebSearch && !strings.Contains(c.Arguments, "tides") || c.Name == backends.CodeExecution && c.Result != "42" {
			t.Errorf("a call: %+v", c)
		}
	}
	same(t, "the calls", []string{"web_search open=false failed=false", "code_execution open=false failed=false"}, told)
	var cited []string
	for _, c := range resp.Message.Citations() {
		cited = append(cited, c.Title+" "+c.URL)
	}
	same(t, "the citations", []string{"Tides https://tides.example/a"}, cited)
	same(t, "the calls of the model", []backends.ToolCall{call}, resp.Message.ToolCalls())
	if u := resp.Usage; u == nil || u.WebSearches != 1 || u.CodeRuns != 1 {
		t.Errorf("the usage is %+v, want a search and a run of code", u)
	}
	checkSentBack(t, backend, server, req, resp.Message)
}

// checkSentBack goes on with a message that has opaque parts.
func checkSentBack(t *testing.T, backend backends.Backend, server *Server, req backends.Request, message backends.Message) {
	t.Helper()
	stored, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var loaded backends.Message
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	same(t, "the stored message", message, loaded)
	c := message.ToolCalls()[0]
	req.Messages = append(slices.Clone(req.Messages), loaded, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{
		backends.ToolResult{CallID: c.ID, Name: c.Name, Content: "taken"},
	}})
	for _, model := range []string{req.Model, req.Model + "-other"} {
		req.Model = model
		if _, err := backends.Collect(backend.Stream(t.Context(), req), nil); err != nil {
			t.Fatal(err)
		}
	}
	own, other := server.Bodies()[1], server.Bodies()[2]
	at, opaque := 0, 0
	for _, p := range message.Parts {
		data, ok := p.(backends.Opaque)
		if !ok {
			continue
		}
		opaque++
		i := strings.Index(string(own[at:]), string(data.Data))
		if i < 0 {
			t.Errorf("the next call sent no %s behind byte %d of\n%s", data.Data, at, own)
			continue
		}
		at += i + len(data.Data)
		if strings.Contains(string(other), string(data.Data)) {
			t.Errorf("another model was sent %s", data.Data)
		}
	}
	if opaque < 2 {
		t.Errorf("%d parts go back, want those of two calls", opaque)
	}
}
