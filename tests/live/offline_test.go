//go:build !live

package live

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	leaks.Main(m)
}

// TestSuiteForRealServices runs it against servers that answer as good models do.
func TestSuiteForRealServices(t *testing.T) {
	for name, service := range map[string]struct {
		protocol backendtest.Protocol
		connect  func(baseURL string) (backends.Backend, error)
	}{
		"openai": {backendtest.ChatCompletions(), func(baseURL string) (backends.Backend, error) {
			return openai.New(openai.Config{BaseURL: baseURL})
		}},
		"responses": {backendtest.Responses(), func(baseURL string) (backends.Backend, error) {
			return openai.NewDialect(openai.Config{BaseURL: baseURL}, openai.Dialect{API: "responses", Hosted: "web_search code_execution"})
		}},
		"claude": {backendtest.Messages(), func(baseURL string) (backends.Backend, error) {
			return anthropic.New(anthropic.Config{BaseURL: baseURL})
		}},
		"gemini": {backendtest.GenerateContent(), func(baseURL string) (backends.Backend, error) {
			return gemini.New(gemini.Config{BaseURL: baseURL})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			live := dialect(name)
			server := backendtest.NewProtocolServer(t, service.protocol, goodModel(live.Signs))
			live.Model = "gemini-2.5-flash" // the others take any name
			var err error
			if live.Backend, err = service.connect(server.BaseURL); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := live.Backend.(interface{ Close() error }).Close(); err != nil {
					t.Error(err)
				}
			})
			backendtest.RunLive(t, live)
		})
	}
}

// goodModel does as it is told, and uses a tool where it must or has thought of it.
// If it signs its thoughts, it wants them back.
func goodModel(signs bool) func(backendtest.Call) backendtest.Reply {
	const signature = "c2lnbmVk"
	return func(c backendtest.Call) backendtest.Reply {
		reply := backendtest.Reply{Text: "pong", Usage: &backends.Usage{InputTokens: 20, OutputTokens: 2}}
		body, question, messages := string(c.Body), c.User(), c.Messages()
		last := messages[len(messages)-1]
		thinks := strings.Contains(question, "12345 and")
		hosted := c.Request().Params.Hosted
		switch {
		case last.Role == backends.RoleTool && thinks && signs && !strings.Contains(body, signature):
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "The signature is missing."}}
		case last.Role == backends.RoleTool:
			reply.Text = "The sum is " + last.Parts[0].(backends.ToolResult).Content + "."
		case thinks:
			reply.Signature = signature
			reply.ToolCalls = []backends.ToolCall{{ID: "one", Name: "add", Arguments: `{"a":12345,"b":54322}`}}
		case strings.Contains(body, `"tool_choice":`) || strings.Contains(body, `"mode":"ANY"`):
			reply.ToolCalls = []backends.ToolCall{{ID: "one", Name: "add", Arguments: `{"a":2,"b":3}`}}
			if strings.Contains(question, "twice") {
				reply.ToolCalls = append(reply.ToolCalls, backends.ToolCall{ID: "two", Name: "add", Arguments: `{"a":40,"b":50}`})
			}
		case strings.Contains(question, "pong"):
		case hosted.WebSearch:
			found := []backends.Citation{{URL: "https://tower.example/", Title: "Tower"}}
			reply.Text, reply.Hosted = "330 metres", &backendtest.Hosted{Query: "height", Found: found}
		case hosted.Code():
			reply.Text, reply.Hosted = "1022", &backendtest.Hosted{Code: "print(123456789%9973)", Output: "1022"}
		case strings.Contains(question, "Count"):
			reply = backendtest.Reply{Text: "one, two, three", Fault: backendtest.HangMidStream}
		}
		return reply
	}
}
