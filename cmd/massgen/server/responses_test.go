package server_test

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/sessions"
)

// halved is a model that says the beginning of its answer, and the rest once open is closed.
type halved struct {
	open  chan struct{}
	calls atomic.Int32
}

func (g *halved) Stream(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		g.calls.Add(1)
		if !yield(backends.TextDelta{Text: "Half "}, nil) {
			return
		}
		select {
		case <-g.open:
		case <-ctx.Done():
			yield(nil, &backends.Error{Kind: backends.KindCancelled, Message: "cancelled", Err: ctx.Err()})
			return
		}
		if yield(backends.TextDelta{Text: "and half."}, nil) && yield(backends.Usage{InputTokens: 3, OutputTokens: 2}, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

// serveHalved is a server of "slow", a model alone that is halved. Several may have one store.
func serveHalved(t *testing.T, g *halved, kept *sessions.Store) served {
	t.Helper()
	s := serve(t, func(s *server.Settings) {
		if kept != nil {
			s.Store = kept
		}
		own := s.Store
		s.Models = []server.Model{{ID: "slow", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Backend: g}}, massgen.WithStore(own))
		}}}
	})
	if kept != nil {
		s.store = kept
	}
	return s
}

// response is the part of a response that tests look at.
type response struct {
	ID, Status, Model string
	Previous          string `json:"previous_response_id"`
	Background        bool
	Metadata          map[string]string
	Output            []struct {
		Type    string
		Summary []struct{ Text string }
		Content []struct{ Text string }
	}
	Usage *struct {
		Total  int `json:"total_tokens"`
		Output struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	Error *struct{ Code, Message string }
}

// text is the answer.
func (r response) text() (text string) {
	for _, item := range r.Output {
		for _, part := range item.Content {
			text += part.Text
		}
	}
	return text
}

func (s served) respond(t *testing.T, body string) (response, reply) {
	t.Helper()
	r := s.send(t, http.MethodPost, "/v1/responses", body)
	return decode[response](t, r.body), r
}

// responseEvent is an event of a stream. Name is the value of its line "event".
type responseEvent struct {
	Name string `json:"-"`
	Type string
	Seq  int `json:"sequence_number"`

	Delta    string
	Response response
}

// eventsOf reads a stream.
func eventsOf(t *testing.T, body string) (all []responseEvent) {
	t.Helper()
	name := ""
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		if text, isName := strings.CutPrefix(lines.Text(), "event: "); isName {
			name = text
		}
		if data, isData := strings.CutPrefix(lines.Text(), "data: "); isData {
			ev := decode[responseEvent](t, data)
			ev.Name = name
			all = append(all, ev)
		}
	}
	return all
}

func TestResponseHasAnswerReasoningAndUsage(t *testing.T) {
	s := serve(t, nil)
	got, r := s.respond(t, `{"model":"pair","input":"What is Go?","metadata":{"of":"mine"},"store":false}`)
	kept, err := s.store.Turns(t.Context(), r.session(), 0)
	if err != nil || len(kept) != 1 || kept[0].Answer != got.text() || got.text() == "" {
		t.Fatalf("the session has %+v, %v; the response %s", kept, err, r.body)
	}
	if got.Status != "completed" || got.Usage == nil || got.Usage.Total == 0 || got.Metadata["of"] != "mine" {
		t.Errorf("the response is %s", r.body)
	}
	if got.Output[0].Type != "reasoning" || !strings.Contains(got.Output[0].Summary[0].Text, "ada voted for") {
		t.Errorf("the reasoning has no vote: %s", r.body)
	}
}

func TestResponseStreams(t *testing.T) {
	s := serve(t, nil)
	r := s.send(t, http.MethodPost, "/v1/responses", `{"model":"pair","input":"What is Go?","stream":true}`)
	var kinds []string
	text, summary := "", ""
	events := eventsOf(t, r.body)
	for i, ev := range events {
		if ev.Seq != i || ev.Name != ev.Type {
			t.Errorf("event %d has number %d and name %q, type %q", i, ev.Seq, ev.Name, ev.Type)
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != ev.Type {
			kinds = append(kinds, ev.Type)
		}
		switch ev.Type {
		case "response.output_text.delta":
			text += ev.Delta
		case "response.reasoning_summary_text.delta":
			summary += ev.Delta
		}
	}
	want := []string{
		"response.created", "response.in_progress",
		"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
		"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done",
		"response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done",
		"response.completed",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("the events are\n%q, not\n%q", kinds, want)
	}
	last := events[len(events)-1].Response
	kept, err := s.store.Turns(t.Context(), r.session(), 0)
	if err != nil || kept[0].Answer != text || last.text() != text || last.Usage == nil {
		t.Errorf("the session has %+v, %v; the stream %q and at its end %+v", kept, err, text, last)
	}
	if !strings.Contains(summary, "ada voted for") {
		t.Errorf("the reasoning has no vote: %q", summary)
	}
}

func TestResponseGoesOnAfterAnother(t *testing.T) {
	s := serve(t, nil)
	first, one := s.respond(t, `{"model":"pair","input":"One?"}`)
	second, two := s.respond(t, `{"model":"pair","input":"Two?","previous_response_id":"`+first.ID+`"}`)
	if two.session() != one.session() || second.Previous != first.ID {
		t.Fatalf("the second response is of session %q and not of %q: %s", two.session(), one.session(), two.body)
	}
	_, other := s.respond(t, `{"model":"pair","input":"Other?","previous_response_id":"`+first.ID+`"}`)
	if other.session() == one.session() {
		t.Error("a session that has gone on is changed")
	}
	turns, err := s.store.Turns(t.Context(), other.session(), 0)
	if err != nil || len(turns) != 2 || turns[0].Question != "One?" || turns[1].Question != "Other?" {
		t.Errorf("the branch has %+v, %v", turns, err)
	}
	for body, status := range map[string]int{
		`"previous_response_id":"resp_none"`:                                               http.StatusBadRequest,
		`"previous_response_id":"` + first.ID + `","conversation":"other"`:                 http.StatusBadRequest,
		`"previous_response_id":"` + first.ID + `","conversation":"` + one.session() + `"`: http.StatusOK,
	} {
		if _, r := s.respond(t, `{"model":"pair","input":"?",`+body+`}`); r.status != status {
			t.Errorf("%s: status %d: %s", body, r.status, r.body)
		}
	}
}

// TestInputItems of all kinds become the session's history.
func TestInputItems(t *testing.T) {
	s := serve(t, nil)
	_, r := s.respond(t, `{"model":"pair","instructions":"CURRENT PAGE: Tyburn","conversation":{"id":"mine"},"input":[
		{"role":"user","content":[{"type":"input_text","text":"One?"}]},
		{"type":"reasoning","id":"rs_1","summary":[]},
		{"type":"function_call","call_id":"c1","name":"look","arguments":"{}"},
		{"type":"function_call_output","call_id":"c1","output":"seen"},
		{"type":"custom_tool_call","call_id":"c2","name":"patch","input":"a line"},
		{"type":"custom_tool_call_output","call_id":"c2","output":"patched"},
		{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"1","annotations":[]}]},
		{"role":"user","content":"Two?"}]}`)
	turns, err := s.store.Turns(t.Context(), "mine", 0)
	if err != nil || len(turns) != 2 || turns[0].Answer != "1" ||
		turns[0].Question != "One?\n\nThe tool look with {} gave this result:\n> seen\n\nThe tool patch with a line gave this result:\n> patched" || turns[1].Question != "Two?" {
		t.Errorf("the session has %+v, %v; the response %s", turns, err, r.body)
	}
	kept, err := s.store.Session(t.Context(), "mine")
	if err != nil || !strings.Contains(kept.Metadata["massgen:topic"], "Tyburn") {
		t.Errorf("the instructions are not read: %v, %v", kept.Metadata, err)
	}
}

func TestResponseRefusals(t *testing.T) {
	s := serve(t, nil)
	for body, want := range map[string]string{
		`{"input":"?"}`:               "model is missing",
		`{"model":"pair"}`:            "input is neither",
		`{"model":"pair","input":[]}`: "input is neither",
		`{"model":"pair","input":[` + strings.Repeat(`{},`, 4096) + `{}]}`:                 "there are 4097, and the most is 4096",
		`{"model":"pair","input":" "}`:                                                     "question",
		`{"model":"pair","input":[{"role":"king"}]}`:                                       "input[0].role",
		`{"model":"pair","input":[{"type":"item_reference","id":"x"}]}`:                    "input[0].id names no item",
		`{"model":"pair","input":[{"type":"king","role":"user"}]}`:                         "input[0].type",
		`{"model":"pair","input":[{"role":"user","content":[{"type":"input_image"}]}]}`:    "has no image_url",
		`{"model":"pair","input":"?","metadata":{"a":1}}`:                                  "metadata.a is no string",
		`{"model":"pair","input":"?","metadata":{"a":"` + strings.Repeat("x", 513) + `"}}`: "metadata.a is too long",
	} {
		_, r := s.respond(t, body)
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, want) {
			t.Errorf("%s: status %d, %s", body, r.status, r.body)
		}
	}
	for _, id := range []string{"x", "resp_", "resp_x", "resp_MQpwYWlyCi4u"} { // the last one has the session ..
		if r := s.send(t, http.MethodGet, "/v1/responses/"+id, ""); r.status != http.StatusNotFound {
			t.Errorf("%s: status %d", id, r.status)
		}
	}
}

func TestBackgroundResponse(t *testing.T) {
	g := &halved{open: make(chan struct{})}
	s := serveHalved(t, g, nil)
	begun, r := s.respond(t, `{"model":"slow","input":"?","background":true,"metadata":{"of":"mine"}}`)
	if begun.Status != "in_progress" || r.status != http.StatusOK || !begun.Background {
		t.Fatalf("it begins with %d: %s", r.status, r.body)
	}
	path := "/v1/responses/" + begun.ID
	if now := decode[response](t, s.send(t, http.MethodGet, path, "").body); now.Status != "in_progress" {
		t.Errorf("before its end it is %+v", now)
	}
	stream, err := http.Get(s.URL + path + "?stream=true&starting_after=3")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }() // it was only read
	first := make([]byte, len("event: response.output_text.delta"))
	if _, err := io.ReadFull(stream.Body, first); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	rest, err := io.ReadAll(stream.Body)
	if err != nil {
		t.Fatal(err)
	}
	events := eventsOf(t, string(first)+string(rest))
	if last := events[len(events)-1]; last.Type != "response.completed" || last.Response.text() != "Half and half." {
		t.Errorf("its stream ends with %+v", last)
	}
	text := ""
	for _, ev := range events {
		text += ev.Delta
	}
	if events[0].Seq != 4 || text != "Half and half." {
		t.Errorf("after the event 3 come %+v", events)
	}
	// As after a restart.
	again := serveHalved(t, g, s.store)
	r = again.send(t, http.MethodGet, path, "")
	if now := decode[response](t, r.body); now.Status != "completed" || now.text() != "Half and half." || now.Metadata["of"] != "mine" || !now.Background || r.session() != "" {
		t.Errorf("after a restart it is %s", r.body)
	}
	ends := eventsOf(t, again.send(t, http.MethodGet, path+"?stream=true&starting_after=100", "").body)
	if len(ends) != 1 || ends[0].Type != "response.completed" || ends[0].Seq != 101 {
		t.Errorf("after a restart the rest of the stream is %+v", ends)
	}
	if g.calls.Load() != 1 {
		t.Errorf("the model was called %d times", g.calls.Load())
	}
}

func TestResponseIsCancelled(t *testing.T) {
	g := &halved{open: make(chan struct{})}
	s := serveHalved(t, g, nil)
	begun, _ := s.respond(t, `{"model":"slow","input":"?","background":true}`)
	for range 2 {
		if now := decode[response](t, s.send(t, http.MethodPost, "/v1/responses/"+begun.ID+"/cancel", "").body); now.Status != "cancelled" {
			t.Errorf("after its end it is %+v", now)
		}
	}
	refused(t, "deleting without a token", s.send(t, http.MethodDelete, "/v1/responses/"+begun.ID, ""), http.StatusUnauthorized, "token_needed")
}

// TestResponseIsItsCallers: others neither see nor delete it, nor go on with it.
func TestResponseIsItsCallers(t *testing.T) {
	s := serve(t, ofTwo)
	for _, key := range []string{"", "key"} {
		ask := func(token, body string) reply {
			return s.do(t, http.MethodPost, "/v1/responses", body, bearer(token), "Idempotency-Key: "+key)
		}
		r := ask(adasToken, `{"model":"pair/ada","input":"?"}`)
		id := decode[response](t, r.body).ID
		path, next := "/v1/responses/"+id, `{"model":"pair/ada","input":"?","previous_response_id":"`+id+`"}`
		if other := decode[response](t, ask(bobsToken, `{"model":"pair/ada","input":"?"}`).body); other.ID == id {
			t.Error("two have the same response")
		}
		refused(t, "looking at another's response", s.do(t, http.MethodGet, path, "", bearer(bobsToken)), http.StatusNotFound, "response_not_found")
		refused(t, "deleting another's response", s.do(t, http.MethodDelete, path, "", bearer(bobsToken)), http.StatusNotFound, "response_not_found")
		refused(t, "going on with another's response", s.do(t, http.MethodPost, "/v1/responses", next, bearer(bobsToken)), http.StatusBadRequest, "previous_response_not_found")
		if r := s.do(t, http.MethodDelete, path, "", bearer(adasToken)); r.status != http.StatusOK || !strings.Contains(r.body, `"deleted":true`) {
			t.Errorf("it is deleted with %d: %s", r.status, r.body)
		}
		refused(t, "looking at a deleted response", s.do(t, http.MethodGet, path, "", bearer(adasToken)), http.StatusNotFound, "response_not_found")
		refused(t, "going on with a deleted response", s.do(t, http.MethodPost, "/v1/responses", next, bearer(adasToken)), http.StatusBadRequest, "previous_response_not_found")
	}
}

// TestFailedResponse says in its stream, and later, that and why there is no answer.
func TestFailedResponse(t *testing.T) {
	s := serve(t, func(s *server.Settings) {
		own := s.Store
		s.Models = []server.Model{{ID: "broken", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Backend: broken{}}}, massgen.WithStore(own))
		}}}
	})
	events := eventsOf(t, s.send(t, http.MethodPost, "/v1/responses", `{"model":"broken","input":"?","stream":true}`).body)
	last := events[len(events)-1]
	if last.Type != "response.failed" || last.Response.Status != "failed" || last.Response.Error == nil || last.Response.Error.Code != "server_error" {
		t.Errorf("the stream ends with %+v", last)
	}
	later := decode[response](t, s.send(t, http.MethodGet, "/v1/responses/"+last.Response.ID, "").body)
	if later.Status != "failed" || later.Error == nil {
		t.Errorf("later it is %+v", later)
	}
	if _, r := s.respond(t, `{"model":"broken","input":"?"}`); r.status != http.StatusBadGateway {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}

// broken is a model that refuses its calls.
type broken struct{}

func (broken) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		yield(nil, &backends.Error{Kind: backends.KindAuth, Message: "no"})
	}
}

// TestSessionThatHasGoneOnIsNoHistory: a client that sends all messages again is not taken to where
// there are more.
func TestSessionThatHasGoneOnIsNoHistory(t *testing.T) {
	g := &halved{open: make(chan struct{})}
	close(g.open)
	s := serveHalved(t, g, nil)
	first := s.chat(t, `{"model":"slow","messages":[{"role":"user","content":"One?"}]}`)
	s.respond(t, `{"model":"slow","input":"Two?","conversation":"`+first.session()+`"}`)
	again := s.chat(t, `{"model":"slow","messages":[{"role":"user","content":"One?"},{"role":"assistant","content":"Half and half."},{"role":"user","content":"Three?"}]}`)
	if turns, err := s.store.Turns(t.Context(), again.session(), 0); err != nil || len(turns) != 2 || turns[1].Question != "Three?" {
		t.Errorf("the session has %+v, %v", turns, err)
	}
}
