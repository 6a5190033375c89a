package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
)

// sentMessages is what a request has beside its calls.
type sentMessages struct {
	Messages []struct {
		Extra json.RawMessage   `json:"extra_content"`
		Calls []json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
}

// answering serves the bodies in turn, the last one again and again, and keeps the requests.
func answering(t *testing.T, bodies ...string) (url string, requests *[][]byte) {
	requests = &[][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*requests = append(*requests, body)
		reply := bodies[min(len(*requests), len(bodies))-1]
		if strings.HasPrefix(reply, "400 ") {
			w.WriteHeader(http.StatusBadRequest)
			reply = fmt.Sprintf(`{"error":{"message":%q}}`, reply[4:])
		}
		fmt.Fprint(w, reply)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func ask(t *testing.T, b backends.Backend, model string, messages []backends.Message) backends.Message {
	t.Helper()
	resp, err := backends.Collect(b.Stream(t.Context(), backends.Request{Model: model, Messages: messages}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Message
}

// TestFieldsBesideACallGoBack: a service gets what it put beside a call, its function and its message, and another
// model gets nothing of it.
func TestFieldsBesideACallGoBack(t *testing.T) {
	const (
		signed   = `{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"QQ=="}}}`
		again    = `{"index":0,"id":"a","extra_content":{"google":{}},"function":{"arguments":""}}`
		unsigned = `{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":null}`
		proxied  = `{"index":2,"id":"c","type":"function","function":{"name":"g","arguments":"{}","provider_specific_fields":{"thought_signature":"Qg=="}},"provider_specific_fields":{"thought_signature":"Qg=="}}`
		own      = `{"index":3,"type":"function","function":{"name":"h","arguments":"{}"},"thought_signature":"Qw=="}`
	)
	piece := func(calls string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + calls + `]}}]}` + "\n\n"
	}
	stream := piece(signed) + piece(again) + piece(unsigned+","+proxied+","+own) +
		`data: {"choices":[{"index":0,"delta":{"content":"","extra_content":{"google":{"thought_signature":"RA=="}}},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	url, requests := answering(t, stream)
	b := newBackend(t, openai.Config{BaseURL: url, Provider: "test"})
	said := ask(t, b, "m", []backends.Message{backends.User("go")})
	own4 := said.ToolCalls()[3].ID
	history := []backends.Message{backends.User("go"), said}
	for _, c := range said.ToolCalls() {
		history = append(history, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: c.ID, Content: "done"}}})
	}
	ask(t, b, "m", history)
	ask(t, b, "another", history)
	call := func(id, name, function, more string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"` + function + `}` + more + `}`
	}
	const fields = `,"provider_specific_fields":{"thought_signature":"Qg=="}`
	want := []string{
		call("a", "f", "", `,"extra_content":{"google":{"thought_signature":"QQ=="}}`), call("b", "f", "", ""),
		call("c", "g", fields, fields), call(own4, "h", "", `,"thought_signature":"Qw=="`),
	}
	bare := []string{call("a", "f", "", ""), call("b", "f", "", ""), call("c", "g", "", ""), call(own4, "h", "", "")}
	for i, expected := range map[int][]string{1: want, 2: bare} {
		var sent sentMessages
		if err := json.Unmarshal((*requests)[i], &sent); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range sent.Messages[1].Calls {
			got = append(got, string(c))
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i+1, diff)
		}
		if extra := string(sent.Messages[1].Extra); (extra == `{"google":{"thought_signature":"RA=="}}`) != (i == 1) {
			t.Errorf("request %d: beside the message: %s", i+1, extra)
		}
	}
}
