package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/tests/backendtest"
)

// threeTurns runs three turns of three agents with two rounds each, over HTTP,
// and returns the calls as read back from the dump.
func threeTurns(t *testing.T) []debugbackend.Call {
	t.Helper()
	dir := t.TempDir()
	p := newPanel(t, panelOptions{agents: 3, dump: dir}, agreeable)
	for _, question := range []string{
		"What are the main benefits of renewable energy?",
		"What about the challenges and limitations?",
		"How can governments support the transition?",
	} {
		if r := p.ask(t, question); r.Winner != "agent2" || r.Rounds != 2 {
			t.Fatalf("%q: winner %q after %d rounds, status %s", question, r.Winner, r.Rounds, r.Status)
		}
	}
	if err := p.recorder.Err(); err != nil {
		t.Fatal(err)
	}
	calls, err := debugbackend.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != 18 {
		t.Fatalf("%d calls were dumped, want 3 turns of 6", len(calls))
	}
	return calls
}

// Each call of every round has exactly the section layout of seed 003.
func TestInputOfEveryCallHasTheLayoutOfSeed003(t *testing.T) {
	t.Parallel()
	calls := threeTurns(t)
	for _, c := range calls {
		key := c.Request.Key
		logInput(t, key.String(), c.Request.Messages)
		if len(c.Request.Messages) != 2 {
			t.Errorf("%s: %d messages, want a system and a user message", key, len(c.Request.Messages))
			continue
		}
		system, user := c.Request.Messages[0].Text(), c.Request.Messages[1].Text()
		wantSystem := 389
		if key.Turn > 1 {
			wantSystem = 574
		}
		if got := utf8.RuneCountInString(system); got != wantSystem {
			t.Errorf("%s: the system message has %d characters, want %d", key, got, wantSystem)
		}
		if got, want := layoutOf(user), expectedLayout(key.Turn, key.Round); !slices.Equal(got, want) {
			t.Errorf("%s: layout\n%s\nwant\n%s", key, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		var tools []string
		for _, tool := range c.Request.Tools {
			tools = append(tools, tool.Name)
		}
		if !slices.Equal(tools, []string{"new_answer", "vote"}) {
			t.Errorf("%s: tools %v", key, tools)
		}
	}
}

// layoutOf reduces a user message to its structure, line by line: texts become
// "…".
func layoutOf(user string) []string {
	var layout []string
	for line := range strings.SplitSeq(user, "\n") {
		for _, frame := range [][2]string{
			{"User: ", ""}, {"Assistant: ", ""}, {"<ORIGINAL MESSAGE> ", " <END OF ORIGINAL MESSAGE>"},
			{"<agent1> ", " <end of agent1>"}, {"<agent2> ", " <end of agent2>"}, {"<agent3> ", " <end of agent3>"},
		} {
			if strings.HasPrefix(line, frame[0]) && strings.HasSuffix(line, frame[1]) {
				line = frame[0] + "…" + frame[1]
			}
		}
		layout = append(layout, line)
	}
	return layout
}

func expectedLayout(turn, round int) []string {
	var want []string
	if turn > 1 {
		want = append(want, "<CONVERSATION_HISTORY>")
		for range turn - 1 {
			want = append(want, "User: …", "Assistant: …")
		}
		want = append(want, "<END OF CONVERSATION_HISTORY>", "")
	}
	want = append(want, "<ORIGINAL MESSAGE> … <END OF ORIGINAL MESSAGE>", "", "<CURRENT ANSWERS from the agents>")
	if round == 1 {
		return append(want, "(no answers available yet)", "<END OF CURRENT ANSWERS>")
	}
	for i := range 3 {
		want = append(want, fmt.Sprintf("<agent%d> … <end of agent%d>", i+1, i+1))
	}
	return append(want, "<END OF CURRENT ANSWERS>")
}

// All agents of a round are sent the same bytes, but for the model: what is
// fixed stands first, so that prompt caches hit.
func TestAgentsOfARoundAreSentTheSameBytes(t *testing.T) {
	t.Parallel()
	calls := threeTurns(t)
	bodies := map[string]string{}
	for _, c := range calls {
		key := c.Request.Key
		round := fmt.Sprintf("turn %d round %d", key.Turn, key.Round)
		body := strings.Replace(string(c.Body), `"model":"`+key.Agent+`"`, `"model":""`, 1)
		if first, ok := bodies[round]; ok && first != body {
			t.Errorf("%s: %s was sent\n%s\nand another agent\n%s", round, key.Agent, body, first)
		}
		bodies[round] = body
	}
}

// The input grows by the same for each turn: linearly with the conversation, not
// with the answers that lost, the votes or the rounds.
func TestInputGrowsLinearlyWithTheConversation(t *testing.T) {
	t.Parallel()
	p := newPanel(t, panelOptions{agents: 2}, func(c backendtest.Call) backendtest.Reply {
		if isBlind(c) {
			return newAnswer(c.Model() + " says " + strings.Repeat("x", 200))
		}
		return vote("agent1", "good")
	})
	const turns = 12
	for range turns {
		p.ask(t, strings.Repeat("q", 100))
	}
	var sizes []int
	for _, c := range p.recorder.Calls() {
		if key := c.Request.Key; key.Agent == "agent1" && key.Round == 1 {
			sizes = append(sizes, c.Chars.Total)
		}
	}
	if len(sizes) != turns {
		t.Fatalf("%d first calls, want %d", len(sizes), turns)
	}
	step := sizes[2] - sizes[1] // from turn 2 on: the note and the section are there
	for i := 2; i < len(sizes); i++ {
		if got := sizes[i] - sizes[i-1]; got != step {
			t.Errorf("turn %d has %d characters more than the one before, the others %d", i+1, got, step)
		}
	}
	if exchange := 100 + len("agent1 says ") + 200; step != exchange+len("User: \nAssistant: \n") {
		t.Errorf("a turn adds %d characters for an exchange of %d", step, exchange)
	}
}
