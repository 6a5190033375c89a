package app_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestKilledServerLosesNoFinishedCall: killed in the middle of a turn and started again, a server
// goes on with the turn when its client sends the question again. Ada's answer was there.
func TestKilledServerLosesNoFinishedCall(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	isKilled := false
	model := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		calls[c.Model()]++
		for _, tool := range c.Request().Tools {
			switch {
			case tool.Name == "new_answer" && c.Model() == "m-bob" && !isKilled:
				return backendtest.Reply{Fault: backendtest.HangBefore}
			case tool.Name == "new_answer" && calls[c.Model()] == 1 || tool.Name == "new_answer" && c.Model() == "m-bob" && calls["m-bob"] == 2:
				return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "new_answer", Arguments: `{"content":"by ` + c.Model() + `"}`}}}
			}
		}
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"It is short."}`}}}
	})
	dir := t.TempDir()
	config := filepath.Join(dir, "pair.yaml")
	text := fmt.Sprintf("agents:\n  - {id: ada, backend: {type: chatcompletion, base_url: %q, model: m-ada}}\n  - {id: bob, backend: {type: chatcompletion, base_url: %[1]q, model: m-bob}}\n", model.BaseURL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	killed := exec.CommandContext(t.Context(), "massgen", "serve", "--listen", "127.0.0.1:0", "--config", config, "--state-dir", state)
	killed.Env = append(os.Environ(), "HOME="+dir, "STATUS="+filepath.Join(dir, "status"))
	stderr := newTape()
	killed.Stderr = stderr
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.await(t, "listening on")
	first := addressIn(stderr)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const question = `{"model":"pair","stream":true,"conversation":"mine","messages":[{"role":"user","content":"What is Go?"}]}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, first+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "ada answered") {
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()         // it was killed
	_ = response.Body.Close() // it was cut
	mu.Lock()
	isKilled = true
	before := calls["m-ada"]
	mu.Unlock()

	s := serve(t, nil, "--config", config, "--state-dir", state)
	answer, err := s.ask(t.Context(), "pair", "mine", "What is Go?")
	mu.Lock()
	defer mu.Unlock()
	// Ada votes, and answers no second time; bob answers and votes.
	if err != nil || answer != "by m-ada" || before != 1 || calls["m-ada"] != 2 || calls["m-bob"] != 3 {
		t.Errorf("%q, %v: ada was called %d times before and %d in all, bob %d", answer, err, before, calls["m-ada"], calls["m-bob"])
	}
}
