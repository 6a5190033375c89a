package app_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lockedText is a text that a process writes while a test reads it.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestMCPOverStdio asks a panel of the real program, and ends the program by its input while a
// turn runs.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 8)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // else nobody sees that the client leaves
			t.Error(err)
		}
		called <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"quick.yaml":  "agents: [{id: ada, backend: {type: demo}}, {id: bob, backend: {type: demo}}]\n",
		"silent.yaml": "agent: {id: eve, backend: {type: openai, model: m, base_url: " + silent.URL + ", api_key: none-at-all}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr lockedText
	cmd := exec.CommandContext(t.Context(), "massgen", "mcp", "--log-level", "info", "--config", "quick.yaml", "--config", "silent.yaml")
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "STATUS="+filepath.Join(dir, "status"), "OPENAI_API_KEY=", "GORACE=atexit_sleep_ms=10")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	ask := func(ctx context.Context, panel string) (*sdk.CallToolResult, error) {
		return c.CallTool(ctx, &sdk.CallToolParams{Name: "ask_panel", Arguments: map[string]any{"question": "Why?", "panel": panel}})
	}
	r, err := ask(t.Context(), "quick")
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v: %s", r, err, stderr.String())
	}
	if text := r.Content[0].(*sdk.TextContent).Text; !strings.Contains(text, "of 2 votes; session: ") {
		t.Errorf("the answer is %q", text)
	}
	if log := stderr.String(); !strings.Contains(log, `msg="a turn begins" session=`) {
		t.Errorf("the log is %q", log)
	}
	unanswered := make(chan error, 1)
	go func() {
		_, err := ask(context.WithoutCancel(t.Context()), "silent")
		unanswered <- err
	}()
	<-called
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-unanswered; err == nil {
		t.Error("the call that was cut has an answer")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v: %s", err, stderr.String())
	}
	if status, err := os.ReadFile(filepath.Join(dir, "status")); err != nil || string(status) != "0" {
		t.Errorf("exit status %s, %v: %s", status, err, stderr.String())
	}
}
