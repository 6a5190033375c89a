package conversation_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestConnectedModelIsCalledAgain: the key and the address are in the environment, and a call that fails is repeated.
func TestConnectedModelIsCalledAgain(t *testing.T) {
	var calls atomic.Int32
	server := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		if calls.Add(1) == 1 {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: http.StatusServiceUnavailable, Message: "busy", Header: http.Header{"Retry-After-Ms": {"1"}}}}
		}
		return backendtest.Reply{Text: "Hello."}
	})
	t.Setenv("OPENAI_BASE_URL", server.BaseURL)
	t.Setenv("OPENAI_API_KEY", "sk-0123456789")
	agent, err := conversation.Connect(t.Context(), "gpt-4o-mini")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	}()
	reply, err := agent.Think(t.Context(), conversation.Request{Prompt: "Hi."})
	if err != nil || reply.Content != "Hello." || calls.Load() != 2 {
		t.Errorf("the reply after %d calls is %+v, %v", calls.Load(), reply, err)
	}
	if agent.ID != "gpt-4o-mini" || agent.Model != "gpt-4o-mini" || agent.Context.Window == 0 {
		t.Errorf("the agent is %+v", agent)
	}
}

func TestModelWithoutAKeyIsNotConnected(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	_, err := conversation.Connect(t.Context(), "claude-sonnet-5-5")
	if err == nil || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("the error is %v", err)
	}
	if err := (conversation.Agent{}).Close(); err != nil {
		t.Error(err)
	}
}
