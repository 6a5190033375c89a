//go:build judges

package judges

import (
	"net/http"
	"strings"
	"testing"
)

// aimock is the address of aimock, which speaks all protocols and chooses its
// answers by what is in a request.
type aimock string

// startAimock starts aimock with the answers of a file. A request to which none fits
// gets an error.
func startAimock(t *testing.T, answers string) aimock {
	t.Helper()
	return aimock(start(t, "node", installed(t, "node", "node_modules", "@copilotkit", "aimock", "dist", "cli.js"),
		"--port", "0", "--fixtures", answers, "--validate-on-load", "--strict"))
}

// received is a request as aimock understood it.
type received struct {
	Path string
	Body struct {
		Stream   bool
		Messages []struct {
			Role    string
			Content any
		}
	}
	Response struct{ Status int }
}

// protocol is the name of the protocol in which a request came.
func (r received) protocol() string {
	switch {
	case r.Path == "/v1/messages":
		return "anthropic"
	case r.Path == "/v1/chat/completions":
		return "openai"
	case r.Path == "/v1/responses":
		return "responses"
	case strings.HasPrefix(r.Path, "/v1beta/models/") && strings.Contains(r.Path, ":streamGenerateContent?alt=sse"):
		return "gemini"
	}
	return r.Path
}

// results are the results of tools in a request.
func (r received) results() []any {
	var out []any
	for _, m := range r.Body.Messages {
		if m.Role == "tool" {
			out = append(out, m.Content)
		}
	}
	return out
}

// journal is what aimock received, in order.
func (a aimock) journal(t *testing.T) []received {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, string(a)+"/__aimock/journal", nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []received
	readJSON(t, req, &all)
	return all
}
