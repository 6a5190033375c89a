//go:build judges

package judges

import (
	"io"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// subject is an adapter that is judged.
type subject struct {
	name string
	// backendType is what configs call it.
	backendType string
	// models differ in what the adapter sends for them.
	models []string
	// protocol is that of a server of our own; nil means OpenAI's.
	protocol func() backendtest.Protocol
	connect  func(baseURL string, s backendtest.Settings) (closer, error)
	// anybody connects as to a service that is not the describer's, and takes more; nil means
	// that none does.
	anybody func(baseURL string, s backendtest.Settings) (closer, error)
	// order checks what no description says.
	order func(body []byte) error
	// signs is set if the protocol has signatures that go back to the model.
	signs bool
	// refuses are the requests that the adapter sends to no model.
	refuses []string
	// spoilt are pairs: what a good request has, and what spoils it in its place.
	// result is one that spoils only the order.
	spoilt [][2]string
	result [2]string
}

type closer interface {
	backends.Backend
	io.Closer
}

func subjects() []subject {
	return []subject{
		{
			name: "anthropic", backendType: "claude",
			models:   []string{"claude-3-5-haiku-latest", "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7", "test-model"},
			protocol: backendtest.Messages,
			connect: func(baseURL string, s backendtest.Settings) (closer, error) {
				return anthropic.New(anthropic.Config{Provider: "anthropic", BaseURL: baseURL, APIKey: s.APIKey,
					FirstByteTimeout: s.FirstByteTimeout, IdleTimeout: s.IdleTimeout, Transport: s.Transport})
			},
			order:   backendtest.CheckMessagesOrder,
			signs:   true,
			refuses: []string{"seed", "reasoning minimal"},
			spoilt: [][2]string{
				{`"max_tokens"`, `"max_token"`},
				{`"tool_use_id":"call_1"`, `"tool_use_id":"call.1"`},
				{`"type":"tool_result"`, `"type":"tool_results"`},
				{`"signature"`, `"signed"`},
				{`"input_schema":{"type":"object"`, `"input_schema":{"type":"array"`},
				{`"role":"assistant"`, `"role":"model"`},
			},
			result: [2]string{`"tool_use_id":"call_2"`, `"tool_use_id":"call_1"`},
		},
		{
			name: "gemini", backendType: "gemini",
			models:   []string{"gemini-2.5-flash", "gemini-3-pro-preview", "test-model"},
			protocol: backendtest.GenerateContent,
			connect: func(baseURL string, s backendtest.Settings) (closer, error) {
				return gemini.New(gemini.Config{Provider: "gemini", BaseURL: baseURL, APIKey: s.APIKey,
					FirstByteTimeout: s.FirstByteTimeout, IdleTimeout: s.IdleTimeout, Transport: s.Transport})
			},
			order:   backendtest.CheckContentsOrder,
			signs:   true,
			refuses: []string{"reasoning xhigh"},
			spoilt: [][2]string{
				{`"contents"`, `"messages"`},
				{`"functionResponse"`, `"functionResult"`},
				{`"response":{`, `"result":{`},
				{`"args":{}`, `"args":"{}"`},
				{`"parametersJsonSchema"`, `"jsonSchema"`},
				{`"name":"look_up"`, `"name":7`},
			},
			result: [2]string{`"functionResponse":{"id":"call_2"`, `"functionResponse":{"id":"call_1"`},
		},
		{
			name: "openai", backendType: "openai",
			models: []string{"gpt-4o", "gpt-5-mini", "test-model"},
			connect: func(baseURL string, s backendtest.Settings) (closer, error) {
				return openai.New(openai.Config{Provider: "openai", BaseURL: baseURL, APIKey: s.APIKey,
					FirstByteTimeout: s.FirstByteTimeout, IdleTimeout: s.IdleTimeout, Transport: s.Transport})
			},
			order: backendtest.CheckChatOrder,
			spoilt: [][2]string{
				{`"messages"`, `"message"`},
				{`"tool_call_id"`, `"call_id"`},
				{`"role":"tool"`, `"role":"result"`},
				{`"arguments":"{}"`, `"arguments":{}`},
				{`"type":"function"`, `"type":"tool"`},
				{`"include_usage"`, `"include_use"`},
			},
			result: [2]string{`"tool_call_id":"call_2"`, `"tool_call_id":"call_1"`},
		},
		responses(),
	}
}

// responses is OpenAI's adapter over the Responses API.
func responses() subject {
	connect := func(dialect openai.Dialect) func(baseURL string, s backendtest.Settings) (closer, error) {
		dialect.API = "responses"
		return func(baseURL string, s backendtest.Settings) (closer, error) {
			return openai.NewDialect(openai.Config{Provider: "responses", BaseURL: baseURL, APIKey: s.APIKey,
				FirstByteTimeout: s.FirstByteTimeout, IdleTimeout: s.IdleTimeout, Transport: s.Transport}, dialect)
		}
	}
	return subject{
		name: "responses", backendType: "openai",
		models:   []string{"gpt-4o", "gpt-5.4", "gpt-5.6-sol", "test-model"},
		protocol: backendtest.Responses,
		connect:  connect(openai.OpenAI()),
		anybody:  connect(openai.Compatible()),
		order:    backendtest.CheckItemsOrder,
		signs:    true,
		refuses:  []string{"seed", "stop"},
		spoilt: [][2]string{
			{`"input"`, `"inputs"`},
			{`"call_id":"call_1"`, `"id":"call_1"`},
			{`"type":"function_call_output"`, `"type":"function_result"`},
			{`"arguments":"{}"`, `"arguments":{}`},
			{`"type":"function",`, `"type":"tool",`},
			{`"encrypted_content":"`, `"sealed_content":"`},
			{`"reasoning.encrypted_content"`, `"reasoning.content"`},
		},
		result: [2]string{`"call_id":"call_2","output"`, `"call_id":"call_1","output"`},
	}
}

// wire is the subject's protocol.
func (s subject) wire() backendtest.Protocol {
	if s.protocol == nil {
		return backendtest.ChatCompletions()
	}
	return s.protocol()
}

// serve starts a server of our own in the subject's protocol.
func (s subject) serve(t *testing.T, reply func(backendtest.Call) backendtest.Reply) *backendtest.Server {
	return backendtest.NewProtocolServer(t, s.wire(), reply)
}

// dial makes the adapter for a service, until t ends.
func (s subject) dial(t *testing.T, baseURL string, settings backendtest.Settings) backends.Backend {
	t.Helper()
	backend, err := s.connect(baseURL, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return backend
}
