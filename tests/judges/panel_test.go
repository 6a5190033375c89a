//go:build judges

package judges

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/described"
)

const (
	panelConfig  = "testdata/panel.yaml"
	panelAnswers = "testdata/panel.json"
	question     = "Why does solar power grow?"
)

// library is a tool that looks things up. It keeps what it was asked.
type library struct {
	mu    sync.Mutex
	asked []string
}

// Definition is what a model is told of it.
func (*library) Definition() backends.Tool {
	return backends.Tool{
		Name:        "look_up",
		Description: "Looks up a subject.",
		Schema: json.RawMessage(`{"type":"object","properties":{"subject":{"type":"string"}},` +
			`"required":["subject"],"additionalProperties":false}`),
	}
}

// Call finds any subject.
func (l *library) Call(_ context.Context, arguments string) (string, error) {
	var in struct {
		Subject string `json:"subject"`
	}
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", fmt.Errorf("read the arguments: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, in.Subject)
	return "found: " + in.Subject, nil
}

// TestMixedPanel has a Claude, a Gemini and two models of OpenAI's, of which one is called over
// the Responses API, on one panel. Each calls a
// tool that is registered in Go, gets its results, answers, and votes.
func TestMixedPanel(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, panelAnswers)
	var books library
	panel, err := coordinator.New(coordinator.Options{Store: sessions.NewMemory(), Agents: members(t, mock, &books)})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := panel.Start(t.Context(), "s", question)
	if err != nil {
		t.Fatal(err)
	}
	result, err := turn.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkConsensus(t, result)
	slices.Sort(books.asked)
	if diff := cmp.Diff([]string{"economy", "grid", "history", "physics", "storage"}, books.asked); diff != "" {
		t.Errorf("the tool was asked something else (-want +got):\n%s", diff)
	}
	checkJournal(t, mock.journal(t))
}

// members are the agents of the panel's config with a tool. What they send is held to
// the descriptions.
func members(t *testing.T, mock aimock, tool agents.Tool) []coordinator.Agent {
	t.Helper()
	config, err := configs.Load(panelConfig, configs.Options{Lookup: func(name string) (string, bool) {
		return string(mock), name == "AIMOCK_URL"
	}})
	if err != nil {
		t.Fatal(err)
	}
	var all []coordinator.Agent
	for _, a := range config.Agents {
		s := subjects()[slices.IndexFunc(subjects(), func(s subject) bool {
			return s.backendType == a.Backend.Type && slices.Contains(s.models, a.Backend.Model)
		})]
		backend := s.dial(t, a.Backend.BaseURL, backendtest.Settings{APIKey: a.Backend.APIKey})
		all = append(all, coordinator.Agent{
			ID: a.ID, SystemMessage: a.SystemMessage, Model: a.Backend.Model, Params: a.Backend.Params,
			Backend: judged(t, s, backend), Tools: []agents.Tool{tool},
		})
	}
	return all
}

// judgedBackend checks each body that is sent.
type judgedBackend struct {
	backends.Backend
	check func(body []byte)
}

// judged returns a backend that fails t with each body which a provider would refuse.
func judged(t *testing.T, s subject, backend backends.Backend) backends.Backend {
	t.Helper()
	schema := bodySchema(t, s.name)
	return judgedBackend{backend, func(body []byte) {
		if err := errors.Join(described.Check(schema, body), s.order(body)); err != nil {
			t.Errorf("%s: %v: %s", s.name, err, body)
		}
	}}
}

// Stream calls the backend.
func (b judgedBackend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return b.Backend.Stream(backends.WithTrace(ctx, &backends.Trace{RequestBody: b.check}), req)
}

// checkConsensus wants all to have answered and to have voted for one answer.
func checkConsensus(t *testing.T, r report.Result) {
	t.Helper()
	if r.Status != kernel.Completed || r.Winner != "gemini" || r.Answer != "It became the cheapest source of power." || r.Rounds != 2 {
		t.Errorf("%s after %d rounds, won by %q with %q: %+v", r.Status, r.Rounds, r.Winner, r.Answer, r.Failed)
	}
	var voters []string
	for _, v := range r.Votes {
		if v.For == "gemini" && v.Reason == "it says why" {
			voters = append(voters, v.Voter)
		}
	}
	slices.Sort(voters)
	if everybody := []string{"claude", "gemini", "gpt", "newest"}; len(r.Answers) != len(everybody) || !slices.Equal(voters, everybody) {
		t.Errorf("%d answers, and votes of %q: %+v", len(r.Answers), voters, r)
	}
}

// checkJournal wants aimock to have understood each request, and in each protocol the
// results of the tool.
func checkJournal(t *testing.T, journal []received) {
	t.Helper()
	requests, results := map[string]int{}, map[string][]any{}
	for _, r := range journal {
		if r.Response.Status != 200 || !r.Body.Stream {
			t.Errorf("aimock did not take %+v", r)
		}
		requests[r.protocol()]++
		results[r.protocol()] = append(results[r.protocol()], r.results()...)
	}
	if diff := cmp.Diff(map[string]int{"anthropic": 3, "gemini": 3, "openai": 3, "responses": 3}, requests); diff != "" {
		t.Errorf("aimock received other requests (-want +got):\n%s", diff)
	}
	want := map[string][]any{
		"anthropic": {"found: physics"}, "gemini": {`{"output":"found: economy"}`}, "openai": {"found: grid", "found: storage"},
		"responses": {"found: history"},
	}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("aimock received other results (-want +got):\n%s", diff)
	}
}

// TestProgram runs the program on the same config. There is no tool in it.
func TestProgram(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, panelAnswers)
	massgen := filepath.Join(t.TempDir(), "massgen")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", massgen, "./cmd/massgen")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as .ci/run builds it
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var stdout, stderr bytes.Buffer
	run := exec.CommandContext(t.Context(), massgen, "--config", panelConfig, "--json", question)
	run.Env = []string{"AIMOCK_URL=" + string(mock), "HOME=" + t.TempDir()}
	run.Stdout, run.Stderr = &stdout, &stderr
	if err := run.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var result report.Result
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, stdout.String())
	}
	checkConsensus(t, result)
	if n := len(mock.journal(t)); n != 8 {
		t.Errorf("%d requests for four answers and four votes", n)
	}
}
