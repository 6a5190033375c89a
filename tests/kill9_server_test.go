package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/tests/backendtest"
)

// halfway are the models of a panel of two, a and b. The first call of b never comes back.
type halfway struct {
	mu    sync.Mutex
	calls map[string]int // for an answer, by model
	asked chan struct{}  // closed when b was called
}

func (h *halfway) reply(c backendtest.Call) backendtest.Reply {
	s := stepOf(c)
	if !s.isBlind {
		return s.act("vote", `{"agent_id":"agent1","reason":%q}`, "It is good.")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[c.Model()]++
	if c.Model() == "b" && h.calls["b"] == 1 {
		close(h.asked)
		return backendtest.Reply{Fault: backendtest.HangBefore}
	}
	return s.act("new_answer", `{"content":%q}`, "the answer of "+c.Model())
}

// server is the program as a server.
type serverProcess struct {
	url  string
	kill func() // with SIGKILL
}

func startServer(t *testing.T, dir string) serverProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--config", "panel.yaml", "--listen", "127.0.0.1:0", "--state-dir", "state")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), killedRole+"="+roleProgram, killedAt+"=before 0", killedLimit+"=", killedWrites+"="+filepath.Join(dir, "writes"), "HOME="+dir, "TMPDIR="+dir)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		pattern := regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			t.Log(lines.Text())
			if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		_ = cmd.Wait() // it says that the process was killed
	}()
	kill := sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-ended
	})
	t.Cleanup(kill)
	select {
	case url := <-address:
		return serverProcess{url, kill}
	case <-ended:
		t.Fatal("the server does not listen")
	}
	return serverProcess{}
}

// send sends a request with an Idempotency-Key. It returns what comes until the text until is there.
func (s serverProcess) send(t *testing.T, method, path, body, until string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", "key")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	var text strings.Builder
	buffer := make([]byte, 1<<10)
	for until == "" || !strings.Contains(text.String(), until) {
		n, err := response.Body.Read(buffer)
		text.Write(buffer[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// TestKill9OfTheServer ends the server in mid-turn. The same request, or one for its response, finishes
// the turn, and the call that had come back is not made again.
func TestKill9OfTheServer(t *testing.T) {
	t.Parallel()
	const chat, responses = "/v1/chat/completions", "/v1/responses"
	for name, c := range map[string]struct{ path, body string }{
		"chat":                   {chat, `{"model":"panel","stream":true,"messages":[{"role":"user","content":"?"}]}`},
		"chat with a history":    {chat, `{"model":"panel","stream":true,"messages":[{"role":"user","content":"?"},{"role":"assistant","content":"!"},{"role":"user","content":"??"}]}`},
		"chat in a session":      {chat, `{"model":"panel","stream":true,"conversation":"mine","messages":[{"role":"user","content":"?"}]}`},
		"responses":              {responses, `{"model":"panel","stream":true,"input":"?"}`},
		"responses in a session": {responses, `{"model":"panel","stream":true,"conversation":"mine","input":"?"}`},
		"responses, looked at":   {responses, `{"model":"panel","stream":true,"background":true,"input":"?"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			models := &halfway{calls: map[string]int{}, asked: make(chan struct{})}
			service := backendtest.NewServer(t, models.reply)
			dir, config := t.TempDir(), "agents:\n"
			for _, id := range []string{"a", "b"} {
				config += fmt.Sprintf("  - {id: %s, backend: {type: openai, model: %[1]s, base_url: %q, api_key: %s}}\n", id, service.BaseURL, testKey)
			}
			write(t, filepath.Join(dir, "panel.yaml"), []byte(config))
			first := startServer(t, dir)
			begun := first.send(t, http.MethodPost, c.path, c.body, "a answered")
			<-models.asked // else the call that never comes back would be the second server's
			first.kill()
			second := startServer(t, dir)
			var whole string
			if strings.HasSuffix(name, "looked at") {
				id := regexp.MustCompile(`resp_[\w-]+`).FindString(begun)
				whole = second.send(t, http.MethodGet, c.path+"/"+id+"?stream=true", "", "")
			} else {
				whole = second.send(t, http.MethodPost, c.path, c.body, "")
			}
			if !strings.Contains(whole, "the answer of a") || !strings.Contains(whole, "response.completed") && !strings.Contains(whole, "[DONE]") {
				t.Errorf("the turn is not finished: %s", whole)
			}
			if models.calls["a"] != 1 || models.calls["b"] != 2 {
				t.Errorf("the models were asked for an answer so often: %v", models.calls)
			}
			var list struct {
				Sessions []struct{ Turns int }
			}
			if err := json.Unmarshal([]byte(second.send(t, http.MethodGet, "/sessions", "", "")), &list); err != nil {
				t.Fatal(err)
			}
			want := 1 + strings.Count(c.body, "assistant")
			if len(list.Sessions) != 1 || list.Sessions[0].Turns != want {
				t.Errorf("there are the sessions %+v", list.Sessions)
			}
		})
	}
}
