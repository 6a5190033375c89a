package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

// serving is the program as a server.
type serving struct {
	url    string
	stderr *tape
	status chan int
	stop   chan os.Signal
}

// serve starts the program as a server, which the test's end ends.
func serve(t *testing.T, environment map[string]string, args ...string) *serving {
	t.Helper()
	s := &serving{stderr: newTape(), status: make(chan int, 1), stop: make(chan os.Signal)}
	env := app.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: s.stderr, Interrupts: s.stop, LocalServers: map[string]string{},
		Lookup: func(name string) (string, bool) { value, ok := environment[name]; return value, ok },
	}
	args = slices.Concat([]string{"massgen", "serve", "--listen", "127.0.0.1:0", "--state-dir", stateDir(t)}, args)
	go func() { s.status <- app.Main(args, env) }()
	s.stderr.await(t, "listening on")
	s.url = addressIn(s.stderr)
	t.Cleanup(func() {
		s.stop <- os.Interrupt
		if status := <-s.status; status != 0 {
			t.Errorf("exit status %d:\n%s", status, s.stderr)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func addressIn(said *tape) string {
	return regexp.MustCompile(`http://[0-9.:]+`).FindString(said.String())
}

// ask asks a model in a session and returns the answer.
func (s *serving) ask(ctx context.Context, model, session, question string, headers ...string) (answer string, err error) {
	body, err := json.Marshal(map[string]any{
		"model": model, "conversation": session, "messages": []map[string]string{{"role": "user", "content": question}},
	})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var got struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(text, &got); err != nil || len(got.Choices) != 1 {
		return "", fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	return got.Choices[0].Message.Content, nil
}

// TestSessionsOfAServerShareNoFiles: two sessions write the same file at the same time, and each
// finds its own, also in a later turn.
func TestSessionsOfAServerShareNoFiles(t *testing.T) {
	leaks.Check(t)
	dir := t.TempDir()
	var written sync.WaitGroup
	written.Add(2)
	model := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		call := func(name, arguments string) backendtest.Reply {
			return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: name, Arguments: arguments}}}
		}
		messages := c.Messages()
		last := messages[len(messages)-1]
		question := c.User()
		results := 0
		for _, m := range messages[slices.IndexFunc(messages, func(m backends.Message) bool { return m.Text() == question }):] {
			for _, part := range m.Parts {
				if _, ok := part.(backends.ToolResult); ok {
					results++
				}
			}
		}
		switch {
		case results == 0 && strings.HasPrefix(question, "write "):
			return call("write_file", `{"path":"note.txt","content":"`+question+`"}`)
		case results == 0 || results == 1 && strings.HasPrefix(question, "write "):
			if results == 1 {
				written.Done()
				written.Wait() // both have written
			}
			return call("read_file", `{"path":"note.txt"}`)
		}
		return backendtest.Reply{Text: fmt.Sprint(last.Parts)}
	})
	config := filepath.Join(dir, "worker.yaml")
	text := fmt.Sprintf("agent: {id: w, backend: {type: chatcompletion, base_url: %q, model: m, cwd: %q}}\n", model.BaseURL, filepath.Join(dir, "work"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--config", config)
	var asking sync.WaitGroup
	for _, id := range []string{"one", "Two/../one"} {
		asking.Go(func() {
			for _, question := range []string{"write " + id, "read"} {
				answer, err := s.ask(t.Context(), "worker", id, question)
				if err != nil || !strings.Contains(answer, "write "+id) {
					t.Errorf("%s, %s: %q, %v", id, question, answer, err)
				}
			}
		})
	}
	asking.Wait()
	folders, err := os.ReadDir(filepath.Join(dir, "work"))
	if err != nil || len(folders) != 2 {
		t.Errorf("the folders are %v, %v", folders, err)
	}
}

// TestServerThatOthersReachNeedsAToken, and says so, and what is wrong with tokens.
func TestServerThatOthersReachNeedsAToken(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const secret = "0123456789abcdef"
	write := file("folder.yaml", "agent: {id: w, backend: {type: demo, cwd: sub/work}}\norchestrator: {context_paths: [{path: .}]}\n", 0o600)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for want, args := range map[string][]string{
		"give --token-file, or set MASSGEN_TOKEN":         {"--listen", "0.0.0.0:0"},
		"other machines can reach this address":           {"--listen", ":0"},
		"chmod 600":                                       {"--token-file", file("open", secret, 0o640)},
		"has no token":                                    {"--token-file", file("empty", "# none\n\n", 0o600)},
		"short:2: the token has fewer than 16 characters": {"--token-file", file("short", "# mine\nada:short\n", 0o600)},
		"each needs a name":                               {"--token-file", file("unnamed", "ada:"+secret+"\n"+secret+"1\n", 0o600)},
		"is no regular file":                              {"--token-file", dir},
		"is no origin":                                    {"--allow-origin", "*"},
		"is no name of a host":                            {"--allow-host", "http://chat.example"},
		"is less than 0":                                  {"--max-runs", "-1"},
		"holds sub/work":                                  {"--config", write},
	} {
		stderr := newTape()
		status := app.Main(slices.Concat([]string{"massgen", "serve", "--listen", "127.0.0.1:0", "--state-dir", stateDir(t)}, args), app.Env{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, LocalServers: map[string]string{},
			Lookup: func(string) (string, bool) { return "", false },
		})
		if text := stderr.String(); status != 1 || !strings.Contains(text, want) || strings.Contains(text, secret) || strings.Count(text, "\n") != 1 {
			t.Errorf("%v: status %d: %s", args, status, text)
		}
	}
}

// TestTokensOfAFile let in, and are shown nowhere.
func TestTokensOfAFile(t *testing.T) {
	leaks.Check(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	const secret = "0123456789abcdef"
	if err := os.WriteFile(tokens, []byte("# those of us\nada: "+secret+"\nbob "+secret+"2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*serving{
		serve(t, nil, "--config", "@examples/three_agents", "--token-file", tokens),
		serve(t, map[string]string{"MASSGEN_TOKEN": secret}, "--config", "@examples/three_agents"),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.ask(ctx, "three_agents/critic", "", "?"); err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("without a token: %v", err)
		}
		answer, err := s.ask(ctx, "three_agents/critic", "", "Say "+secret, "Authorization: Bearer "+secret)
		if err != nil || answer == "" || strings.Contains(answer, secret) {
			t.Errorf("%q, %v", answer, err)
		}
		if strings.Contains(s.stderr.String(), secret) {
			t.Errorf("a token is shown:\n%s", s.stderr)
		}
	}
}
