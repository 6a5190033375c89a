package debugbackend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/massgen/massgen/backends"
)

func mustParse(t *testing.T, script string) *Scripted {
	t.Helper()
	s, err := ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return NewScripted(s)
}

// ask returns the parsed events and the error of one call.
func ask(ctx context.Context, b backends.Backend, req backends.Request) ([]backends.Event, error) {
	var events []backends.Event
	_, err := backends.Collect(b.Stream(ctx, req), func(ev backends.Event) { events = append(events, ev) })
	return events, err
}

// panelRequest is a coordination input as seed 003 has it, with these answers
// shown.
func panelRequest(key backends.Key, question string, mayAnswer bool, answers ...string) backends.Request {
	var b strings.Builder
	for i, a := range answers {
		id := string(rune('1' + i))
		b.WriteString("<agent" + id + "> " + a + " <end of agent" + id + ">\n")
	}
	if len(answers) == 0 {
		b.WriteString("(no answers available yet)\n")
	}
	tools := []backends.Tool{{Name: "new_answer"}, {Name: "vote"}}
	if !mayAnswer {
		tools = tools[1:]
	}
	return backends.Request{Key: key, Model: "canned", Tools: tools, Messages: []backends.Message{
		backends.System("You are evaluating answers."),
		backends.User("<ORIGINAL MESSAGE> " + question + " <END OF ORIGINAL MESSAGE>\n\n<CURRENT ANSWERS from the agents>\n" + b.String() + "<END OF CURRENT ANSWERS>"),
	}}
}

func TestFirstMatchingRuleReplies(t *testing.T) {
	key := backends.Key{Session: "s", Turn: 2, Agent: "a", Round: 3, Purpose: "coordination", Index: 1}
	req := panelRequest(key, "Why?", true, "one", "two")
	for _, tc := range []struct {
		when  string
		match bool
	}{
		{"agent: a", true}, {"agent: b", false},
		{"turn: 2", true}, {"turn: 1", false}, {"turn: 1+", true}, {"turn: 3+", false}, {"turn: 2+", true},
		{"round: 3", true}, {"round: 2", false},
		{"index: 1", true}, {"index: 0", false},
		{"purpose: coordination", true}, {"purpose: title", false},
		{"answers: 2", true}, {"answers: 1", false}, {"answers: 0", false}, {"answers: 1+", true},
		{"contains: two", true}, {"contains: three", false}, {"contains: '{{.Question}}'", true},
		{"answer_contains: one", true}, {"answer_contains: Why", false},
		{"last_answer_contains: two", true}, {"last_answer_contains: one", false},
		{"may_answer: true", true}, {"may_answer: false", false},
		{"may_vote: true", true}, {"may_vote: false", false},
		{"tools: [vote]", true}, {"tools: [vote, search]", false}, {"tools: []", false},
		{"last: user", true}, {"last: tool", false},
		{"agent: a, round: 2", false},
	} {
		t.Run(tc.when, func(t *testing.T) {
			s := mustParse(t, "rules:\n- when: {"+tc.when+"}\n  reply: {text: first}\n- reply: {text: second}\n- reply: {text: third}")
			want := "second"
			if tc.match {
				want = "first"
			}
			resp, err := backends.Collect(s.Stream(t.Context(), req), nil)
			if err != nil || resp.Message.Text() != want {
				t.Fatalf("got %q, %v, want %q", resp.Message.Text(), err, want)
			}
		})
	}
}

func TestConditionsOnToolsAndResults(t *testing.T) {
	s := mustParse(t, `
rules:
- when: {last: tool, contains: 'found {{.Agent}}'}
  reply: {text: result}
- when: {tools: []}
  reply: {text: no tools}
`)
	result := backends.Message{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{Content: "it found a"}}}
	for want, req := range map[string]backends.Request{
		"result":   {Key: backends.Key{Agent: "a"}, Tools: []backends.Tool{{Name: "x"}}, Messages: []backends.Message{backends.User("q"), result}},
		"no tools": {Messages: []backends.Message{backends.User("q")}},
	} {
		resp, err := backends.Collect(s.Stream(t.Context(), req), nil)
		if err != nil || resp.Message.Text() != want {
			t.Errorf("got %q, %v, want %q", resp.Message.Text(), err, want)
		}
	}
}

func TestNoRuleMatches(t *testing.T) {
	s := mustParse(t, "rules:\n- when: {agent: b}\n  reply: {text: x}")
	_, err := ask(t.Context(), s, panelRequest(backends.Key{Turn: 1, Agent: "a", Round: 2, Purpose: "coordination"}, "q", true))
	want := "scripted: bad request: turn 1, a, round 2, coordination 0: no rule of the script matches"
	if err == nil || err.Error() != want || backends.KindOf(err) != backends.KindBadRequest {
		t.Fatalf("got  %v\nwant %s", err, want)
	}
}

func TestReplyEvents(t *testing.T) {
	key := backends.Key{Session: "s", Turn: 2, Agent: "a", Round: 3, Purpose: "coordination", Index: 1}
	for _, tc := range []struct {
		name, reply string
		want        []backends.Event
	}{
		{"nothing", "{usage: none}", []backends.Event{backends.Finish{Reason: "stop"}}},
		{"text in chunks", "{text: abcdefg, chunks: 3, usage: none, finish: length}", []backends.Event{
			backends.TextDelta{Text: "abc"}, backends.TextDelta{Text: "de"}, backends.TextDelta{Text: "fg"}, backends.Finish{Reason: "length"},
		}},
		{"more chunks than characters", "{text: äö, chunks: 9, usage: none}", []backends.Event{
			backends.TextDelta{Text: "ä"}, backends.TextDelta{Text: "ö"}, backends.Finish{Reason: "stop"},
		}},
		{"facts", "{reasoning: '{{.Agent}} {{.Turn}} {{.Round}}', text: '{{.Question}} {{len .Answers}} {{(index .Answers 1).ID}} {{(index .Answers 1).Text}}', usage: none}", []backends.Event{
			backends.ReasoningDelta{Text: "a 2 3"}, backends.TextDelta{Text: "Why? 2 agent2 two"}, backends.Finish{Reason: "stop"},
		}},
		{"answer and vote", `{new_answer: 'It "is" <{{.Agent}}>', vote: {agent: agent9, reason: '{{.Question}}'}, usage: none}`, []backends.Event{
			backends.ToolCall{ID: "call_1_1", Name: "new_answer", Arguments: `{"content":"It \"is\" <a>"}`},
			backends.ToolCall{ID: "call_1_2", Name: "vote", Arguments: `{"agent_id":"agent9","reason":"Why?"}`},
			backends.Finish{Reason: "tool_calls"},
		}},
		{"tool calls", `{tool_calls: [{name: x}, {name: y, id: mine, arguments: '{"broken'}, {name: z, arguments: {q: '{{.Turn}}', n: [1, true]}}], usage: none}`, []backends.Event{
			backends.ToolCall{ID: "call_1_1", Name: "x", Arguments: "{}"},
			backends.ToolCall{ID: "mine", Name: "y", Arguments: `{"broken`},
			backends.ToolCall{ID: "call_1_3", Name: "z", Arguments: `{"n":[1,true],"q":"2"}`},
			backends.Finish{Reason: "tool_calls"},
		}},
		{"usage", "{usage: {input_tokens: 7, output_tokens: 3, cached_input_tokens: 2, reasoning_tokens: 1}}", []backends.Event{
			backends.Usage{InputTokens: 7, OutputTokens: 3, CachedInputTokens: 2, ReasoningTokens: 1}, backends.Finish{Reason: "stop"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := mustParse(t, "rules:\n- reply: "+tc.reply)
			got, err := ask(t.Context(), s, panelRequest(key, "Why?", true, "one", "two"))
			if diff := cmp.Diff(tc.want, withoutPieces(t, got)); err != nil || diff != "" {
				t.Fatalf("%v\n%s", err, diff)
			}
		})
	}
}

// withoutPieces returns events without the pieces of tool calls, which it compares with the calls.
func withoutPieces(t *testing.T, events []backends.Event) []backends.Event {
	t.Helper()
	var out []backends.Event
	var pieces []backends.ToolCallDelta
	for _, ev := range events {
		switch ev := ev.(type) {
		case backends.ToolCallDelta:
			pieces = append(pieces, ev)
			continue
		case backends.ToolCall:
			text := ""
			for _, p := range pieces {
				text += p.Text
			}
			if len(pieces) < 2 || text != ev.Arguments || pieces[0].Name != ev.Name {
				t.Errorf("the call %+v came in the pieces %+v", ev, pieces)
			}
			pieces = nil
		}
		out = append(out, ev)
	}
	return out
}

// TestScriptInJSONMode: the same rules serve a model that has no tools.
func TestScriptInJSONMode(t *testing.T) {
	s := mustParse(t, `
rules:
- when: {may_answer: false}
  reply: {reasoning: hm, text: I vote., vote: {agent: agent2, reason: It "is" short.}, usage: none}
- when: {may_vote: false}
  reply: {new_answer: The sun., usage: none}
- reply: {text: hello, usage: none}
`)
	req := panelRequest(backends.Key{Turn: 1, Agent: "a", Round: 1}, "Why?", true)
	req.Tools = nil
	for schema, want := range map[string][]backends.Event{
		`{"enum":["vote"]}`: {
			backends.ReasoningDelta{Text: "hm"},
			backends.TextDelta{Text: `{"action":{"name":"vote","agent_id":"agent2","reason":"It \"is\" short."}}`},
			backends.Finish{Reason: "stop"},
		},
		`{"enum":["new_answer"]}`: {
			backends.TextDelta{Text: `{"action":{"name":"new_answer","content":"The sun."}}`}, backends.Finish{Reason: "stop"},
		},
		`{"enum":["new_answer","vote"]}`: {backends.TextDelta{Text: "hello"}, backends.Finish{Reason: "stop"}},
	} {
		var body string
		ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(b []byte) { body = string(b) }})
		req.Schema = json.RawMessage(schema)
		got, err := ask(ctx, s, req)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", schema, err, diff)
		}
		if !strings.Contains(body, `"schema":`+schema) {
			t.Errorf("the body lacks the schema: %s", body)
		}
	}
}

func TestUsageIsCountedWhenNotGiven(t *testing.T) {
	s := mustParse(t, "rules:\n- reply: {reasoning: hm, text: abcdef, tool_calls: [{name: x}]}")
	var body []byte
	ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(b []byte) { body = append(body, b...) }})
	resp, err := backends.Collect(s.Stream(ctx, backends.Request{Messages: []backends.Message{backends.User("ä")}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := backends.Usage{InputTokens: (len([]rune(string(body))) + 3) / 4, OutputTokens: 3}
	if resp.Usage == nil || *resp.Usage != want {
		t.Fatalf("got %v, want %v", resp.Usage, want)
	}
}

func TestVotesByRule(t *testing.T) {
	script := `
rules:
- when: {round: 1}
  reply: {new_answer: 'by {{.Agent}}'}
- when: {agent: own}
  reply: {vote: {agent: own}}
- when: {agent: newest}
  reply: {vote: {agent: most_recent}}
- when: {agent: first}
  reply: {vote: {agent: first}}
- when: {agent: last}
  reply: {vote: {agent: last}}
- reply: {vote: {containing: 'by {{.Agent}}'}}
`
	s := mustParse(t, script)
	for _, agent := range []string{"first", "newest", "own", "last"} {
		if _, err := ask(t.Context(), s, panelRequest(backends.Key{Turn: 1, Agent: agent, Round: 1}, "q", true)); err != nil {
			t.Fatal(err)
		}
	}
	vote := func(turn int, agent string, answers ...string) string {
		resp, err := backends.Collect(s.Stream(t.Context(), panelRequest(backends.Key{Turn: turn, Agent: agent, Round: 2}, "q", true, answers...)), nil)
		if err != nil {
			return err.Error()
		}
		var args struct {
			Agent string `json:"agent_id"`
		}
		if err := json.Unmarshal([]byte(resp.Message.ToolCalls()[0].Arguments), &args); err != nil {
			t.Fatal(err)
		}
		return args.Agent
	}
	shown := []string{"by first", "by last", "by newest", "by own"}
	for agent, want := range map[string]string{"first": "agent1", "last": "agent4", "own": "agent4", "newest": "agent2"} {
		if got := vote(1, agent, shown...); got != want {
			t.Errorf("%s votes for %s, want %s", agent, got, want)
		}
	}
	if got := vote(1, "newest", "by own", "by first"); got != "agent1" {
		t.Errorf("the newest shown is agent1, got %s", got)
	}
	if got := vote(1, "last", "by x", "by last"); got != "agent2" {
		t.Errorf("last of two is agent2, got %s", got)
	}
	if got := vote(1, "x", "by first", "by x"); got != "agent2" {
		t.Errorf("containing: got %s", got)
	}
	for got, want := range map[string]string{
		vote(1, "x", "by first"):    `a vote for an answer containing "by x": none is shown`,
		vote(1, "first"):            "a vote for first: no answer is shown",
		vote(1, "own", "by first"):  "a vote for own: it is not among the answers shown",
		vote(2, "own", "by own"):    "a vote for own: it is not among the answers shown",
		vote(2, "newest", "by own"): "a vote for most_recent: it is not among the answers shown",
	} {
		if !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q at its end", got, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	request := panelRequest(backends.Key{Turn: 2, Agent: "ada", Round: 3}, "Why?\nSay.", true, "The sun.", "50 % <moon>")
	for text, want := range map[string]string{
		"no action": "no action",
		"{{.Question}} {{.Turn}}{{.Round}}{{.Agent}}":                           "Why?\nSay. 23ada",
		"{{short .Question}}":                                                   "Why?…",
		"{{.Agent | short}}":                                                    "ada",
		`{{oneof .Agent "a" "a"}}{{"x" | oneof "k" "x"}}`:                       "ax",
		`{{oneof "k" "a" "b" "c" | eq (oneof "k" "a" "b" "c")}}`:                "true",
		"{{(index .Answers 1).ID}}{{len .Answers}}":                             "agent22",
		"{{range .Answers}}{{.ID}} by {{$.Agent}}: {{.Text}}; {{else}}-{{end}}": "agent1 by ada: The sun.; agent2 by ada: 50 % <moon>; ",
	} {
		resp, err := backends.Collect(mustParse(t, fmt.Sprintf("rules:\n- reply: {text: %q}", text)).Stream(t.Context(), request), nil)
		if got := resp.Message.Text(); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestTemplateErrorNamesTheLine(t *testing.T) {
	for _, reply := range []string{"text: '{{.Wrong}}'", "new_answer: '{{.Wrong}}'", "reasoning: '{{.Wrong}}'", "vote: {agent: agent1, reason: '{{.Wrong}}'}", "tool_calls: [{name: x, arguments: '{{.Wrong}}'}]", "text: '{{oneof .Agent}}'", "text: '{{(index .Answers 2).ID}}'"} {
		s := mustParse(t, "rules:\n- reply:\n    "+reply)
		_, err := ask(t.Context(), s, backends.Request{})
		if backends.KindOf(err) != backends.KindBadRequest || !strings.Contains(err.Error(), "script: line 3: ") {
			t.Errorf("%s: got %v", reply, err)
		}
	}
	for _, wrong := range []string{"{{lower .Agent}}", "{{end}}", "{{", "{{range .Answers}}"} {
		if _, err := ParseScript([]byte("rules:\n- reply:\n    text: '" + wrong + "'")); err == nil || !strings.HasPrefix(err.Error(), "script: line 3: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", wrong, err)
		}
	}
}

func TestDelayIsSpreadOverChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustParse(t, "rules:\n- when: {agent: a}\n  reply: {delay: 300ms, text: abc, chunks: 3}\n- reply: {delay: 300ms, new_answer: x}")
		start := time.Now()
		var at []time.Duration
		for range s.Stream(t.Context(), backends.Request{Key: backends.Key{Agent: "a"}}) {
			at = append(at, time.Since(start))
		}
		want := []time.Duration{100e6, 200e6, 300e6, 300e6, 300e6}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
		if _, err := ask(t.Context(), s, backends.Request{}); err != nil || time.Since(start) != 600*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestWaysToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			name, reply string
			want        backends.Error
			events      int
			after       time.Duration
		}{
			{"error", "{error: {kind: rate_limit, message: slow down, status: 429, retry_after: 3s}}",
				backends.Error{Kind: backends.KindRateLimit, Message: "slow down", Status: 429, RetryAfter: 3 * time.Second}, 0, 0},
			{"error after text", "{text: ab, chunks: 2, error: {kind: overloaded}}", backends.Error{Kind: backends.KindOverloaded, Begun: true}, 2, 0},
			{"cut", "{text: ab, cut: true}", backends.Error{Kind: backends.KindNetwork, Message: "the stream ended without an end mark", Begun: true}, 1, 0},
			{"hang", "{text: ab, hang: true}", backends.Error{Kind: backends.KindTimeout, Message: "context deadline exceeded", Begun: true, Err: context.DeadlineExceeded}, 1, time.Minute},
			{"deadline in a delay", "{text: ab, delay: 1h}", backends.Error{Kind: backends.KindTimeout, Message: "context deadline exceeded", Err: context.DeadlineExceeded}, 0, time.Minute},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			start := time.Now()
			events, err := ask(ctx, mustParse(t, "rules:\n- reply: "+tc.reply), backends.Request{})
			tc.want.Provider = "scripted"
			var got *backends.Error
			if !errors.As(err, &got) || !cmp.Equal(*got, tc.want, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })) || len(events) != tc.events {
				t.Errorf("%s: got %d events and %+v, want %d and %+v", tc.name, len(events), got, tc.events, tc.want)
			}
			if took := time.Since(start); took != tc.after {
				t.Errorf("%s: took %v", tc.name, took)
			}
			cancel()
		}
	})
}

func TestCancelledBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, reply := range []string{"{text: x}", "{delay: 1h}", "{}"} {
		events, err := ask(ctx, mustParse(t, "rules:\n- reply: "+reply), backends.Request{})
		if backends.KindOf(err) != backends.KindCancelled || len(events) != 0 {
			t.Errorf("%s: got %d events and %v", reply, len(events), err)
		}
	}
}

func TestPanicIsPassedOn(t *testing.T) {
	defer func() {
		if got := recover(); got != "lost" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, err := ask(t.Context(), mustParse(t, "rules:\n- reply: {panic: lost}"), backends.Request{})
	t.Errorf("no panic, but %v", err)
}

func TestReaderMayStop(t *testing.T) {
	s := mustParse(t, "rules:\n- reply: {reasoning: r, text: abc, chunks: 3, tool_calls: [{name: x}]}")
	for most := 1; most <= 7; most++ {
		n := 0
		for range s.Stream(t.Context(), backends.Request{}) {
			if n++; n == most {
				break
			}
		}
		if n != most {
			t.Fatalf("%d events, want %d", n, most)
		}
	}
}

func TestTraceSeesBodyAndRawResponse(t *testing.T) {
	var sent, received strings.Builder
	ctx := backends.WithTrace(t.Context(), &backends.Trace{
		RequestBody:   func(b []byte) { sent.Write(b) },
		ResponseChunk: func(b []byte) { received.Write(b) },
	})
	req := backends.Request{
		Key: backends.Key{Agent: "a"}, Model: "m", Messages: []backends.Message{backends.User("<q> & é")},
		Tools:  []backends.Tool{{Name: "vote", Schema: json.RawMessage(`{"type":"object"}`)}},
		Params: backends.Params{Headers: map[string]string{"Authorization": "Bearer key"}, Stop: []string{"x"}},
	}
	if _, err := ask(ctx, mustParse(t, "rules:\n- reply: {text: hi, usage: none}"), req); err != nil {
		t.Fatal(err)
	}
	wantSent := `{"model":"m","messages":[{"role":"user","parts":[{"type":"text","text":"<q> & é"}]}],` +
		`"tools":[{"name":"vote","description":"","schema":{"type":"object"}}],"params":{"stop":["x"]}}`
	if diff := cmp.Diff(wantSent, sent.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("{\"type\":\"text\",\"text\":\"hi\"}\n{\"type\":\"finish\",\"reason\":\"stop\"}\n", received.String()); diff != "" {
		t.Error(diff)
	}
}

func TestRequestThatIsNoJSON(t *testing.T) {
	req := backends.Request{Tools: []backends.Tool{{Name: "x", Schema: json.RawMessage(`{`)}}}
	if _, err := ask(t.Context(), mustParse(t, "rules:\n- reply: {}"), req); backends.KindOf(err) != backends.KindBadRequest {
		t.Fatalf("got %v", err)
	}
}
