package server_test

import (
	"bufio"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// drafting is a model that sends half of its answer, and the rest when open is closed. Then it votes for the first
// answer.
type drafting struct{ open chan struct{} }

// Stream implements backends.Backend.
func (m drafting) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		call := backends.ToolCall{ID: "call_1", Name: effect.Vote, Arguments: `{"agent_id":"agent1","reason":"It shines."}`}
		if req.Key.Round == 1 {
			half, rest := `{"content":"The sun \u2014 `, `and the wind, says `+req.Key.Agent+`."}`
			call.Name, call.Arguments = effect.NewAnswer, half+rest
			if !yield(backends.ToolCallDelta{Name: call.Name, Text: half}, nil) {
				return
			}
			select {
			case <-m.open:
			case <-ctx.Done():
				yield(nil, &backends.Error{Kind: backends.KindCancelled, Err: ctx.Err()})
				return
			}
			if !yield(backends.ToolCallDelta{Name: call.Name, Text: rest}, nil) {
				return
			}
		}
		if yield(call, nil) && yield(backends.Usage{InputTokens: 2, OutputTokens: 1}, nil) {
			yield(backends.Finish{Reason: "tool_calls"}, nil)
		}
	}
}

// TestAnswerOfAPanelStreams: the client has read half of an answer before the model writes the other half, and no part
// of the answer comes twice.
func TestAnswerOfAPanelStreams(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"panel","stream":true,"messages":[{"role":"user","content":"What is cheap?"}]}`,
		"/v1/responses":        `{"model":"panel","stream":true,"input":"What is cheap?"}`,
	} {
		open := make(chan struct{})
		s := serve(t, func(s *server.Settings) {
			own := s.Store
			s.Models = []server.Model{{ID: "panel", Open: func(ctx context.Context) (*massgen.Panel, error) {
				return massgen.New(ctx, []massgen.Agent{
					{ID: "ada", Model: "m", Backend: drafting{open}}, {ID: "bob", Model: "m", Backend: drafting{open}},
				}, massgen.WithStore(own))
			}}}
		})
		release := sync.OnceFunc(func() { close(open) })
		reasoning, content := readDeltas(t, s, path, body, func(reasoning string) {
			if strings.HasSuffix(reasoning, " writes:\n\nThe sun —") {
				release()
			}
		})
		if content != "The sun — and the wind, says ada." {
			t.Errorf("%s: the content is %q", path, content)
		}
		for _, part := range []string{
			"ada writes:\n\nThe sun — and the wind, says ada.\n\nada answered.\n\n", "bob writes:\n\nThe sun — and the wind, says bob.\n\nbob answered.\n\n",
			"ada votes:\n\nIt shines.\n\nada voted for ada.1.\n\n", "bob votes:\n\nIt shines.\n\nbob voted for ada.1.\n\n",
		} {
			reasoning = strings.Replace(reasoning, part, "", 1)
		}
		if reasoning != "" {
			t.Errorf("%s: the reasoning has %q, too", path, reasoning)
		}
	}
}

// readDeltas reads a stream while it comes. It calls seen with the whole reasoning so far whenever that grows.
func readDeltas(t *testing.T, s served, path, body string, seen func(reasoning string)) (reasoning, content string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData || data == "[DONE]" {
			continue
		}
		ev := decode[struct {
			answer
			Type, Delta string
		}](t, data)
		before := reasoning
		for _, c := range ev.Choices {
			reasoning += c.Delta.Reasoning
			content += c.Delta.Content
		}
		switch ev.Type {
		case "response.reasoning_summary_text.delta":
			reasoning += ev.Delta
		case "response.output_text.delta":
			content += ev.Delta
		}
		if reasoning != before {
			seen(reasoning)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return reasoning, content
}
