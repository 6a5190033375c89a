package backendtest

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
)

func liveSearch(t *testing.T, s Live) {
	req := s.request("Search the web once for the height of the Eiffel Tower, and tell it in a sentence with its source.")
	req.Params.Hosted = backends.HostedTools{WebSearch: true, MaxUses: 2}
	resp := s.mustUse(t, req, backends.WebSearch)
	if len(resp.Message.Citations()) == 0 {
		t.Errorf("the answer names no source: %q", resp.Message.Text())
	}
	if resp.Usage == nil || resp.Usage.WebSearches == 0 {
		t.Errorf("the usage is %+v", resp.Usage)
	}
}

func liveCode(t *testing.T, s Live) {
	req := s.request("Run code that prints 123456789 modulo 9973, and tell me what it printed.")
	req.Params.Hosted = backends.HostedTools{CodeExecution: true, MaxUses: 2}
	resp := s.mustUse(t, req, backends.CodeExecution)
	if said := resp.Message.Text() + resp.Message.HostedCalls()[0].Result; !strings.Contains(said, "1022") {
		t.Errorf("it says %q", said)
	}
}

// mustUse makes a request that has to be answered with the use of a hosted tool, and goes on after the
// answer, which the service has to take back.
func (s Live) mustUse(t *testing.T, req backends.Request, name string) backends.Response {
	t.Helper()
	most := thinkingTokens
	req.Params.MaxTokens = &most
	resp := s.mustCall(t, req)
	calls := resp.Message.HostedCalls()
	if len(calls) == 0 || calls[0].Name != name || calls[0].Open || strings.TrimSpace(resp.Message.Text()) == "" {
		t.Fatalf("the calls are %+v, and the answer %q", calls, resp.Message.Text())
	}
	req.Messages = append(req.Messages, stored(t, resp.Message), backends.User("Thank you. Reply with the word: pong"))
	if s.mustCall(t, req).Message.Text() == "" {
		t.Error("the answer to the next message is empty")
	}
	return resp
}
