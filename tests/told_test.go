package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/secrets"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// tellingPanel is a panel of two agents, whose models call tools or write their acts in JSON.
func tellingPanel(t *testing.T, p protocol, inJSON bool, masking func() *secrets.Stream, reply func(backendtest.Call) backendtest.Reply) *coordinator.Panel {
	t.Helper()
	_, backend := p.serve(t, func(c backendtest.Call) backendtest.Reply {
		r := reply(c)
		if inJSON && len(r.ToolCalls) == 1 {
			call := r.ToolCalls[0]
			r.Text, r.ToolCalls = `{"action":{"name":"`+call.Name+`",`+strings.TrimPrefix(call.Arguments, "{")+`}`, nil
		}
		return r
	})
	opts := coordinator.Options{Store: sessions.NewMemory(), Rules: kernel.Defaults(), Masking: masking}
	for _, id := range []string{"ada", "bob"} {
		agent := coordinator.Agent{ID: id, Model: p.model, Backend: backend}
		if inJSON {
			agent.ToolMode = effect.ToolsJSON
		}
		opts.Agents = append(opts.Agents, agent)
	}
	panel, err := coordinator.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return panel
}

// perForm runs a test for each form in which an act comes.
func perForm(t *testing.T, test func(t *testing.T, p protocol, inJSON bool)) {
	perProtocol(t, func(t *testing.T, p protocol) {
		t.Run("tools", func(t *testing.T) { test(t, p, false) })
		t.Run("json", func(t *testing.T) { test(t, p, true) })
	})
}

// TestPiecesOfAnAnswerAreTheAnswer on every protocol and in JSON mode.
func TestPiecesOfAnAnswerAreTheAnswer(t *testing.T) {
	contents := []string{"A quote \" and \\ a slash.\n\n- 日本語 🌞\n", "{\"a\": [1]}", "The sun, \u0085 \x01 and </b>. "}
	perForm(t, func(t *testing.T, p protocol, inJSON bool) {
		panel := tellingPanel(t, p, inJSON, nil, func(c backendtest.Call) backendtest.Reply {
			if isBlind(c) {
				return toolCall("new_answer", quoted(`{"content":%s}`, contents[c.Number%len(contents)]))
			}
			return toolCall("vote", quoted(`{"agent_id":"agent1","reason":%s}`, " it is \"short\" 🌞 "))
		})
		turn, err := panel.Start(t.Context(), "s", "energy?")
		if err != nil {
			t.Fatal(err)
		}
		told, checked := map[string]string{}, 0
		check := func(agent, act, want string) {
			if got := told[agent+act]; got != want {
				t.Errorf("%s was told as %q, and is %q", act, got, want)
			}
			delete(told, agent+act)
			checked++
		}
		for ev := range turn.Events(t.Context()) {
			switch ev := ev.(type) {
			case report.TextDelta:
				told[ev.Agent+ev.Act] += ev.Text
				if ev.Act == "" || !strings.HasPrefix(ev.Call, ev.Agent+".") {
					t.Errorf("a text beside the acts, or of an unknown call: %+v", ev)
				}
			case report.Answered:
				check(ev.Agent, effect.NewAnswer, ev.Content)
			case report.Voted:
				check(ev.Agent, effect.Vote, ev.Reason)
			}
		}
		if checked != 4 || len(told) > 0 {
			t.Errorf("%d acts, and %q beside them", checked, told)
		}
	})
}

// quoted puts a text into JSON.
func quoted(format, text string) string {
	data, _ := json.Marshal(text) // a text encodes
	return fmt.Sprintf(format, data)
}

// TestHalfAnAnswerIsToldWhileTheRestIsMissing: the service sends the second half when the first one was told. Gemini
// sends a call whole.
func TestHalfAnAnswerIsToldWhileTheRestIsMissing(t *testing.T) {
	perForm(t, func(t *testing.T, p protocol, inJSON bool) {
		if p.name == "gemini" && !inJSON {
			return
		}
		content := strings.Repeat("The sun moves the wind. ", 20) + "So it is."
		rest := make(chan struct{})
		panel := tellingPanel(t, p, inJSON, nil, func(c backendtest.Call) backendtest.Reply {
			if !isBlind(c) {
				return vote("agent1", "it is first")
			}
			r := newAnswer(content)
			r.Hold = until(rest)
			return r
		})
		turn, err := panel.Start(t.Context(), "s", "energy?")
		if err != nil {
			t.Fatal(err)
		}
		release := sync.OnceFunc(func() { close(rest) })
		told := map[string]string{}
		for ev := range turn.Events(t.Context()) {
			if piece, ok := ev.(report.TextDelta); ok && piece.Act == effect.NewAnswer {
				told[piece.Agent] += piece.Text
				if len(told["ada"]) > len(content)/3 && len(told["bob"]) > len(content)/3 {
					release()
				}
			}
		}
		if told["ada"] != content || told["bob"] != content {
			t.Errorf("told is %q", told)
		}
	})
}

// until waits for a channel, or until the client has gone.
func until(open <-chan struct{}) func(ctx context.Context) {
	return func(ctx context.Context) {
		select {
		case <-open:
		case <-ctx.Done():
		}
	}
}

// TestNoSecretIsTold, although a key is cut between two pieces of an answer, and of what is beside it.
func TestNoSecretIsTold(t *testing.T) {
	const secret = "sk-secret-of-this-machine"
	var finder secrets.Finder
	finder.Add(secret)
	perForm(t, func(t *testing.T, p protocol, inJSON bool) {
		panel := tellingPanel(t, p, inJSON, finder.Stream, func(c backendtest.Call) backendtest.Reply {
			r := newAnswer(fmt.Sprint(secret, " is key ", c.Number))
			if !isBlind(c) {
				r = vote("agent1", "it has "+secret)
			}
			if !inJSON {
				r.Text, r.Reasoning = secret, secret
			}
			return r
		})
		turn, err := panel.Start(t.Context(), "s", "energy?")
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		for ev := range turn.Events(t.Context()) {
			switch ev := ev.(type) {
			case report.TextDelta:
				texts[ev.Call+ev.Act] += ev.Text
			case report.Thinking:
				texts[ev.Call+"thinking"] += ev.Text
			}
		}
		for name, text := range texts {
			if !strings.Contains(text, secrets.Mask) || strings.Contains(text, "sk-") || strings.Contains(text, "machine") {
				t.Errorf("%s is told as %q", name, text)
			}
		}
		if len(texts) < 4 {
			t.Errorf("told is %q", texts)
		}
	})
}
