package openai_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/internal/models/finish"
)

// TestAnswerThatOnlyRepeatsItselfIsEnded reads answers without an end, in text, in reasoning, in the
// arguments of a call and over the Responses API. The service sees its connection closed.
func TestAnswerThatOnlyRepeatsItselfIsEnded(t *testing.T) {
	const again = "Wait, I should check this once more. "
	for name, event := range map[string]string{
		"text":      `{"choices":[{"delta":{"content":"` + again + `"}}]}`,
		"reasoning": `{"choices":[{"delta":{"reasoning_content":"` + again + `"}}]}`,
		"arguments": `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"new_answer","arguments":"` + again + `"}}]}}]}`,
		"responses": `{"type":"response.output_text.delta","output_index":0,"delta":"` + again + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(closed)
				for r.Context().Err() == nil {
					if _, err := fmt.Fprintf(w, "data: %s\n\n", event); err != nil {
						return
					}
				}
			}))
			defer server.Close()
			dialect := openai.Dialect{EndsLoops: true}
			if name == "responses" {
				dialect.API = "responses"
			}
			b, err := openai.NewDialect(openai.Config{BaseURL: server.URL, Model: "m"}, dialect)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			resp, err := backends.Collect(b.Stream(t.Context(), backends.Request{Messages: []backends.Message{backends.User("go")}}), nil)
			if err != nil || resp.Finish != finish.Repetition || len(resp.Message.Text()) > 3000 {
				t.Errorf("%d bytes of text, finish %q, %v", len(resp.Message.Text()), resp.Finish, err)
			}
			<-closed
		})
	}
}

// TestOtherServicesMayRepeatThemselves: only the dialects of local servers end an answer.
func TestOtherServicesMayRepeatThemselves(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, strings.Repeat("abc ", 5000))
	}))
	defer server.Close()
	b, err := openai.New(openai.Config{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := backends.Collect(b.Stream(t.Context(), backends.Request{Messages: []backends.Message{backends.User("go")}}), nil)
	if err != nil || resp.Finish != "stop" || len(resp.Message.Text()) != 20000 {
		t.Errorf("%d bytes, finish %q, %v", len(resp.Message.Text()), resp.Finish, err)
	}
}
