package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
)

// bodies are what the program sends to the server: for an answer, a vote and a text.
var bodies = []string{
	`{"messages":["(no answers available yet)"],"tools":[{"name":"new_answer"},{"name":"vote"}]}`,
	`{"messages":["<agent1> the sun"],"tools":[{"name":"new_answer"},{"name":"vote"}],"more":"` + strings.Repeat("x", 100_000) + `"}`,
	`{"messages":["\"name\":\"new_answer\", (no answers available yet)"]}`,
}

func TestBodiesDecideTheirAnswers(t *testing.T) {
	for i, want := range []answer{answers, votes, says} {
		if got := answerTo([]byte(bodies[i])); got != want {
			t.Errorf("body %d is answered by %d, not %d", i, got, want)
		}
	}
}

// The adapter of the program reads what the server answers.
func TestAnswersAreStreamsOfChatCompletions(t *testing.T) {
	web := newTestServer(t)
	tools := []backends.Tool{{Name: "new_answer", Schema: json.RawMessage(`{"type":"object"}`)}}
	for want, request := range map[string]backends.Request{
		"new_answer": {Messages: []backends.Message{backends.User("(no answers available yet)")}, Tools: tools},
		"vote":       {Messages: []backends.Message{backends.User("the sun")}, Tools: tools},
		"":           {Messages: []backends.Message{backends.User("why?")}},
	} {
		backend, err := openai.New(openai.Config{BaseURL: web.URL + "/1ms/v1"})
		if err != nil {
			t.Fatal(err)
		}
		request.Model = "mock"
		response, err := backends.Collect(backend.Stream(t.Context(), request), nil)
		if err != nil {
			t.Fatal(err)
		}
		called := ""
		for _, call := range response.Message.ToolCalls() {
			called = call.Name
		}
		if called != want || want == "" && response.Message.Text() == "" {
			t.Errorf("the answer calls %q, not %q: %+v", called, want, response)
		}
		if response.Usage == nil || response.Usage.InputTokens == 0 || response.Usage.OutputTokens == 0 {
			t.Errorf("the answer has the usage %+v", response.Usage)
		}
	}
}

// What the bare client sends is what was recorded, byte for byte, round after round.
func TestReplayedBodiesAreTheRecordedOnes(t *testing.T) {
	web := newTestServer(t)
	m := &mock{address: web.URL}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.reset(t.Context(), true))
	for _, body := range []string{bodies[0], bodies[0] + " ", bodies[1], bodies[1] + "\n", bodies[2]} {
		must(send(t.Context(), http.DefaultTransport, m.base(latency{}), []byte(body)))
	}
	first, again := filepath.Join(t.TempDir(), "bodies"), filepath.Join(t.TempDir(), "bodies")
	must(m.saveBodies(t.Context(), first))
	before, err := m.counts(t.Context())
	must(err)
	must(m.reset(t.Context(), true))
	must(playBare(t.Context(), []string{"-base", m.base(latency{}), "-bodies", first}))
	must(m.saveBodies(t.Context(), again))
	after, err := m.counts(t.Context())
	must(err)
	if before.calls() != 5 || before.Rounds != after.Rounds {
		t.Errorf("the counts are %+v, and then %+v", before, after)
	}
	sent := [][][]byte{{[]byte(bodies[0]), []byte(bodies[0] + " "), []byte(bodies[2])}, {[]byte(bodies[1]), []byte(bodies[1] + "\n")}}
	for _, path := range []string{first, again} {
		for round, got := range readBodies(t, path) {
			slices.SortFunc(got, bytes.Compare) // the calls of a round arrive in any order
			slices.SortFunc(sent[round], bytes.Compare)
			if !slices.EqualFunc(got, sent[round], bytes.Equal) {
				t.Errorf("round %d of %s is not what was sent", round, path)
			}
		}
	}
}

func TestCountsBeginAnewAfterAReset(t *testing.T) {
	web := newTestServer(t)
	m := &mock{address: web.URL}
	for range 2 {
		if err := m.reset(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if err := send(t.Context(), http.DefaultTransport, m.base(latency{}), []byte(bodies[0])); err != nil {
			t.Fatal(err)
		}
		c, err := m.counts(t.Context())
		if err != nil || c.calls() != 1 || c.bytes() != int64(len(bodies[0])) || c.First.IsZero() {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

func newTestServer(t *testing.T) *httptest.Server {
	web := httptest.NewServer(newServer())
	t.Cleanup(web.Close)
	return web
}

func readBodies(t *testing.T, path string) [][][]byte {
	t.Helper()
	file, rounds, err := openRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all [][][]byte
	for _, round := range rounds {
		var read [][]byte
		for _, recorded := range round {
			body, err := recorded.read(file)
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, body)
		}
		all = append(all, read)
	}
	return all
}

func TestServerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- playServer(ctx, write) }()
	if _, err := read.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	read.Close()
	write.Close()
}
