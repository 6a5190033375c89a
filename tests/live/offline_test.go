//go:build !live

package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	leaks.Main(m)
}

// offline is what a service is replaced by: a server with its protocol, whose model is good.
type offline struct {
	service
	protocol backendtest.Protocol
	connect  func(baseURL string) (backends.Backend, error)
}

func offlines() []offline {
	return []offline{
		{service{name: "openai", model: "gpt-5-mini"}, backendtest.ChatCompletions(), func(baseURL string) (backends.Backend, error) {
			return openai.New(openai.Config{BaseURL: baseURL})
		}},
		{service{name: "responses", model: "gpt-5.4-mini"}, backendtest.Responses(), func(baseURL string) (backends.Backend, error) {
			return openai.NewDialect(openai.Config{BaseURL: baseURL}, openai.Dialect{API: "responses", Hosted: "web_search code_execution"})
		}},
		{service{name: "claude", model: "claude-haiku-4-5", key: "key-of-a-test"}, backendtest.Messages(), func(baseURL string) (backends.Backend, error) {
			return anthropic.New(anthropic.Config{BaseURL: baseURL})
		}},
		{service{name: "gemini", model: "gemini-3.5-flash", key: "key-of-a-test"}, backendtest.GenerateContent(), func(baseURL string) (backends.Backend, error) {
			return gemini.New(gemini.Config{BaseURL: baseURL})
		}},
	}
}

// TestSuiteForRealServices runs it against servers that answer as good models do.
func TestSuiteForRealServices(t *testing.T) {
	var list []service
	env := environment("OPENAI_API_KEY", "key-of-a-test", "ANTHROPIC_API_KEY", "key-of-a-test", "GEMINI_API_KEY", "key-of-a-test")
	for _, o := range offlines() {
		server := backendtest.NewProtocolServer(t, o.protocol, goodModel(dialect(o.name).Signs))
		o.baseURL = server.BaseURL
		list = append(list, o.service)
		t.Run(o.name, func(t *testing.T) {
			backend, err := o.connect(server.BaseURL)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := backend.(interface{ Close() error }).Close(); err != nil {
					t.Error(err)
				}
			})
			runAll(t, env, o.service, backend)
			if !o.isOthers() {
				return
			}
			live := o.live()
			live.Backend, live.Hosts, live.Sees, live.Efforts = backend, dialect(o.name).Hosts, true, o.efforts()
			backendtest.RunLive(t, live)
		})
	}
	t.Run("mixed panel", func(t *testing.T) { testMixed(t, env, list) })
	t.Run("type auto", func(t *testing.T) {
		server := backendtest.NewProtocolServer(t, backendtest.ChatCompletions(), goodModel(false))
		keyed := environment("OPENAI_API_KEY", "key-of-a-test", "OPENAI_BASE_URL", server.BaseURL)
		testAuto(t, keyed)
		if len(server.Calls()) == 0 {
			t.Error("nothing was asked")
		}
	})
}

// TestUsesAreEstimatesOfCalls: no check makes more calls of a service than it says.
func TestUsesAreEstimatesOfCalls(t *testing.T) {
	for _, o := range offlines() {
		server := backendtest.NewProtocolServer(t, o.protocol, goodModel(dialect(o.name).Signs))
		backend, err := o.connect(server.BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		live := o.live()
		live.Backend = backend
		t.Run(o.name, func(t *testing.T) { backendtest.RunLive(t, live) })
		said := 0
		for _, use := range live.Uses() {
			said += use.Calls
		}
		if made := len(server.Calls()); made == 0 || made > said {
			t.Errorf("%s was called %d times, and the uses say %d", o.name, made, said)
		}
		if err := backend.(interface{ Close() error }).Close(); err != nil {
			t.Error(err)
		}
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
		if r, isPanel := goodAgent(c, reply); isPanel {
			return r
		}
		switch {
		case sees(messages):
			reply.Text = "It is red, or 4711."
		case slices.Contains(c.ToolNames(), "camera"):
			reply.ToolCalls = []backends.ToolCall{{ID: "one", Name: "camera", Arguments: `{}`}}
		case len(c.Request().Schema) > 0:
			reply.Text = `{"city":"Paris","country":"France"}`
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

// sees reports whether there are files in messages.
func sees(messages []backends.Message) bool {
	for _, m := range messages {
		for _, p := range m.Parts {
			_, isImage := p.(backends.Image)
			result, _ := p.(backends.ToolResult)
			if isImage || len(result.Files) > 0 {
				return true
			}
		}
	}
	return false
}

// goodAgent is an agent of a panel, which does as it is told. It thinks before it writes a file.
func goodAgent(c backendtest.Call, reply backendtest.Reply) (backendtest.Reply, bool) {
	call := func(name, arguments string) {
		reply.Text = ""
		reply.ToolCalls = []backends.ToolCall{{ID: fmt.Sprint("call_", len(c.Messages())), Name: name, Arguments: arguments}}
	}
	has := func(tool string) bool { return slices.Contains(c.ToolNames(), tool) }
	hosted := c.Request().Params.Hosted
	switch {
	case has("write_file"):
		switch results(c) {
		case 0:
			call("write_file", `{"path":"notes.txt","content":"tide"}`)
		case 1:
			call("read_file", `{"path":"notes.txt"}`)
		default:
			reply.Text = "It says tide."
		}
	case has("vote") && !strings.Contains(c.User(), "(no answers available yet)"):
		call("vote", `{"agent_id":"agent1","reason":"It is right."}`)
	case has("new_answer"):
		call("new_answer", `{"content":"330 metres, and 1022."}`)
		if hosted.WebSearch {
			reply.Hosted = &backendtest.Hosted{
				Query: "height", Found: []backends.Citation{{URL: "https://tower.example/", Title: "Tower"}}, Code: "print(123456789%9973)", Output: "1022",
			}
		}
	default:
		return reply, false
	}
	return reply, true
}

// results counts the results of tools in a call.
func results(c backendtest.Call) (n int) {
	for _, m := range c.Messages() {
		for _, p := range m.Parts {
			if _, is := p.(backends.ToolResult); is {
				n++
			}
		}
	}
	return n
}
