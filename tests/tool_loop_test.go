package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

// lookup is a tool that finds something to say of everything.
type lookup struct{}

func (lookup) Definition() backends.Tool {
	schema := `{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`
	return backends.Tool{Name: "lookup", Description: "Looks a word up.", Schema: json.RawMessage(schema)}
}

func (lookup) Call(_ context.Context, arguments string) (string, error) {
	return "found " + arguments, nil
}

// A Claude's thinking and a Gemini's signatures, as each service sends them in two
// messages that call the tool. Claude's thoughts have what encoders like to change.
const (
	thought   = `{"type":"thinking","thinking":"<First> I look \"sun\" up & wait.\n日本 \u2028","signature":"EqQB+/8="}`
	redacted  = `{"type":"redacted_thinking","data":"EmwK+/8="}`
	said      = `{"type":"text","text":"I look it up."}`
	firstUse  = `{"type":"tool_use","id":"toolu_1","name":"lookup","input":{"word":"sun"}}`
	unseen    = `{"type":"thinking","thinking":"","signature":"b25seQ=="}`
	secondUse = `{"type":"tool_use","id":"toolu_2","name":"lookup","input":{"word":"wind"}}`
	firstCall = `{"functionCall":{"id":"fc1","name":"lookup","args":{"word":"sun"}},"thoughtSignature":"Zmlyc3Q+Pz8="}`

	firstThought  = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"<First> \"sun\" & 日本"}],"encrypted_content":"gAAA+/8="}`
	firstComment  = `{"id":"msg_1","type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look it up.","annotations":[]}]}`
	firstItem     = `{"id":"fc_1","type":"function_call","call_id":"r1","name":"lookup","arguments":"{\"word\":\"sun\"}"}`
	secondThought = `{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"gBBB+/8=","status":null}`
	secondItem    = `{"id":"fc_2","type":"function_call","call_id":"r2","name":"lookup","arguments":"{\"word\":\"wind\"}"}`

	secondCall = `{"functionCall":{"id":"fc2","name":"lookup","args":{"word":"wind"}}},{"text":"","thoughtSignature":"c2Vjb25kPz4="}`
)

// TestToolLoopOfTwoCalls: a Claude, a Gemini and two agents of OpenAI's protocols reach
// consensus, after each has used a tool twice. What they thought of it goes back to
// them unchanged and in its place.
func TestToolLoopOfTwoCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := lookUps(t)
		p := newMixedPanel(t, func(_ protocol, a coordinator.Agent) coordinator.Agent {
			a.Tools, a.Params.ReasoningEffort = []agents.Tool{lookup{}}, "low"
			return a
		}, func(proto protocol, c backendtest.Call) backendtest.Reply {
			if c.Number <= len(first[proto.name]) {
				return first[proto.name][c.Number-1]
			}
			return voting(google(), c)
		})
		if r := p.ask(t, "energy?"); r.Status != kernel.Completed || r.Winner != "gemini" || len(r.Votes) != len(p.servers) || len(r.Failed) > 0 {
			t.Errorf("status %s, winner %s, votes %+v, failed %+v", r.Status, r.Winner, r.Votes, r.Failed)
		}
		for name, server := range p.servers {
			calls := server.Calls()
			if len(calls) != 4 {
				t.Fatalf("%s was asked %d times", name, len(calls))
			}
			want := []string{`found {"word":"sun"}`, `found {"word":"wind"}`}
			if diff := cmp.Diff(want, toolResults(calls[2].Messages())); diff != "" {
				t.Errorf("the results that %s was sent differ (-want +got):\n%s", name, diff)
			}
		}
		checkThinking(t, p.servers["claude"].Bodies())
		checkSignatures(t, p.servers["gemini"].Bodies())
		checkItems(t, p.servers["responses"].Bodies())
	})
}

// lookUps are the first two messages of each model, which use the tool.
func lookUps(t *testing.T) map[string][]backendtest.Reply {
	return map[string][]backendtest.Reply{
		"claude": {
			{Raw: claudeSays(t, thought, redacted, said, firstUse)},
			{Raw: claudeSays(t, unseen, secondUse)},
		},
		"gemini": {
			{Raw: geminiSays(`{"text":"I look.","thought":true}`, firstCall)},
			{Raw: geminiSays(secondCall)},
		},
		"responses": {
			{Raw: responseSays(firstThought, firstComment, firstItem)},
			{Raw: responseSays(secondThought, secondItem)},
		},
		"openai": {
			toolCall("lookup", `{"word":"sun"}`),
			toolCall("lookup", `{"word":"wind"}`),
		},
	}
}

// claudeSays writes a stream of content blocks, in pieces as the service does.
func claudeSays(t *testing.T, blocks ...string) string {
	var out strings.Builder
	event := func(kind string, fields map[string]any) {
		fields["type"] = kind
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", kind, encoded(t, fields))
	}
	event("message_start", map[string]any{"message": map[string]any{"id": "msg", "type": "message", "role": "assistant", "content": []any{}}})
	for i, block := range blocks {
		start, deltas := claudePieces(t, block)
		event("content_block_start", map[string]any{"index": i, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", map[string]any{"index": i, "delta": d})
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": "tool_use"}})
	event("message_stop", map[string]any{})
	return out.String()
}

// claudePieces parts a block into what it starts with and its deltas.
func claudePieces(t *testing.T, block string) (start map[string]any, deltas []map[string]any) {
	start = decoded[map[string]any](t, block)
	move := func(field, kind, name string, empty any) {
		whole := start[field]
		if whole == nil {
			return
		}
		text, isText := whole.(string)
		if !isText {
			text = encoded(t, whole)
		}
		start[field] = empty
		half := len(text) / 2
		for half > 0 && text[half] >= utf8.RuneSelf {
			half--
		}
		for _, piece := range []string{text[:half], text[half:]} {
			deltas = append(deltas, map[string]any{"type": kind, name: piece})
		}
	}
	move("text", "text_delta", "text", "")
	move("thinking", "thinking_delta", "thinking", "")
	move("signature", "signature_delta", "signature", "")
	move("input", "input_json_delta", "partial_json", map[string]any{})
	return start, deltas
}

// responseSays writes a stream of whole items, without their pieces.
func responseSays(items ...string) string {
	var out strings.Builder
	for i, item := range items {
		fmt.Fprintf(&out, "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":%d,\"item\":%s}\n\n", i, item)
	}
	return out.String() + "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
}

// checkItems looks at what the third request over the Responses API says of the first two
// answers: thoughts byte for byte, and all in order.
func checkItems(t *testing.T, bodies [][]byte) {
	t.Helper()
	body := decoded[struct{ Input []json.RawMessage }](t, string(bodies[2]))
	want := []string{
		firstThought, `{"type":"message","role":"assistant","content":"I look it up.","phase":"commentary"}`,
		`{"type":"function_call","call_id":"r1","name":"lookup","arguments":"{\"word\":\"sun\"}"}`,
		`{"type":"function_call_output","call_id":"r1","output":"found {\"word\":\"sun\"}"}`,
		secondThought, `{"type":"function_call","call_id":"r2","name":"lookup","arguments":"{\"word\":\"wind\"}"}`,
		`{"type":"function_call_output","call_id":"r2","output":"found {\"word\":\"wind\"}"}`,
	}
	var got []string
	for _, item := range body.Input[2:] { // after the messages of system and user
		got = append(got, string(item))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the items of the third request differ (-want +got):\n%s", diff)
	}
}

// geminiSays writes a stream of an event for each of the parts.
func geminiSays(parts ...string) string {
	var out strings.Builder
	for i, part := range parts {
		finish := ""
		if i == len(parts)-1 {
			finish = `,"finishReason":"STOP"`
		}
		fmt.Fprintf(&out, `data: {"candidates":[{"content":{"role":"model","parts":[%s]}%s}]}`+"\r\n\r\n", part, finish)
	}
	return out.String()
}

// checkThinking looks at what the third request of a Claude says of the first two
// messages: the blocks as they came.
func checkThinking(t *testing.T, bodies [][]byte) {
	t.Helper()
	body := decoded[struct{ Messages []struct{ Content any } }](t, string(bodies[2]))
	for i, want := range map[int]string{
		1: "[" + thought + "," + redacted + "," + said + "," + firstUse + "]",
		3: "[" + unseen + "," + secondUse + "]",
	} {
		if diff := cmp.Diff(decoded[any](t, want), body.Messages[i].Content); diff != "" {
			t.Errorf("message %d of the Claude's third request differs (-want +got):\n%s", i, diff)
		}
	}
}

// checkSignatures does the same for a Gemini, byte for byte.
func checkSignatures(t *testing.T, bodies [][]byte) {
	t.Helper()
	body := decoded[struct {
		Contents []struct{ Parts json.RawMessage }
	}](t, string(bodies[2]))
	for i, want := range map[int]string{1: firstCall, 3: secondCall} {
		if diff := cmp.Diff("["+want+"]", string(body.Contents[i].Parts)); diff != "" {
			t.Errorf("content %d of the Gemini's third request differs (-want +got):\n%s", i, diff)
		}
	}
}

// toolResults are what the tools of a conversation said, in order.
func toolResults(messages []backends.Message) []string {
	var results []string
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(backends.ToolResult); ok {
				results = append(results, r.Content)
			}
		}
	}
	return results
}

func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
