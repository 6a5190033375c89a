package openai_test

import (
	"net/http"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// overTransport speaks the dialect that reads the most out of a stream.
func overTransport(t testing.TB, transport http.RoundTripper) backends.Backend {
	dialect := openai.Dialect{ThinkTags: true, Reasoning: openai.ReasoningDetails}
	return newDialect(t, dialect, openai.Config{Provider: "test", Transport: transport})
}

func TestStreams(t *testing.T) { backendtest.RunStreams(t, "testdata/streams", overTransport) }

// FuzzStream checks that no body makes the adapter panic or hang.
func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":{\"b\":1}}}]}}]}\n\ndata: [DONE]"))
	f.Add([]byte(": comment\r\nevent: error\r\ndata: {\"message\":\"x\"}\r\n"))
	f.Add([]byte("{\"error\":null,\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}]}"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\" <think>a</think>\\n\\nb\",\"reasoning_details\":[{\"type\":\"t\",\"text\":\"x\"},{\"type\":\"t\",\"text\":null}]}}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("<html><script>x</script>page"))
	f.Fuzz(func(t *testing.T, body []byte) { backendtest.CheckBody(t, body, overTransport) })
}
