package anthropic_test

import (
	"net/http"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/tests/backendtest"
)

func overTransport(t testing.TB, transport http.RoundTripper) backends.Backend {
	return newBackend(t, anthropic.Config{Provider: "test", Transport: transport})
}

func TestStreams(t *testing.T) { backendtest.RunStreams(t, "testdata/streams", overTransport) }

// FuzzStream checks that no body makes the adapter panic or hang.
func FuzzStream(f *testing.F) {
	f.Add([]byte("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"x\",\"input\":{\"b\":1}}}\n\ndata: {\"type\":\"message_stop\"}"))
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"x\"}}\r\n\r\ndata: {\"type\":\"content_block_stop\",\"index\":0}\r\n"))
	f.Add([]byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n"))
	f.Add([]byte("{\"type\":\"message\",\"content\":[]}"))
	f.Fuzz(func(t *testing.T, body []byte) { backendtest.CheckBody(t, body, overTransport) })
}
