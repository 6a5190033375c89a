package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// dialectPanel is a panel of two agents on one model of a service.
func dialectPanel(t *testing.T, d openai.Dialect, model string, reply func(backendtest.Call) backendtest.Reply) (panel, *backendtest.Server) {
	t.Helper()
	server := backendtest.NewServer(t, reply)
	backend, err := openai.NewDialect(openai.Config{Provider: "test", BaseURL: server.BaseURL}, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	opts := coordinator.Options{Store: sessions.NewMemory(), Rules: kernel.Defaults()}
	for _, id := range []string{"agent1", "agent2"} {
		opts.Agents = append(opts.Agents, coordinator.Agent{ID: id, Model: model, Backend: backend, ToolMode: effect.ToolsAuto})
	}
	p, err := coordinator.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return panel{Panel: p}, server
}

// TestModelWithoutToolsInReasoning: over chat completions, agents on a model that takes no
// tools while it reasons agree by JSON, and no request is sent that would be refused.
func TestModelWithoutToolsInReasoning(t *testing.T) {
	chat := openai.OpenAI()
	chat.API = "chat"
	p, server := dialectPanel(t, chat, "gpt-6-astra", func(c backendtest.Call) backendtest.Reply {
		switch {
		case strings.Contains(string(c.Body), `"tools":`):
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "Function tools with reasoning_effort are not supported"}}
		case isBlind(c):
			return backendtest.Reply{Text: fmt.Sprintf(`{"action":{"name":"new_answer","content":"answer %d"}}`, c.Number)}
		}
		return backendtest.Reply{Text: `{"action":{"name":"vote","agent_id":"agent2","reason":"clear"}}`}
	})
	result := p.ask(t, "question")
	if result.Winner != "agent2" || result.Status != "completed" || len(server.Calls()) != 4 {
		t.Errorf("%s %s after %d requests: %+v", result.Status, result.Winner, len(server.Calls()), result.Failed)
	}
}

// TestReasoningOfAStepGoesBack: a service that refuses a tool loop without the
// reasoning of its calls is content, also after a vote that was refused.
func TestReasoningOfAStepGoesBack(t *testing.T) {
	t.Parallel()
	dialect := openai.Dialect{Reasoning: openai.ReasoningContent, NeedsReasoning: true}
	p, server := dialectPanel(t, dialect, "thinker", func(c backendtest.Call) backendtest.Reply {
		body := string(c.Body)
		var reply backendtest.Reply
		switch {
		case strings.Contains(body, `"tool_calls"`) && !strings.Contains(body, `"reasoning_content":"I thought"`):
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "The reasoning_content must be passed back"}}
		case isBlind(c):
			reply = newAnswer(fmt.Sprintf("answer %d", c.Number))
		case strings.Contains(body, `"tool_calls"`):
			reply = vote("agent1", "it is there")
		default:
			reply = vote("agent9", "it is not there")
		}
		reply.Reasoning = "I thought"
		return reply
	})
	result := p.ask(t, "question")
	if result.Winner != "agent1" || len(result.Failed) > 0 || len(server.Calls()) != 6 {
		t.Errorf("%s wins after %d requests, failed %+v", result.Winner, len(server.Calls()), result.Failed)
	}
}
