package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/tests/backendtest"
)

// newest is a service that behaves as OpenAI does for its newest models: over chat completions
// it refuses tools while they reason, and over the Responses API it takes them.
type newest struct {
	*httptest.Server
	refused atomic.Int32
	models  *backendtest.Server
}

func newNewest(t *testing.T, reply func(backendtest.Call) backendtest.Reply) *newest {
	t.Helper()
	n := &newest{models: backendtest.NewProtocolServer(t, backendtest.Responses(), reply)}
	chat := backendtest.NewProtocolServer(t, backendtest.ChatCompletions(), func(c backendtest.Call) backendtest.Reply {
		if len(c.ToolNames()) > 0 && c.Request().Params.ReasoningEffort != "none" {
			n.refused.Add(1)
			return failed(400, "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. "+
				"To use function tools, use /v1/responses or set reasoning_effort to 'none'.", nil)
		}
		return inJSONMode(c)
	})
	mux := http.NewServeMux()
	for path, server := range map[string]*backendtest.Server{"/v1/responses": n.models, "/v1/chat/completions": chat} {
		to, err := url.Parse(strings.TrimSuffix(server.BaseURL, "/v1"))
		if err != nil {
			t.Fatal(err)
		}
		mux.Handle("POST "+path, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1})
	}
	n.Server = httptest.NewServer(mux)
	t.Cleanup(n.Close)
	return n
}

// inJSONMode acts as a model without tools does.
func inJSONMode(c backendtest.Call) backendtest.Reply {
	if isBlind(c) {
		return backendtest.Reply{Text: `{"action":{"name":"new_answer","content":"I could not look."}}`}
	}
	return backendtest.Reply{Text: `{"action":{"name":"vote","agent_id":"agent1","reason":"all could not"}}`}
}

// writesAndReads writes a file, reads it, and answers what it says, with a thought before each.
func writesAndReads(c backendtest.Call) backendtest.Reply {
	results := toolResults(c.Messages())
	var r backendtest.Reply
	switch {
	case !isBlind(c):
		r = vote("agent1", "it has read it")
	case len(results) == 0:
		r = toolCall("write_file", `{"path":"notes.txt","content":"the sun does not send a bill"}`)
	case len(results) == 1:
		r = toolCall("read_file", `{"path":"notes.txt"}`)
	default:
		var file struct{ Content string }
		if err := json.Unmarshal([]byte(results[1]), &file); err != nil {
			return failed(400, err.Error(), nil)
		}
		r = newAnswer("It says: " + file.Content)
	}
	for i := range r.ToolCalls {
		r.ToolCalls[i].ID = fmt.Sprintf("call_%d", len(results))
	}
	if got := strings.Count(string(c.Body), `"type":"reasoning"`); isBlind(c) && got != len(results) {
		return failed(400, fmt.Sprintf("%d thoughts were sent with %d results", got, len(results)), nil)
	}
	r.Reasoning, r.Signature, r.Usage = "so", "sealed+/=", &backends.Usage{InputTokens: 100, OutputTokens: 20}
	return r
}

// TestNewestModelUsesTools: the default panel on gpt-5.4, which reasons, writes and reads files
// by tool calls; over chat completions, which the config may choose, it cannot.
func TestNewestModelUsesTools(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../configs/three_agents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, api := range []string{"", "chat"} {
		t.Run("api "+api, func(t *testing.T) {
			t.Parallel()
			service := newNewest(t, writesAndReads)
			dir := t.TempDir()
			agents := 0
			var config strings.Builder
			for line := range strings.Lines(string(text)) {
				if !strings.Contains(line, "type: auto") {
					config.WriteString(line)
					continue
				}
				agents++
				before, _, _ := strings.Cut(line, "type: auto")
				indent := strings.Repeat(" ", len(before))
				fmt.Fprintf(&config, "%stype: openai\n", before)
				fmt.Fprintf(&config, "%smodel: gpt-5.4\n%[1]sbase_url: %[2]q\n%[1]sreasoning: {effort: medium}\n%[1]scwd: %[3]q\n",
					indent, service.URL+"/v1", filepath.Join(dir, fmt.Sprint("agent", agents)))
				if api != "" {
					fmt.Fprintf(&config, "%sapi: %s\n", indent, api)
				}
			}
			status, r := runProgram(t, config.String())
			if status != app.ExitCompleted || agents != 3 {
				t.Fatalf("exit status %d with %d agents, failed %+v\n%s", status, agents, r.Failed, config.String())
			}
			written, err := filepath.Glob(filepath.Join(dir, "*", "notes.txt"))
			if err != nil {
				t.Fatal(err)
			}
			want, files, tools, refused := "It says: the sun does not send a bill", 3, 6, false
			if api == "chat" {
				want, files, tools, refused = "I could not look.", 0, 0, true
			}
			if r.Answer != want || len(written) != files || len(r.ToolCalls) != tools || (service.refused.Load() > 0) != refused {
				t.Errorf("answer %q, %d files, %d tool calls, %d requests refused: %q",
					r.Answer, len(written), len(r.ToolCalls), service.refused.Load(), r.Warnings)
			}
		})
	}
}
