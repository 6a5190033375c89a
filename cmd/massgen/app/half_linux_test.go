package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// half matches the words of an answer from its first third on. words writes an answer of a hundred words.
var half = regexp.MustCompile(`w0[3-9]\d`)

func words() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "w%03d ", i)
	}
	return b.String() + "end"
}

// TestEachFaceShowsHalfAnAnswer while its service holds the other half back, in each form in which an answer comes.
// Only the face lets the service go on.
func TestEachFaceShowsHalfAnAnswer(t *testing.T) {
	for name, wire := range map[string]struct {
		protocol backendtest.Protocol
		backend  string
	}{
		"chat":      {backendtest.ChatCompletions(), "type: openai, model: gpt-5-mini"},
		"responses": {backendtest.Responses(), "type: openai, model: gpt-5.4"},
		"claude":    {backendtest.Messages(), "type: claude, model: claude-opus-4-6"},
	} {
		for _, mode := range []string{"native", "json"} {
			for face, show := range map[string]func(t *testing.T, config string, look func(shown string)) (end string){
				"chat completions": showChat, "responses": showResponses, "page": showState, "live lines": showLines, "full screen": showFullScreen,
			} {
				t.Run(name+" "+mode+" "+face, func(t *testing.T) {
					t.Parallel()
					rest := make(chan struct{})
					server := backendtest.NewProtocolServer(t, wire.protocol, func(c backendtest.Call) backendtest.Reply {
						r := inJSON(c, answerInWords)
						if isBlind(c) {
							r.Hold = func(ctx context.Context) {
								select {
								case <-rest:
								case <-ctx.Done():
								}
							}
						}
						return r
					})
					backend := fmt.Sprintf("{%s, base_url: %q, api_key: none, tool_mode: %s}", wire.backend, server.BaseURL, mode)
					config := filepath.Join(t.TempDir(), "panel.yaml")
					if err := os.WriteFile(config, []byte(fmt.Sprintf("agents: [{id: ada, backend: %s}, {id: bob, backend: %s}]\n", backend, backend)), 0o600); err != nil {
						t.Fatal(err)
					}
					release := sync.OnceFunc(func() { close(rest) })
					end := show(t, config, func(shown string) {
						if half.MatchString(shown) {
							release()
						}
					})
					if !strings.Contains(end, " w090") {
						t.Errorf("in the end it shows %q", end)
					}
				})
			}
		}
	}
}

func answerInWords(c backendtest.Call) backendtest.Reply {
	if !isBlind(c) {
		return voteFor("agent1")
	}
	return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "a", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":%q}`, words())}}}
}

// showChat is a client of /v1/chat/completions.
func showChat(t *testing.T, config string, look func(shown string)) (end string) {
	s := serve(t, nil, "--config", config)
	body := `{"model":"panel","stream":true,"messages":[{"role":"user","content":"energy?"}]}`
	var reasoning string
	readData(t, http.MethodPost, s.url+"/v1/chat/completions", body, func(data []byte) {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string
					Reasoning string `json:"reasoning_content"`
				}
			}
		}
		decodeInto(t, data, &chunk)
		for _, c := range chunk.Choices {
			reasoning, end = reasoning+c.Delta.Reasoning, end+c.Delta.Content
		}
		look(reasoning)
	})
	return end
}

// showResponses is a client of /v1/responses.
func showResponses(t *testing.T, config string, look func(shown string)) (end string) {
	s := serve(t, nil, "--config", config)
	var reasoning string
	readData(t, http.MethodPost, s.url+"/v1/responses", `{"model":"panel","stream":true,"input":"energy?"}`, func(data []byte) {
		var ev struct{ Type, Delta string }
		decodeInto(t, data, &ev)
		switch ev.Type {
		case "response.reasoning_summary_text.delta":
			reasoning += ev.Delta
		case "response.output_text.delta":
			end += ev.Delta
		}
		look(reasoning)
	})
	return end
}

// showState reads what the page draws.
func showState(t *testing.T, config string, look func(shown string)) (end string) {
	serve(t, nil, "--config", config).readState(t, func(data []byte) {
		end += string(data)
		look(end)
	})
	return end
}

// readState begins a turn as the page does, in a session s, and calls seen with each message about its state.
func (s *serving) readState(t *testing.T, seen func(data []byte)) {
	t.Helper()
	started, err := http.Post(s.url+"/sessions/s/turns", "application/json", strings.NewReader(`{"model":"panel","question":"energy?","background":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Body.Close(); err != nil {
		t.Fatal(err)
	}
	readData(t, http.MethodGet, s.url+started.Header.Get("Location")+"/state", "", seen)
}

// readData calls seen with each event of a stream.
func readData(t *testing.T, method, url, body string, seen func(data []byte)) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, isData := strings.CutPrefix(lines.Text(), "data: "); isData && data != "[DONE]" {
			seen([]byte(data))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func decodeInto(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

// showLines runs the program for one question at a terminal.
func showLines(t *testing.T, config string, look func(shown string)) (end string) {
	p := onTerminal(t, wide, "--config", config, "--no-pager", "energy?")
	shown := ""
	for piece := range p.screen.pieces {
		shown += string(piece)
		look(shown)
	}
	if err := p.command.Wait(); err != nil {
		t.Errorf("%v: %q", err, shown)
	}
	screen := newShown(wide, rows)
	screen.take(shown)
	return screen.String()
}

// showFullScreen runs the full screen, and ends it when the turn is over.
func showFullScreen(t *testing.T, config string, look func(shown string)) (end string) {
	p := onTerminal(t, narrow, "--config", config, "--tui", "energy?")
	shown, hasEnded := "", false
	for piece := range p.screen.pieces {
		shown += string(piece)
		look(shown)
		if !hasEnded && strings.Contains(shown, " w090") {
			hasEnded = true
			if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.command.Wait(); err == nil || !hasEnded {
		t.Errorf("the screen ended with %v: %q", err, shown)
	}
	return shown
}

// terminalRun is the program at a terminal.
type terminalRun struct {
	command *exec.Cmd
	screen  *screen
}

// The sizes of terminals.
const (
	narrow = 100
	wide   = 240
	rows   = 30
)

func onTerminal(t *testing.T, width int, arguments ...string) terminalRun {
	t.Helper()
	keyboard, tty, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() }) // nobody reads it any more
	if err := resize(tty, width, rows); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command := exec.Command("massgen", arguments...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color", "STATUS=" + filepath.Join(dir, "status")}
	command.Dir, command.Stdin, command.Stdout, command.Stderr = dir, tty, tty, tty
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	return terminalRun{command, screenOf(keyboard)}
}
