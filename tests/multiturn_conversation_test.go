package tests

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/tests/backendtest"
)

// A conversation of three turns, end to end: the winning answers of the turns
// before, and nothing else of them, are what the next one knows.
func TestConversationOfThreeTurns(t *testing.T) {
	t.Parallel()
	turn := 0
	p := newPanel(t, panelOptions{agents: 3}, func(c backendtest.Call) backendtest.Reply {
		if isBlind(c) {
			return newAnswer(fmt.Sprintf("%s, turn %d", c.Model(), turn))
		}
		return vote(fmt.Sprintf("agent%d", turn), "it is this one's turn")
	})
	questions := []string{"first?", "second?", "third?"}
	for i, question := range questions {
		turn = i + 1
		r := p.ask(t, question)
		want := fmt.Sprintf("agent%d, turn %d", turn, turn)
		if r.Status != kernel.Completed || r.Answer != want || r.Turn != turn {
			t.Fatalf("turn %d: %s, answer %q, number %d", turn, r.Status, r.Answer, r.Turn)
		}
	}
	for i, c := range p.server.Calls() {
		logInput(t, fmt.Sprintf("call %d, by %s", i+1, c.Model()), c.Messages())
	}
	last := p.server.Calls()[12]
	want := "<CONVERSATION_HISTORY>\n" +
		"User: first?\nAssistant: agent1, turn 1\n" +
		"User: second?\nAssistant: agent2, turn 2\n" +
		"<END OF CONVERSATION_HISTORY>\n\n" +
		"<ORIGINAL MESSAGE> third? <END OF ORIGINAL MESSAGE>\n\n" +
		"<CURRENT ANSWERS from the agents>\n(no answers available yet)\n<END OF CURRENT ANSWERS>"
	if got := last.User(); got != want {
		t.Errorf("the third turn is asked with\n%s\nwant\n%s", got, want)
	}
}

// logInput shows under -v what a model was sent (seed 003, how to see the exact inputs).
func logInput(t *testing.T, of string, messages []backends.Message) {
	t.Helper()
	for _, m := range messages {
		text := m.Text()
		t.Logf("%s, %s (%d characters)\n%s", of, m.Role, utf8.RuneCountInString(text), text)
	}
}

// A changed mind: an answer that is improved upon voids the votes that were cast
// beside it, and the next round judges the new set.
func TestImprovedAnswerIsVotedOnAgain(t *testing.T) {
	p := newPanel(t, panelOptions{agents: 3}, func(c backendtest.Call) backendtest.Reply {
		switch {
		case isBlind(c):
			return newAnswer("the answer of " + c.Model())
		case c.Model() == "agent3" && !strings.Contains(c.User(), "much better"):
			return newAnswer("a much better answer")
		case strings.Contains(c.User(), "much better"):
			return vote("agent3", "much better")
		}
		return vote("agent1", "good enough")
	})
	r := p.ask(t, "energy?")
	if r.Winner != "agent3" || r.Answer != "a much better answer" || r.Rounds != 3 || r.Usage.Calls != 9 {
		t.Errorf("winner %q with %q after %d rounds and %d calls", r.Winner, r.Answer, r.Rounds, r.Usage.Calls)
	}
	if len(r.VoidVotes) != 2 || len(r.Votes) != 3 || r.Votes[0].Label != "agent3.2" {
		t.Errorf("void votes %+v, votes %+v", r.VoidVotes, r.Votes)
	}
}

// A turn without an answer stays out of the history, and the session goes on.
func TestFailedTurnStaysOutOfTheHistory(t *testing.T) {
	broken := true
	p := newPanel(t, panelOptions{agents: 3}, func(c backendtest.Call) backendtest.Reply {
		if broken {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 401, Message: "no such key"}}
		}
		return agreeable(c)
	})
	r := p.ask(t, "lost?")
	if r.Status != kernel.AllFailed || r.Winner != "" || len(r.Failed) != 3 || !strings.Contains(r.Failed[0].Error, "no such key") {
		t.Errorf("a turn in which all failed: %+v", r)
	}
	broken = false
	if r := p.ask(t, "and now?"); r.Status != kernel.Completed || r.Turn != 2 {
		t.Errorf("the next turn: %s, number %d", r.Status, r.Turn)
	}
	for _, c := range p.server.Calls()[3:] {
		if strings.Contains(c.User(), "lost?") {
			t.Errorf("the failed turn's question is in the history:\n%s", c.User())
		}
	}
}

// A panel of one is an ordinary conversation: one call, the history as messages,
// no coordination text or tools.
func TestPanelOfOneIsAnOrdinaryConversation(t *testing.T) {
	p := newPanel(t, panelOptions{agents: 1}, agreeable)
	for _, question := range []string{"first?", "second?"} {
		if r := p.ask(t, question); r.Answer != "the answer of agent1" || r.Usage.Calls != 1 || r.Status != kernel.Completed {
			t.Fatalf("%+v", r)
		}
	}
	call := p.server.Calls()[1]
	var said []string
	for _, m := range call.Messages() {
		said = append(said, string(m.Role)+": "+m.Text())
	}
	want := "user: first?\nassistant: the answer of agent1\nuser: second?"
	if got := strings.Join(said, "\n"); got != want || len(call.ToolNames()) != 0 {
		t.Errorf("sent\n%s\nwith tools %v; want\n%s", got, call.ToolNames(), want)
	}
}
