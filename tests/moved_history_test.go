package tests

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// move is a conversation that one model began and another goes on with.
type move struct {
	from protocol
	to   protocol // with the model that goes on
}

// moves are all from one protocol to another, and to other models of the same.
func moves() []move {
	others := map[string][]string{
		"openai": {"gpt-4.1"}, "responses": {"gpt-5.4-mini"},
		"claude": {"claude-opus-4-7", "claude-sonnet-4-5"}, // the latter thinks by a budget
		"gemini": {"gemini-3-flash", "gemini-2.5-flash"},   // the latter needs no signatures
	}
	var all []move
	for _, from := range protocols() {
		for _, to := range protocols() {
			models := others[to.name]
			if to.name != from.name {
				models = append(models, to.model)
			}
			for _, model := range models {
				to.model = model
				all = append(all, move{from, to})
			}
		}
	}
	return all
}

func perMove(t *testing.T, test func(t *testing.T, m move)) {
	for _, m := range moves() {
		t.Run(m.from.name+" to "+m.to.model, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, m) })
		})
	}
}

// signature is what nobody but the model may be sent.
func signature(model string) string {
	return base64.StdEncoding.EncodeToString([]byte("signed by " + model))
}

func thoughtOf(model string) string { return "a thought of " + model }

// thinking is a reply that only its model can read all of.
func thinking(model string, reply backendtest.Reply) backendtest.Reply {
	reply.Reasoning, reply.Signature = thoughtOf(model), signature(model)
	return reply
}

// TestHistoryMovesToAnotherModel gives what one model said, as it comes out of a
// store, to another: what only the first can read is left out, and the rest is a
// valid request, in the middle of a tool loop and after it.
func TestHistoryMovesToAnotherModel(t *testing.T) {
	t.Parallel()
	perMove(t, func(t *testing.T, m move) {
		calls := m.from.says(t, backendtest.Reply{Text: "I look both up.", ToolCalls: []backends.ToolCall{
			{ID: "call.1", Name: "lookup", Arguments: `{"word":"sun"}`}, {ID: "call.2", Name: "lookup", Arguments: `{"word":"wind"}`},
		}})
		results := backends.Message{Role: backends.RoleTool}
		for i, c := range calls.ToolCalls() {
			results.Parts = append(results.Parts, backends.ToolResult{CallID: c.ID, Name: c.Name, Content: fmt.Sprint("found ", i)})
		}
		answer := m.from.says(t, backendtest.Reply{Text: "So it is."})
		loop := []backends.Message{backends.System("Be brief."), backends.User("What is it?"), calls, results}
		for _, history := range [][]backends.Message{loop, append(slices.Clone(loop), answer, backends.User("Why?"))} {
			server, adapter := m.to.serve(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "done"} })
			request := backends.Request{Model: m.to.model, Messages: history, Tools: []backends.Tool{lookup{}.Definition()}}
			if m.to.model != "gpt-4.1" {
				request.Params.ReasoningEffort = "low"
			}
			if _, err := backends.Collect(adapter.Stream(t.Context(), request), nil); err != nil {
				t.Fatal(err)
			}
			sent := server.Calls()[0]
			checkMoved(t, m.to, sent, m.from.model)
			if got := toolResults(sent.Messages()); !slices.Equal(got, []string{"found 0", "found 1"}) {
				t.Errorf("the results arrive as %q", got)
			}
			if !strings.Contains(string(sent.Body), "I look both up.") {
				t.Errorf("what the first model said does not arrive:\n%s", sent.Body)
			}
		}
	})
}

// says returns a message of the protocol's model, out of a store.
func (p protocol) says(t *testing.T, reply backendtest.Reply) backends.Message {
	t.Helper()
	_, adapter := p.serve(t, func(backendtest.Call) backendtest.Reply { return thinking(p.model, reply) })
	response, err := backends.Collect(adapter.Stream(t.Context(), backends.Request{Model: p.model, Messages: []backends.Message{backends.User("?")}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	message := response.Message
	if p.name == "openai" {
		// Chat completions has nothing opaque; OpenAI's other protocol has this.
		data := encoded(t, map[string]string{"type": "reasoning", "encrypted_content": signature(p.model)})
		encrypted := backends.Opaque{Provider: p.kind, Model: p.model, Data: json.RawMessage(data)}
		message.Parts = append([]backends.Part{encrypted}, message.Parts...)
	}
	if !slices.ContainsFunc(message.Parts, func(part backends.Part) bool { _, is := part.(backends.Opaque); return is }) {
		t.Fatalf("nothing of %s's message is opaque: %s", p.name, encoded(t, message))
	}
	return decoded[backends.Message](t, encoded(t, message))
}

// checkMoved says what is wrong with a request that has messages of another model.
func checkMoved(t *testing.T, to protocol, sent backendtest.Call, others ...string) {
	t.Helper()
	for _, model := range others {
		for _, secret := range []string{signature(model), thoughtOf(model)} {
			if strings.Contains(string(sent.Body), secret) {
				t.Errorf("%s was sent %q:\n%s", to.model, secret, sent.Body)
			}
		}
	}
	if problem := invalid(t, to, sent); problem != "" {
		t.Errorf("%s was sent %s:\n%s", to.model, problem, sent.Body)
	}
}

// TestStepMovesToAnotherModel: an agent's own model breaks down after the first call
// of a tool loop, another makes the second, and its own is back for the third. None
// is sent what the other alone can read.
func TestStepMovesToAnotherModel(t *testing.T) {
	t.Parallel()
	perMove(t, func(t *testing.T, m move) {
		own, first := m.from.serve(t, func(c backendtest.Call) backendtest.Reply {
			switch c.Number {
			case 1:
				return thinking(m.from.model, toolCall("lookup", `{"word":"sun"}`))
			case 2:
				return failed(529, "Overloaded.", nil)
			}
			return backendtest.Reply{Text: "So it is."}
		})
		other, second := m.to.serve(t, func(backendtest.Call) backendtest.Reply {
			return thinking(m.to.model, toolCall("lookup", `{"word":"wind"}`))
		})
		r := alone(t, m.from.model, retry.NewFallback(m.from.name, first, retry.Choice{Provider: m.to.name, Backend: second, Model: m.to.model}))
		if r.Status != kernel.Completed || r.Answer != "So it is." || len(own.Calls()) != 3 || len(other.Calls()) != 1 {
			t.Fatalf("status %s, answer %q, %d and %d requests", r.Status, r.Answer, len(own.Calls()), len(other.Calls()))
		}
		moved, back := other.Calls()[0], own.Calls()[2]
		checkMoved(t, m.to, moved, m.from.model)
		checkMoved(t, m.from, back, m.to.model)
		if kept := strings.Contains(string(back.Body), signature(m.from.model)); kept != (m.from.name != "openai") {
			t.Errorf("%s is sent its own signature: %t\n%s", m.from.model, kept, back.Body)
		}
		for call, want := range map[*backendtest.Call][]string{
			&moved: {`found {"word":"sun"}`},
			&back:  {`found {"word":"sun"}`, `found {"word":"wind"}`},
		} {
			if got := toolResults(call.Messages()); !slices.Equal(got, want) {
				t.Errorf("the results are %q, want %q", got, want)
			}
		}
	})
}

// alone asks a panel of one agent, which has the tool.
func alone(t *testing.T, model string, backend backends.Backend) report.Result {
	t.Helper()
	p := panel{}
	var err error
	p.Panel, err = coordinator.New(coordinator.Options{
		Store:  sessions.NewMemory(),
		Agents: []coordinator.Agent{{ID: "agent1", Model: model, Backend: backend, Tools: []agents.Tool{lookup{}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.ask(t, "What is it?")
}
