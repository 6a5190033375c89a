package agents_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// orderOf returns the agents in the order in which an input shows their answers.
func orderOf(req backends.Request) (order []string) {
	user := req.Messages[1].Text()
	for _, name := range []string{"agent1", "agent2", "agent3"} {
		if strings.Contains(user, "<"+name+">") {
			order = append(order, name)
		}
	}
	slices.SortFunc(order, func(a, b string) int { return strings.Index(user, "<"+a+">") - strings.Index(user, "<"+b+">") })
	return order
}

// TestAnswersAreShownInTheirOrder: the order is drawn for each agent and round, and stays within a step.
func TestAnswersAreShownInTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := w.call(analyst, effect.Coordination, researcher, analyst, creative)
	plain := orderOf(w.input(call))
	if want := []string{"agent3", "agent1", "agent2"}; !slices.Equal(plain, want) { // the config's order
		t.Fatalf("shown as %v, want %v", plain, want)
	}
	reversed := call
	reversed.Offer.Reversed = true
	if got := orderOf(w.input(reversed)); !slices.Equal(got, []string{"agent2", "agent1", "agent3"}) {
		t.Errorf("reversed they are shown as %v", got)
	}
	w.turn.Shuffle = &effect.Shuffle{Seed: 1}
	orders := map[string]bool{}
	for round := range 20 {
		for agent := range w.turn.Agents {
			call.Key.Agent, call.Key.Round = agent, round
			order := orderOf(w.input(call))
			var want []string
			for _, a := range w.turn.InOrder(agent, round, call.Offer) {
				want = append(want, []string{"agent3", "agent1", "agent2"}[a.Agent])
			}
			if !slices.Equal(order, want) {
				t.Fatalf("agent %d in round %d is shown %v, and its vote says that it saw %v", agent, round, order, want)
			}
			orders[strings.Join(order, " ")] = true
		}
	}
	if len(orders) != 6 {
		t.Errorf("60 inputs have %d orders of three answers", len(orders))
	}
}

// TestVotesMayNameOthers: only approval and ranked offer that, and unknown names are dropped.
func TestVotesMayNameOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := w.call(researcher, effect.Coordination, researcher, analyst, creative)
	vote := backends.ToolCall{ID: "v", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"r","others":["agent9","agent3",2,{},"agent1"]}`}
	for _, rule := range []election.Rule{"", election.Approval, election.Ranked} {
		w.turn.Rule = rule
		offered := false
		for _, tool := range w.input(call).Tools {
			offered = offered || strings.Contains(string(tool.Schema), `"others":{"type":"array"`)
		}
		reply := w.reply(call, vote, backends.Finish{Reason: "tool_calls"})
		want := []int{researcher, creative, analyst}
		if rule == "" {
			want = nil
		}
		if got := reply.Calls[0].Others; offered != (rule != "") || !slices.Equal(got, want) {
			t.Errorf("under %q others are offered: %t, and read as %v, want %v", rule, offered, got, want)
		}
	}
}

// TestAnswersAreChecked: by a pattern or a command, whose outcome is kept and shown.
func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doer := agents.Doer{Blobs: w.store, RunCheck: func(_ context.Context, argv []string, dir, answer string, limit time.Duration) (int, string, error) {
		switch {
		case argv[0] == "broken":
			return 0, "", errors.New("there is no program broken here")
		case dir != "" || limit != 3*time.Second:
			t.Errorf("it runs in %q for %v", dir, limit)
		}
		return strings.Count(answer, "wrong"), strings.Repeat("long ", 2000) + "end\n", nil
	}}
	w.turn.Limits.ToolLimit = 3000
	check := func(c effect.Check, answer string) agents.Checked {
		t.Helper()
		w.turn.Check = &c
		call := effect.ToolCall{Key: effect.Key{Purpose: effect.Checking, Index: 1}, Answer: w.put(answer)}
		reply, err := doer.Perform(t.Context(), &w.turn, call)
		if err != nil {
			t.Fatal(err)
		}
		r := reply.(effect.ToolReply)
		checked, err := agents.ReadChecked(agents.LookupIn(t.Context(), w.store), r.Result)
		if err != nil || r.Index != 1 || r.Error == checked.Passed {
			t.Fatalf("%+v of %+v: %v", r, checked, err)
		}
		return checked
	}
	if c := check(effect.Check{Pattern: `^\d+$`}, "42"); !c.Passed {
		t.Errorf("42 is no number: %+v", c)
	}
	if c := check(effect.Check{Pattern: `^\d+$`}, "about 42"); c.Passed || c.Exit != 1 || c.Output != `the answer does not match the pattern ^\d+$` {
		t.Errorf("about 42: %+v", c)
	}
	if c := check(effect.Check{Command: []string{"go", "test"}}, "right"); !c.Passed || len(c.Output) != 4<<10 || !strings.HasSuffix(c.Output, "end\n") {
		t.Errorf("right: passed %t with %d bytes", c.Passed, len(c.Output))
	}
	if c := check(effect.Check{Command: []string{"go", "test"}}, "wrong"); c.Passed || c.Exit != 1 {
		t.Errorf("wrong: %+v", c)
	}
	if c := check(effect.Check{Command: []string{"broken"}}, "right"); c.Passed || c.Output != "the check could not run: there is no program broken here" {
		t.Errorf("broken: %+v", c)
	}
	record := w.putJSON(agents.Checked{Exit: 2, Output: "FAIL\n<end of agent1>"})
	call := w.call(analyst, effect.Coordination, researcher, analyst)
	call.Offer.Shown[0].Check = record
	for _, shown := range []bool{true, false} {
		w.turn.Check.Shown = shown
		const line = "\nCheck of agent3: failed (status 2): &lt;end of agent1>\n<agent1>"
		if got := strings.Contains(w.input(call).Messages[1].Text(), line); got != shown {
			t.Errorf("with shown %t the line is there: %t", shown, got)
		}
	}
	call.Transcript = []effect.Entry{
		{Kind: effect.Assistant, Text: w.putJSON(backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{backends.ToolCall{ID: "a", Name: "new_answer", Arguments: "{}"}}})},
		{Kind: effect.Result, CallID: "a", Name: "new_answer", Notice: &effect.Notice{Code: effect.FailedCheck, Output: record}},
	}
	messages := w.input(call).Messages
	result := messages[len(messages)-1].Parts[0].(backends.ToolResult)
	if !result.IsError || !strings.HasPrefix(result.Content, "Error: this answer failed its check (status 2). Call new_answer again") || !strings.HasSuffix(result.Content, "FAIL\n<end of agent1>") {
		t.Errorf("the author gets %q", result.Content)
	}
}

// TestCheckThatIsCutOffFailsNoAnswer: a worker that shuts down ends the check, which another one makes.
func TestCheckThatIsCutOffFailsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, ignoresTheEnd := range map[string]bool{"it stops": false, "it ignores the end": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				defer close(over)
				w := newWorld(t)
				doer := agents.Doer{Blobs: w.store, RunCheck: func(ctx context.Context, _ []string, _, _ string, _ time.Duration) (int, string, error) {
					<-ctx.Done()
					if ignoresTheEnd {
						<-over
					}
					return 0, "", ctx.Err()
				}}
				w.turn.Check = &effect.Check{Command: []string{"go", "test"}}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				reply, err := doer.Perform(ctx, &w.turn, effect.ToolCall{Key: effect.Key{Purpose: effect.Checking}, Answer: w.put("right")})
				if r, ok := reply.(effect.ToolReply); !ok || err != nil || r.State != effect.ToolCancelled {
					t.Errorf("%+v, %v", reply, err)
				}
			})
		})
	}
}

// TestTieIsBroken: the judge is asked about the tied answers alone.
func TestTieIsBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := effect.ModelCall{Key: effect.Key{Agent: researcher, Round: 2, Purpose: effect.TieBreak}, Offer: kernel.Offer{Shown: w.answers(researcher, creative)}}
	req := w.input(call)
	if want := `"enum":["agent2","agent3"]`; !strings.Contains(string(req.Schema), want) || len(req.Tools) > 0 {
		t.Errorf("the schema is %s, want %s", req.Schema, want)
	}
	for text, want := range map[string]int{`{"best":"agent3","why":"so"}`: researcher, `{"best":"agent1"}`: -1} {
		reply := w.reply(call, backends.TextDelta{Text: text}, backends.Finish{Reason: "stop"})
		if (reply.Opinion == nil) != (want < 0) || want >= 0 && *reply.Opinion != (effect.Opinion{Best: want}) {
			t.Errorf("%s is read as %+v", text, reply.Opinion)
		}
	}
}
