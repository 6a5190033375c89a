package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/tests/backendtest"
)

// The stream of an answer that Claude pauses between the call of a search and its result, and the
// stream with which it goes on.
const (
	pausedStream = `data: {"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I look it up. "}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"tides\"}"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"message_delta","delta":{"stop_reason":"pause_turn","stop_sequence":null,"container":{"id":"container_1","expires_at":"2026-11-25T12:00:00Z"}},"usage":{"output_tokens":20,"server_tool_use":{"web_search_requests":1}}}

data: {"type":"message_stop"}

`
	resumedStream = `data: {"type":"message_start","message":{"usage":{"input_tokens":130,"cache_read_input_tokens":90,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://tides.example/a","title":"Tides","encrypted_content":"Eqg="}]}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"The moon."}}

data: {"type":"content_block_stop","index":1}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":30}}

data: {"type":"message_stop"}

`
)

// pausing is a server whose first answers are paused, and a backend that calls it.
func pausing(t *testing.T, pauses int) (*backendtest.Server, *retry.Backend) {
	server := backendtest.NewProtocolServer(t, backendtest.Messages(), func(c backendtest.Call) backendtest.Reply {
		if c.Number <= pauses {
			return backendtest.Reply{Raw: strings.ReplaceAll(pausedStream, "srvtoolu_1", "srvtoolu_"+string(rune('0'+c.Number)))}
		}
		return backendtest.Reply{Raw: resumedStream}
	})
	claude := backendtest.Connect(t, anthropic.New, anthropic.Config{Provider: "claude", BaseURL: server.BaseURL})
	return server, retry.New(claude, newGate("claude", retry.Limits{}), retry.Options{})
}

func searching() backends.Request {
	return backends.Request{
		Model: "claude-opus-5-5", Messages: []backends.Message{backends.User("What makes tides?")},
		Params: backends.Params{Hosted: backends.HostedTools{WebSearch: true, CodeExecution: true}},
	}
}

// sentMessages are the messages of a request body, and its container.
func sentMessages(t *testing.T, body []byte) (messages []json.RawMessage, container string) {
	t.Helper()
	var sent struct {
		Messages  []json.RawMessage `json:"messages"`
		Container string            `json:"container"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent.Messages, sent.Container
}

// TestPausedAnswerGoesOn: what was said goes back unchanged as the last message, and both pieces
// are one answer.
func TestPausedAnswerGoesOn(t *testing.T) {
	t.Parallel()
	server, backend := pausing(t, 1)
	req := searching()
	response, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	if err != nil {
		t.Fatal(err)
	}
	messages, container := sentMessages(t, server.Bodies()[1])
	const said = `{"content":[{"text":"I look it up. ","type":"text"},` +
		`{"id":"srvtoolu_1","input":{"query":"tides"},"name":"web_search","type":"server_tool_use"}],"role":"assistant"}`
	if len(messages) != 2 || string(messages[1]) != said || container != "container_1" {
		t.Errorf("it was sent back in container %q as\n%s\nwant\n%s", container, messages, said)
	}
	if text := response.Message.Text(); text != "I look it up. The moon." || response.Finish != "end_turn" {
		t.Errorf("the answer is %q, its end %s", text, response.Finish)
	}
	want := []backends.HostedCall{{ID: "srvtoolu_1", Name: "web_search", Arguments: `{"query":"tides"}`, Result: "Tides https://tides.example/a"}}
	if diff := cmp.Diff(want, response.Message.HostedCalls()); diff != "" {
		t.Error(diff)
	}
	usage := &backends.Usage{InputTokens: 320, OutputTokens: 50, CachedInputTokens: 90, WebSearches: 1}
	if diff := cmp.Diff(usage, response.Usage); diff != "" {
		t.Error(diff)
	}
	req.Messages = append(slices.Clip(req.Messages), response.Message, backends.User("And the sun?"))
	if _, err := backends.Collect(backend.Stream(t.Context(), req), nil); err != nil {
		t.Fatal(err)
	}
	if later := string(server.Bodies()[2]); strings.Contains(later, "container") || !strings.Contains(later, "web_search_tool_result") {
		t.Errorf("a later request is %s", later)
	}
}

// TestPausesAreBounded: after five continuations the answer ends as it stands.
func TestPausesAreBounded(t *testing.T) {
	t.Parallel()
	server, backend := pausing(t, 9)
	response, err := backends.Collect(backend.Stream(t.Context(), searching()), nil)
	if n := len(server.Calls()); err != nil || n != 6 || response.Finish != "pause_turn" {
		t.Errorf("%d calls ended in %q, %v", n, response.Finish, err)
	}
}

// emptied is a budget that has room for one attempt.
type emptied struct{ reserved int }

func (e *emptied) Reserve(context.Context, backends.Cost, backends.Cost) (backends.Reservation, int, error) {
	if e.reserved++; e.reserved > 1 {
		return nil, 0, backends.Unpaid(backends.KindBudget, "no room", nil)
	}
	return settledAnyhow{}, 0, nil
}

// TestContinuationIsReserved: each piece needs room in the budget, and an answer whose next piece
// has none was paid for. Its usage is known, since the other call was never sent.
func TestContinuationIsReserved(t *testing.T) {
	t.Parallel()
	server, backend := pausing(t, 1)
	budget := &emptied{}
	response, err := backends.Collect(backend.Stream(backends.WithBudget(t.Context(), budget), searching()), nil)
	var failure *backends.Error
	if !errors.As(err, &failure) || failure.Kind != backends.KindBudget || failure.Unbilled() || failure.Unsent || !failure.Begun {
		t.Errorf("the error is %+v", err)
	}
	if budget.reserved != 2 || len(server.Calls()) != 1 || response.Message.Text() != "I look it up. " {
		t.Errorf("%d reservations, %d calls, %q", budget.reserved, len(server.Calls()), response.Message.Text())
	}
	if diff := cmp.Diff(&backends.Usage{InputTokens: 100, OutputTokens: 20, WebSearches: 1}, response.Usage); diff != "" {
		t.Errorf("the usage differs (-want +got):\n%s", diff)
	}
}
