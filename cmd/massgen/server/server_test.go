package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// served is a server of a panel of two with canned answers, "pair", and of one of its agents.
type served struct {
	*httptest.Server
	store *sessions.Store
	// token is what send sends, "" for none.
	token string
}

func serve(t *testing.T, change func(*server.Settings)) served {
	t.Helper()
	same := func(text string) string { return text }
	kept := store.InMemory("", same).Sessions
	panel := func(ids ...string) func(context.Context) (*massgen.Panel, error) {
		return func(ctx context.Context) (*massgen.Panel, error) {
			var list []massgen.Agent
			for _, id := range ids {
				list = append(list, massgen.Agent{ID: id, Provider: "demo"})
			}
			return massgen.New(ctx, list, massgen.WithStore(kept))
		}
	}
	s := server.Settings{
		Models: []server.Model{
			{ID: "pair", Created: time.Unix(1, 0), Agents: []string{"ada", "bob"}, Open: panel("ada", "bob")},
			{ID: "pair/ada", Agents: []string{"ada"}, Open: panel("ada")},
		},
		Store: kept, Redact: same, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&s)
	}
	token := ""
	if len(s.Access.Tokens) == 1 {
		token = s.Access.Tokens[0].Secret
	}
	ctx, stop := context.WithCancel(context.Background())
	handler := server.New(s)
	h := httptest.NewServer(handler)
	ended := make(chan error, 1)
	go func() { ended <- handler.Serve(ctx, newIdleListener(ctx)) }() // so that panels are closed as in a program
	t.Cleanup(func() {
		h.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return served{h, kept, token}
}

// reply is a whole response.
type reply struct {
	status int
	header http.Header
	body   string
}

// session is the id of the response's session.
func (r reply) session() string { return r.header.Get("Massgen-Session-Id") }

// send sends a request and returns the response.
func (s served) send(t *testing.T, method, path, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	return send(t, request)
}

// send sends a request and reads the whole response.
func send(t *testing.T, request *http.Request) reply {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}

func (s served) chat(t *testing.T, body string) reply {
	t.Helper()
	return s.send(t, http.MethodPost, "/v1/chat/completions", body)
}

// answer is the part of a chat completion that tests look at.
type answer struct {
	Choices []struct {
		Message struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
		}
		Delta struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Total int `json:"total_tokens"`
	}
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestChatHasAnswerReasoningAndUsage(t *testing.T) {
	s := serve(t, nil)
	r := s.chat(t, `{"model":"pair","messages":[{"role":"user","content":"What is Go?"}]}`)
	a := decode[answer](t, r.body)
	if r.status != http.StatusOK || len(a.Choices) != 1 || a.Usage == nil || a.Usage.Total == 0 {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	kept, err := s.store.Turns(t.Context(), r.session(), 0)
	if err != nil || len(kept) != 1 || kept[0].Answer != a.Choices[0].Message.Content || kept[0].Answer == "" {
		t.Errorf("the session has %+v, %v; the response %s", kept, err, r.body)
	}
	if !strings.Contains(a.Choices[0].Message.Reasoning, "ada voted for") {
		t.Errorf("the reasoning has no vote: %q", a.Choices[0].Message.Reasoning)
	}
}

func TestStreamComesToTheAnswer(t *testing.T) {
	for _, model := range []string{"pair", "pair/ada"} {
		s := serve(t, nil)
		r := s.chat(t,
			`{"model":"`+model+`","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"What is Go?"}]}`)
		var content, finish string
		var total int
		done := false
		for lines := bufio.NewScanner(strings.NewReader(r.body)); lines.Scan(); {
			data, isData := strings.CutPrefix(lines.Text(), "data: ")
			switch {
			case !isData:
			case data == "[DONE]":
				done = true
			default:
				a := decode[answer](t, data)
				for _, c := range a.Choices {
					content += c.Delta.Content
					finish += c.FinishReason
				}
				if a.Usage != nil {
					total = a.Usage.Total
				}
			}
		}
		kept, err := s.store.Turns(t.Context(), r.session(), 0)
		if err != nil || len(kept) != 1 || kept[0].Answer != content || content == "" {
			t.Errorf("%s: the session has %+v, %v; the stream %q", model, kept, err, content)
		}
		if finish != "stop" || total == 0 || !done {
			t.Errorf("%s: the stream ends with %q, %d tokens, done: %v", model, finish, total, done)
		}
	}
}

// TestEarlierMessagesAreTheHistory of a session that begins, and a client that sends all of it
// again with another question goes on in that session.
func TestEarlierMessagesAreTheHistory(t *testing.T) {
	s := serve(t, nil)
	r := s.chat(t,
		`{"model":"pair","messages":[{"role":"user","content":"One?"},{"role":"assistant","content":"1"},{"role":"user","content":"Two?"}]}`)
	id := r.session()
	second := decode[answer](t, r.body).Choices[0].Message.Content
	again, err := json.Marshal(map[string]any{"model": "pair", "messages": []map[string]string{
		{"role": "user", "content": "One?"}, {"role": "assistant", "content": "1"},
		{"role": "user", "content": "Two?"}, {"role": "assistant", "content": second}, {"role": "user", "content": "Three?"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	next := s.chat(t, string(again))
	if got := next.session(); got != id {
		t.Errorf("the third question went on in session %q and not in %q", got, id)
	}
	turns, err := s.store.Turns(t.Context(), id, 0)
	if err != nil || len(turns) != 3 || turns[0].Answer != "1" || turns[1].Question != "Two?" || turns[2].Question != "Three?" {
		t.Errorf("the session has %+v, %v", turns, err)
	}
	other := s.chat(t, string(again))
	if other.session() == id {
		t.Error("what was asked before is asked in the same session again")
	}
}

func TestNamedSessionGoesOn(t *testing.T) {
	s := serve(t, nil)
	for range 2 {
		r := s.chat(t, `{"model":"pair","metadata":{"session_id":"mine"},"messages":[{"role":"user","content":"?"}]}`)
		if r.status != http.StatusOK || r.session() != "mine" {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
	}
	if turns, err := s.store.Turns(t.Context(), "mine", 0); err != nil || len(turns) != 2 {
		t.Errorf("the session has %+v, %v", turns, err)
	}
}

func TestPageOfASystemMessageIsTheSessions(t *testing.T) {
	s := serve(t, nil)
	r := s.chat(t,
		`{"model":"pair","messages":[{"role":"system","content":"CURRENT PAGE: Tyburn\nUSER: Dan\nPREVIOUS TOPIC: gallows"},{"role":"user","content":"?"}]}`)
	kept, err := s.store.Session(t.Context(), r.session())
	if err != nil || !strings.Contains(kept.Metadata["massgen:topic"], `"current_page":"Tyburn"`) {
		t.Errorf("the session's metadata are %v, %v", kept.Metadata, err)
	}
}

func TestRefusals(t *testing.T) {
	s := serve(t, nil)
	for body, want := range map[string]string{
		``:   "the request is not JSON",
		`[]`: "the request must be an object: it is an array",
		`{}`: "model is missing",
		`{"model":"pare","messages":[{"role":"user","content":"?"}]}`:                                    "did you mean pair?",
		`{"model":"pair","messages":[]}`:                                                                 "messages is empty",
		`{"model":"pair","messages":[` + strings.Repeat(`{},`, 4096) + `{}]}`:                            "there are 4097, and the most is 4096",
		`{"model":"pair","messages":[{"role":"king","content":"?"}]}`:                                    "messages[0].role",
		`{"model":"pair","messages":[{"role":"user","content":7}]}`:                                      "messages[0].content",
		`{"model":"pair","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`:                 "has no image_url",
		`{"model":"pair","messages":[{"role":"user","content":" "}]}`:                                    "messages: the question is empty",
		`{"model":"pair","messages":[{"role":"user","content":"?"},{"role":"assistant","content":"!"}]}`: "the last one must be a question",
		`{"model":"pair","n":2,"messages":[{"role":"user","content":"?"}]}`:                              "n must be 1",
		`{"model":"pair","n":"1"}`:                                                                       "n must be a number: it is a string",
		`{"model":7}`:                                                                                    "model must be a string: it is a number",
		`{"model":"pair","stream":"yes"}`:                                                                "stream must be true or false: it is a string",
		`{"model":"pair","tools":true}`:                                                                  "tools must be an array: it is true or false",
		`{"model":"pair","metadata":{"session_id":".."},"messages":[{"role":"user","content":"?"}]}`:     "metadata.session_id",
		`{"model":"pair","conversation":7,"messages":[{"role":"user","content":"?"}]}`:                   "conversation is neither",
		`{"model":"pair","messages":[{"role":"user","content":"?"}]} {}`:                                 "something follows",
	} {
		r := s.chat(t, body)
		got := decode[struct {
			Error struct{ Message, Type string }
		}](t, r.body).Error
		if r.status/100 != 4 || !strings.Contains(got.Message, want) || got.Type != "invalid_request_error" {
			t.Errorf("%s: status %d, %+v, without %q", body, r.status, got, want)
		}
	}
	if r := s.send(t, http.MethodPost, "/sessions", `{"question":"?","files":"a.png"}`); !strings.Contains(r.body, `"files must be an array: it is a string"`) {
		t.Errorf("files that are no list: %s", r.body)
	}
	if r := s.chat(t, `{"model":"pair","n":1.0,"messages":[{"role":"user","content":"?"}]}`); r.status != http.StatusOK {
		t.Errorf("n of 1.0: status %d, %s", r.status, r.body)
	}
}

func TestModels(t *testing.T) {
	s := serve(t, nil)
	for path, want := range map[string]string{
		"/v1/models":          `"id":"pair/ada"`,
		"/v1/models/pair":     `"created":1`,
		"/v1/models/pair/ada": `"id":"pair/ada"`,
		"/v1/models/other":    "there is no model",
		"/nothing":            "there is no GET",
	} {
		if r := s.send(t, http.MethodGet, path, ""); !strings.Contains(r.body, want) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
}
