package server_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
)

// newListener returns a model that says "Rome.". As some services, it refuses an empty message.
func newListener() *looking {
	return &looking{answer: func(messages []backends.Message) (string, error) {
		for _, m := range messages {
			if strings.TrimSpace(textOf(m)) == "" {
				return "", &backends.Error{Kind: backends.KindBadRequest, Message: "messages must have non-empty content"}
			}
		}
		return "Rome.", nil
	}}
}

func textOf(m backends.Message) (all string) {
	for _, part := range m.Parts {
		switch part := part.(type) {
		case backends.Text:
			all += part.Text
		case backends.ToolResult:
			all += part.Content
		}
	}
	return all
}

// hears is the model "one", whose agent is a model.
func hears(l *looking) func(*server.Settings) {
	return func(s *server.Settings) {
		own := s.Store
		s.Models = []server.Model{{ID: "one", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Model: "m", Backend: l}}, massgen.WithStore(own))
		}}}
	}
}

// TestNoMessageIsEmpty in what a model is sent, whatever the client's messages lack.
func TestNoMessageIsEmpty(t *testing.T) {
	const picture = `{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,aGVsbG8="}}`
	for name, test := range map[string]struct{ messages, want string }{
		"a greeting":             {`{"role":"assistant","content":"Welcome!"},{"role":"user","content":"The capital?"}`, "Welcome!"},
		"a greeting in parts":    {`{"role":"system","content":"You are a guide."},{"role":"assistant","content":[{"type":"text","text":"Welcome!"}]},{"role":"user","content":"The capital?"}`, "Welcome!"},
		"an empty first message": {`{"role":"user","content":""},{"role":"assistant","content":"Welcome!"},{"role":"user","content":"The capital?"}`, "Welcome!"},
		"a blank answer":         {`{"role":"user","content":"Hello"},{"role":"assistant","content":" \n"},{"role":"user","content":"The capital?"}`, "Hello"},
		"a blank system message": {`{"role":"system","content":" "},{"role":"user","content":"The capital?"}`, "The capital?"},
		"only a file":            {`{"role":"user","content":[` + picture + `]}`, "hello"},
		"only a file, earlier":   {`{"role":"user","content":[` + picture + `]},{"role":"assistant","content":"A text."},{"role":"user","content":"The capital?"}`, "A text."},
		"an empty question":      {`{"role":"system","content":"Name a capital."},{"role":"user","content":""}`, "Name a capital."},
	} {
		l := newListener()
		s := serve(t, hears(l))
		r := s.chat(t, `{"model":"one","messages":[`+test.messages+`]}`)
		if r.status != http.StatusOK || !strings.Contains(strings.Join(l.texts(), "\n"), test.want) {
			t.Errorf("%s: status %d, %s, after %q", name, r.status, r.body, l.texts())
		}
	}
}

// TestGreetingIsPartOfTheSession, which the client goes on with by sending all messages again.
func TestGreetingIsPartOfTheSession(t *testing.T) {
	s := serve(t, hears(newListener()))
	const messages = `{"model":"one","messages":[{"role":"assistant","content":"Welcome!"},{"role":"user","content":"The capital?"}`
	first := s.chat(t, messages+`]}`)
	if next := s.chat(t, messages+`,{"role":"assistant","content":"Rome."},{"role":"user","content":"And of France?"}]}`); next.session() != first.session() {
		t.Errorf("the conversation went on in the session %q and not in %q", next.session(), first.session())
	}
}

// TestSystemMessageAloneIsTheQuestion, and the system messages before it stay instructions.
func TestSystemMessageAloneIsTheQuestion(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"one","messages":[{"role":"system","content":"Be brief."},{"role":"developer","content":"Name a capital."}]}`,
		"/v1/responses":        `{"model":"one","instructions":"Be brief.","input":[{"role":"developer","content":"Name a capital."}]}`,
	} {
		l := newListener()
		s := serve(t, hears(l))
		r := s.send(t, http.MethodPost, path, body)
		sent := l.texts()
		if r.status != http.StatusOK || !slices.Contains(sent, "user: Name a capital.") || strings.Count(strings.Join(sent, "\n"), "Name a capital.") != 1 || !strings.Contains(sent[0], "Be brief.") {
			t.Errorf("%s: status %d, %s, after %q", path, r.status, r.body, sent)
		}
	}
}
