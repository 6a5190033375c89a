package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/temporal/postgres"
	"github.com/massgen/massgen/tests/backendtest"
)

// served is massgen-temporal serve as it runs.
type served struct {
	*process
	world *world
	url   string
	// pending counts the questions that a steady load waits for.
	pending atomic.Int32
}

// serve starts a server for a config, whose model is panel, and returns when it serves.
func (w *world) serve(config string) *served { return w.serveIn("server", config) }

// serveIn does that in a folder, with more flags.
func (w *world) serveIn(folder, config string, more ...string) *served {
	w.t.Helper()
	address, err := freeAddress()
	ok(w.t, err)
	s := &served{process: w.start(folder, append([]string{"serve", "--listen", address, "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue()}, more...)...), world: w, url: "http://" + address}
	w.until("the server serves", func() bool {
		if !strings.Contains(s.stderr.String(), "massgen: listening on ") { // it answers /healthz before
			return false
		}
		response, err := http.Get(s.url + "/healthz")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	return s
}

// question is the body of a request.
type question struct {
	Model        string              `json:"model"`
	Conversation string              `json:"conversation"`
	Messages     []map[string]string `json:"messages"`
	Stream       bool                `json:"stream"`
	Tools        json.RawMessage     `json:"tools,omitempty"`
}

func asks(session, text string) question {
	return question{Model: "panel", Conversation: session, Messages: []map[string]string{{"role": "user", "content": text}}}
}

// post sends a question, and returns the body of the response.
func (s *served) post(ctx context.Context, q question) (io.ReadCloser, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// reply is what a client reads of a whole response.
type reply struct {
	Choices []struct {
		Message, Delta struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
		}
	}
	Error *struct{ Message string }
}

// answer asks and returns the whole answer.
func (s *served) answer(ctx context.Context, q question) (string, error) {
	body, err := s.post(ctx, q)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // it was only read
	text, err := io.ReadAll(body)
	var r reply
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && len(r.Choices) != 1 {
		err = fmt.Errorf("no answer: %s", text)
	}
	if err != nil {
		return "", err
	}
	return r.Choices[0].Message.Content, nil
}

// servedInMidTurn begins a streamed turn of three agents in the session s, by way of a server. It
// returns when two of them have answered, and the call of agent3 is under way.
func (w *world) servedInMidTurn(ctx context.Context, workers ...string) (s *service, server *served, lines *bufio.Scanner, working []*process, store *postgres.Store) {
	w.t.Helper()
	s = newService(w.t, agreeable)
	s.held = func(c backendtest.Call) bool {
		return c.Model() == "agent3" && isBlind(c) && !strings.Contains(c.User(), "and then?")
	}
	config := w.config(s.agents(3)...)
	for _, folder := range workers {
		working = append(working, w.worker(folder, config))
	}
	server = w.serve(config)
	q := asks("s", "energy?")
	q.Stream = true
	body, err := server.post(ctx, q)
	ok(w.t, err)
	w.t.Cleanup(func() { _ = body.Close() }) // it was only read
	store = w.store()
	w.until("two agents have answered, and the third is asked", func() bool { return replies(w.t, store, 1) == 2 && s.holds() == 1 })
	return s, server, bufio.NewScanner(body), working, store
}

// stream reads what a streamed response says until is has all it wants, or its end.
func stream(t testing.TB, lines *bufio.Scanner, is func(reasoning, content string) bool) (reasoning, content string) {
	t.Helper()
	for !is(reasoning, content) && lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData || data == "[DONE]" {
			continue
		}
		var r reply
		ok(t, json.Unmarshal([]byte(data), &r))
		if r.Error != nil {
			t.Fatal(r.Error.Message)
		}
		for _, c := range r.Choices {
			reasoning, content = reasoning+c.Delta.Reasoning, content+c.Delta.Content
		}
	}
	ok(t, lines.Err())
	return reasoning, content
}

func toTheEnd(_, _ string) bool { return false }

// winner is the answer that agreeable agents choose.
const winner = "the answer of agent2"

// TestServedTurnsArePlayedByWorkers: a stream has the answers while the worker plays, the session goes
// on with the next request, also after a system message, and the calls are the worker's.
func TestServedTurnsArePlayedByWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, server, lines, _, store := w.servedInMidTurn(t.Context(), "worker")
	stream(t, lines, func(reasoning, content string) bool {
		if content != "" {
			t.Errorf("the content begins before the turn is over: %s", content)
		}
		return strings.Contains(reasoning, "the answer of agent1") && strings.Contains(reasoning, winner)
	})
	s.free()
	if reasoning, content := stream(t, lines, toTheEnd); content != winner || !strings.Contains(reasoning, "the answer of agent3") {
		t.Errorf("the rest is %q, after %q", content, reasoning)
	}
	q := asks("s", "and then?")
	q.Messages = append([]map[string]string{{"role": "system", "content": "Speak like a pirate."}}, q.Messages...)
	if content, err := server.answer(t.Context(), q); err != nil || content != winner {
		t.Errorf("%q, %v", content, err)
	}
	history, err := store.History(t.Context(), "s")
	ok(t, err)
	if len(history) != 2 || history[1].Question != "and then?" || history[1].Answer != winner {
		t.Errorf("the session is %+v", history)
	}
	for _, c := range s.Calls() {
		if isLater := strings.Contains(c.User(), "and then?"); isLater != strings.Contains(c.System(), "Speak like a pirate.") {
			t.Errorf("the system message of a call is %.2000s", c.System())
		}
	}
	w.checkHistories("served")
}

// TestAServedClientThatGoesAway ends its turn on the worker.
func TestAServedClientThatGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	_, _, _, _, store := w.servedInMidTurn(ctx, "worker")
	leave()
	w.until("the turn is over, with the best answer so far", func() bool {
		turns, err := store.Turns(t.Context(), "s", 1)
		return err == nil && turns[0].Status == kernel.Cut && turns[0].Answer != ""
	})
}

// TestFiftyRequestsAtOnce are answered by one worker, each with its own answer.
func TestFiftyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, alone)
	config := w.config(s.agents(1)...)
	w.worker("worker", config)
	server := w.serve(config)
	const n = 50
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			text := fmt.Sprintf("question-%02d?", i)
			q := asks("", text)
			q.Stream = i%2 == 0
			answer, err := server.whole(t, q)
			if err != nil || !strings.Contains(answer, "It is "+text) || strings.Count(answer, "question-") != 1 {
				t.Errorf("%s: %q, %v", text, answer, err)
			}
		})
	}
	all.Wait()
	for body, times := range s.asked() {
		if times != 1 {
			t.Errorf("%d times: %.300s", times, body)
		}
	}
}

// whole returns an answer, streamed or not.
func (s *served) whole(t testing.TB, q question) (string, error) {
	if !q.Stream {
		return s.answer(t.Context(), q)
	}
	body, err := s.post(t.Context(), q)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // it was only read
	var answer strings.Builder
	for lines := bufio.NewScanner(body); lines.Scan(); {
		var r reply
		if data, isData := strings.CutPrefix(lines.Text(), "data: "); isData && json.Unmarshal([]byte(data), &r) == nil && len(r.Choices) > 0 {
			answer.WriteString(r.Choices[0].Delta.Content)
		}
	}
	return answer.String(), nil
}

// TestTheHTTPServerIsKilled in mid-turn: the worker goes on, and the session has the answer.
func TestTheHTTPServerIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, server, _, _, store := w.servedInMidTurn(t.Context(), "worker")
	server.kill()
	s.free()
	w.until("the session has the answer", func() bool {
		history, err := store.History(t.Context(), "s")
		return err == nil && len(history) == 1 && history[0].Answer == winner
	})
	for body, times := range s.asked() {
		if times != 1 {
			t.Errorf("%d times: %.300s", times, body)
		}
	}
}

// TestAWorkerOfAServerIsKilled in mid-turn: another goes on, and the client gets its answer.
func TestAWorkerOfAServerIsKilled(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	s, _, lines, working, _ := w.servedInMidTurn(t.Context(), "worker1", "worker2")
	caller := w.caller()
	for _, worker := range working {
		if worker.Process.Pid == caller {
			worker.kill()
		}
	}
	s.free()
	if _, content := stream(t, lines, toTheEnd); content != winner {
		t.Errorf("the answer is %q", content)
	}
}

// TestServedByOthers: no worker plays the turns of another config, and tools of the client are refused. No
// agent is offered alone, since no worker has a panel of one of them.
func TestServedByOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, agreeable)
	w.worker("worker", w.config(s.agents(3)...))
	server := w.serve(w.config(s.agents(2)...))
	if _, err := server.answer(t.Context(), asks("s", "energy?")); err == nil || !strings.Contains(err.Error(), `"code":"no_worker"`) || len(s.Calls()) > 0 {
		t.Errorf("%v, after %d calls", err, len(s.Calls()))
	}
	q := asks("s", "energy?")
	q.Tools = json.RawMessage(`[{"type":"function","function":{"name":"weather"}}]`)
	if _, err := server.answer(t.Context(), q); err == nil || !strings.Contains(err.Error(), "played by workers") {
		t.Error(err)
	}
	server.kill()
	if said := server.stderr.String(); !strings.Contains(said, "have another config") || !strings.Contains(said, "/v1 for panel\n") {
		t.Errorf("the server's log is %s", said)
	}
}
