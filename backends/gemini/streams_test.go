package gemini_test

import (
	"net/http"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/tests/backendtest"
)

func overTransport(t testing.TB, transport http.RoundTripper) backends.Backend {
	return newBackend(t, gemini.Config{Provider: "test", Transport: transport})
}

func TestStreams(t *testing.T) { backendtest.RunStreams(t, "testdata/streams", overTransport) }

// FuzzStream checks that no body makes the adapter panic or hang.
func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]},\"finishReason\":\"STOP\"}]}\n\n"))
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"x\",\"args\":{\"b\":1}},\"thoughtSignature\":\"AA==\"}]}}]}\r\n\r\n"))
	f.Add([]byte("data: {\"promptFeedback\":{\"blockReason\":\"OTHER\"}}"))
	f.Add([]byte("{\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}]}"))
	f.Add([]byte("<html><script>x</script>page"))
	f.Fuzz(func(t *testing.T, body []byte) { backendtest.CheckBody(t, body, overTransport) })
}
