//go:build judges

package judges

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// llmock is the address of llmock, a service that breaks its answers as it is told,
// and grades its client.
type llmock string

// contextWindow is how many tokens llmock's models take, by its own estimate.
const contextWindow = 1000

func startLLMock(t *testing.T) llmock {
	return llmock(start(t, installed(t, "python", "bin", "python"), "-m", "llmock.cli", "serve",
		"--port", "0", "--context-window", strconv.Itoa(contextWindow)))
}

// baseURL is where llmock speaks the protocol of a subject.
func (m llmock) baseURL(s subject) string {
	return string(m) + map[string]string{"openai": "/v1", "responses": "/v1", "anthropic": "/anthropic", "gemini": "/gemini"}[s.name]
}

// behave has the next requests meet these faults, and forgets what came before.
func (m llmock) behave(t *testing.T, faults ...object) {
	t.Helper()
	m.call(t, http.MethodPost, "reset", nil, nil)
	if len(faults) > 0 {
		m.call(t, http.MethodPost, "scenario", object{"behaviors": faults}, nil)
	}
}

// verdict is llmock's opinion of its client: how often it called, and what it did
// wrong.
type verdict struct {
	Attempts int
	Findings []struct{ Code string }
}

func (v verdict) codes() []string {
	var codes []string
	for _, f := range v.Findings {
		codes = append(codes, f.Code)
	}
	return codes
}

func (m llmock) verdict(t *testing.T) (v verdict) {
	t.Helper()
	m.call(t, http.MethodGet, "verdict", nil, &v)
	return v
}

// call asks llmock for something that is no model's business.
func (m llmock) call(t *testing.T, method, path string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, string(m)+"/_llmock/"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	readJSON(t, req, out)
}

// readJSON sends a request and decodes the answer, if it is wanted.
func readJSON(t *testing.T, req *http.Request, out any) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %s %s %v", req.Method, req.URL, resp.Status, answer, err)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatalf("%s %s: %v: %s", req.Method, req.URL, err, answer)
	}
}
