package tests

import (
	"net/http"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// protocol is one of the ways in which models are called.
type protocol struct {
	// name tells it from the others; kind is the backend type of a config, with which its
	// errors are headed.
	name, kind string
	// model is a name that the adapter knows something of.
	model string
	wire  backendtest.Protocol
	// adapter makes a backend.
	adapter func(provider, baseURL string, transport http.RoundTripper) (backends.Backend, error)
}

func protocols() []protocol { return []protocol{openAI(), responses(), claude(), google()} }

const testKey = "sk-test"

func openAI() protocol {
	return protocol{
		name: "openai", kind: "openai", model: "gpt-5-mini", wire: backendtest.ChatCompletions(),
		adapter: func(provider, baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return openai.New(openai.Config{Provider: provider, BaseURL: baseURL, APIKey: testKey, Transport: transport})
		},
	}
}

// responses is OpenAI's other protocol, which its model has a program choose.
func responses() protocol {
	dialect := openai.Compatible()
	dialect.API = "responses"
	return protocol{
		name: "responses", kind: "openai", model: "gpt-5.4", wire: backendtest.Responses(),
		adapter: func(provider, baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return openai.NewDialect(openai.Config{Provider: provider, BaseURL: baseURL, APIKey: testKey, Transport: transport}, dialect)
		},
	}
}

func claude() protocol {
	return protocol{
		name: "claude", kind: "claude", model: "claude-opus-4-6", wire: backendtest.Messages(),
		adapter: func(provider, baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return anthropic.New(anthropic.Config{Provider: provider, BaseURL: baseURL, APIKey: testKey, Transport: transport})
		},
	}
}

func google() protocol {
	return protocol{
		name: "gemini", kind: "gemini", model: "gemini-3-pro", wire: backendtest.GenerateContent(),
		adapter: func(provider, baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return gemini.New(gemini.Config{Provider: provider, BaseURL: baseURL, APIKey: testKey, Transport: transport})
		},
	}
}

// connect returns a backend for a server of the protocol.
func (p protocol) connect(t testing.TB, baseURL string, transport *http.Transport) backends.Backend {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	backend, err := p.adapter(p.kind, baseURL, transport)
	if err != nil {
		t.Fatal(err)
	}
	return backend
}

// serve starts a server of the protocol, and returns it with a backend that calls
// it without the network.
func (p protocol) serve(t testing.TB, reply func(backendtest.Call) backendtest.Reply) (*backendtest.Server, backends.Backend) {
	t.Helper()
	server := backendtest.NewProtocolPipeServer(t, p.wire, reply)
	return server, p.connect(t, server.BaseURL, server.Transport())
}

// perProtocol runs a test for each of the protocols.
func perProtocol(t *testing.T, test func(t *testing.T, p protocol)) {
	for _, p := range protocols() {
		t.Run(p.name, func(t *testing.T) { test(t, p) })
	}
}
