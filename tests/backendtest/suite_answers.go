package backendtest

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/backends"
)

func answerChecks() []check {
	return []check{
		{"text", checkText},
		{"events in order", checkEventOrder},
		{"reasoning", checkReasoning},
		{"empty answer", checkEmptyAnswer},
		{"tool call", checkToolCall},
		{"parallel tool calls", checkParallelToolCalls},
		{"pieces of tool calls", checkToolCallPieces},
		{"call without arguments", checkNoArguments},
		{"usage", checkUsage},
		{"no usage", checkNoUsage},
		{"trace", checkTrace},
		{"concurrent calls", checkConcurrent},
	}
}

func vote(id, agent string) backends.ToolCall {
	return backends.ToolCall{ID: id, Name: "vote", Arguments: `{"agent_id":"` + agent + `"}`}
}

func checkText(t *testing.T, newHarness NewHarness) {
	const text = "Sonnenkraft für 日本語, <b>bold</b> & \"quoted\"\n\tline 2 🌞"
	h := newHarness(t, Settings{Reply: always(Reply{Text: text})})
	resp := h.mustCall(t, ask())
	same(t, "the message", backends.Assistant(text), resp.Message)
	if resp.Finish == "" {
		t.Error("the finish reason is missing")
	}
}

func checkEventOrder(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{
		Text:      "first the text",
		ToolCalls: []backends.ToolCall{vote("c1", "agent1")},
		Usage:     &backends.Usage{InputTokens: 3, OutputTokens: 2},
	})})
	var kinds []string
	for ev, err := range h.Backend.Stream(t.Context(), ask()) {
		if err != nil {
			t.Fatal(err)
		}
		if kind := eventKind(ev); kind != "piece" {
			kinds = append(kinds, kind)
		}
	}
	order := strings.Join(kinds, " ")
	if !strings.HasPrefix(order, "text text call") || !strings.HasSuffix(order, "finish") || strings.Count(order, "finish") != 1 {
		t.Errorf("the events came as: %s; want the text in pieces, the call and one finish at the end", order)
	}
}

func eventKind(ev backends.Event) string {
	switch ev.(type) {
	case backends.TextDelta:
		return "text"
	case backends.ReasoningDelta:
		return "reasoning"
	case backends.ToolCallDelta:
		return "piece"
	case backends.ToolCall:
		return "call"
	case backends.Usage:
		return "usage"
	case backends.Finish:
		return "finish"
	}
	return "other"
}

func checkReasoning(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Reasoning: "let me see", Text: "yes"})})
	var reasoning string
	for _, p := range h.mustCall(t, ask()).Message.Parts {
		if r, ok := p.(backends.Reasoning); ok {
			reasoning += r.Text
		}
	}
	same(t, "the reasoning", "let me see", reasoning)
}

func checkEmptyAnswer(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{})})
	if resp := h.mustCall(t, ask()); len(resp.Message.Parts) != 0 {
		t.Errorf("an empty answer has parts: %v", resp.Message.Parts)
	}
}

func checkToolCall(t *testing.T, newHarness NewHarness) {
	want := backends.ToolCall{ID: "call_1", Name: "new_answer", Arguments: `{"content":"tab\t, quote \" and ü"}`}
	h := newHarness(t, Settings{Reply: always(Reply{ToolCalls: []backends.ToolCall{want}})})
	resp := h.mustCall(t, ask())
	same(t, "the message", backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{want}}, resp.Message)
}

func checkParallelToolCalls(t *testing.T, newHarness NewHarness) {
	want := []backends.ToolCall{vote("c1", "agent1"), vote("c2", "agent2"), {ID: "c3", Name: "search", Arguments: `{"q":[1,2,{"x":null}]}`}}
	h := newHarness(t, Settings{Reply: always(Reply{Text: "all at once", ToolCalls: want})})
	resp := h.mustCall(t, ask())
	same(t, "the calls", want, resp.Message.ToolCalls())
	same(t, "the text", "all at once", resp.Message.Text())
}

// checkToolCallPieces wants the pieces of each call before the call, and to be its arguments.
func checkToolCallPieces(t *testing.T, newHarness NewHarness) {
	answer := backends.ToolCall{ID: "c1", Name: "new_answer", Arguments: `{"content":"tab\t, quote \" and ü 🌞"}`}
	h := newHarness(t, Settings{Reply: always(Reply{Text: "both", ToolCalls: []backends.ToolCall{answer, vote("c2", "agent1")}})})
	pieces, calls := map[int][]backends.ToolCallDelta{}, 0
	for ev, err := range h.Backend.Stream(t.Context(), ask()) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case backends.ToolCallDelta:
			if ev.Index < calls || ev.Text == "" {
				t.Errorf("after %d whole calls comes the piece %+v", calls, ev)
			}
			pieces[ev.Index] = append(pieces[ev.Index], ev)
		case backends.ToolCall:
			checkPieces(t, ev, pieces[calls], h.WholeCalls)
			calls++
		}
	}
	if calls != 2 || len(pieces) > calls {
		t.Errorf("%d calls came, and pieces of %d", calls, len(pieces))
	}
}

func checkPieces(t *testing.T, call backends.ToolCall, pieces []backends.ToolCallDelta, isWhole bool) {
	t.Helper()
	if isWhole && len(pieces) == 0 {
		return
	}
	text := ""
	for _, p := range pieces {
		text += p.Text
		same(t, "the name of a piece", call.Name, p.Name)
	}
	same(t, "the pieces", call.Arguments, text)
	if len(pieces) < 2 {
		t.Errorf("the call came in %d pieces", len(pieces))
	}
}

func checkNoArguments(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{ToolCalls: []backends.ToolCall{{ID: "c1", Name: "list", Arguments: ""}}})})
	same(t, "the calls", []backends.ToolCall{{ID: "c1", Name: "list", Arguments: "{}"}}, h.mustCall(t, ask()).Message.ToolCalls())
}

func checkUsage(t *testing.T, newHarness NewHarness) {
	want := backends.Usage{InputTokens: 1200, OutputTokens: 34, CachedInputTokens: 1000, ReasoningTokens: 20}
	h := newHarness(t, Settings{Reply: always(Reply{Text: "counted", Usage: &want})})
	same(t, "the usage", &want, h.mustCall(t, ask()).Usage)
}

func checkNoUsage(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "not counted"})})
	if got := h.mustCall(t, ask()).Usage; got != nil {
		t.Errorf("a service that tells no usage used %+v: unknown is not a number", *got)
	}
}

func checkTrace(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: always(Reply{Text: "traced"})})
	var sent, received strings.Builder
	ctx := backends.WithTrace(t.Context(), &backends.Trace{
		RequestBody:   func(b []byte) { sent.Write(b) },
		ResponseChunk: func(b []byte) { received.Write(b) },
	})
	if _, err := backends.Collect(h.Backend.Stream(ctx, ask()), nil); err != nil {
		t.Fatal(err)
	}
	same(t, "the traced body", string(h.Calls()[0].Body), sent.String())
	if !strings.Contains(received.String(), "tra") {
		t.Errorf("the traced answer lacks its text:\n%s", received.String())
	}
}

func checkConcurrent(t *testing.T, newHarness NewHarness) {
	h := newHarness(t, Settings{Reply: func(c Call) Reply { return Reply{Text: "echo " + c.User()} }})
	group, ctx := errgroup.WithContext(t.Context())
	for i := range 16 {
		group.Go(func() error { return callEcho(ctx, t, h, strings.Repeat("x", i)) })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func callEcho(ctx context.Context, t *testing.T, h Harness, question string) error {
	req := ask()
	req.Messages = []backends.Message{backends.User("q" + question)}
	resp, err := backends.Collect(h.Backend.Stream(ctx, req), nil)
	if err == nil {
		same(t, "the echo", "echo q"+question, resp.Message.Text())
	}
	return err
}
