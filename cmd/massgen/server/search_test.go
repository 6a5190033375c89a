package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestWebSearchIsForwarded: a request that asks for a search has the models search that can, in that
// turn alone. Where none can, the request is refused.
func TestWebSearchIsForwarded(t *testing.T) {
	models := backendtest.NewProtocolServer(t, backendtest.Messages(), func(c backendtest.Call) backendtest.Reply {
		reply := backendtest.Reply{Text: "The moon pulls."}
		if c.Request().Params.Hosted.WebSearch {
			reply.Hosted = &backendtest.Hosted{Query: "tides", Found: []backends.Citation{{URL: "https://tides.example/a", Title: "Tides"}}}
		}
		return reply
	})
	s := serve(t, func(s *server.Settings) {
		kept := s.Store
		s.Models = append(s.Models, server.Model{ID: "searcher", Agents: []string{"eve"}, Open: func(ctx context.Context) (*massgen.Panel, error) {
			eve := massgen.Agent{ID: "eve", Provider: "claude", Model: "claude-sonnet-4-5", BaseURL: models.BaseURL, APIKey: "sk-of-a-test"}
			return massgen.New(ctx, []massgen.Agent{eve}, massgen.WithStore(kept))
		}})
	})
	const link = "[Tides](https://tides.example/a)"
	const chat, responses = "/v1/chat/completions", "/v1/responses"
	for _, asked := range []struct {
		path, body string
		status     int
		want       string
		searches   bool
	}{
		{chat, `{"model":"searcher","web_search_options":{},"messages":[{"role":"user","content":"Why tides?"}]}`, http.StatusOK, link, true},
		{chat, `{"model":"searcher","stream":true,"web_search_options":{"search_context_size":"low"},"messages":[{"role":"user","content":"Tides?"}]}`, http.StatusOK, link, true},
		{responses, `{"model":"searcher","input":"Why?","tools":[{"type":"web_search"}]}`, http.StatusOK, link, true},
		{responses, `{"model":"searcher","input":"Why not?","tools":[{"type":"web_search_preview"}]}`, http.StatusOK, link, true},
		{chat, `{"model":"searcher","web_search_options":null,"messages":[{"role":"user","content":"Why so?"}]}`, http.StatusOK, "The moon pulls.", false},
		{responses, `{"model":"searcher","input":"And so?","tools":[{"type":"web_search"}],"tool_choice":"none"}`, http.StatusOK, "The moon pulls.", false},
		{chat, `{"model":"pair","web_search_options":{},"messages":[{"role":"user","content":"Why?"}]}`, http.StatusBadRequest, "web_search_options: no agent of this model can search", false},
		{responses, `{"model":"pair","input":"Why?","tools":[{"type":"web_search"}]}`, http.StatusBadRequest, "tools[0]: no agent of this model can search", false},
	} {
		before := len(models.Calls())
		r := s.do(t, http.MethodPost, asked.path, asked.body)
		if asked.searches && !strings.Contains(r.body, `"url_citation"`) {
			t.Errorf("%s: no annotation in\n%s", asked.body, r.body)
		}
		if r.status != asked.status || !strings.Contains(r.body, asked.want) || !asked.searches && strings.Contains(r.body, link) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", asked.body, r.status, asked.status, asked.want, r.body)
		}
		for _, c := range models.Calls()[before:] {
			if got := c.Request().Params.Hosted.WebSearch; got != asked.searches {
				t.Errorf("%s: the model was to search: %t", asked.body, got)
			}
		}
	}
}
