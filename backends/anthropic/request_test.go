package anthropic_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestRequests sends the requests of testdata/requests and shows the body of each,
// or the error that it gets before anything is sent.
func TestRequests(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/requests", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var req backends.Request
			if err := json.Unmarshal([]byte(d.Input), &req); err != nil {
				d.Fatalf(t, "%v", err)
			}
			return sentBody(t, req)
		})
	})
}

const wholeAnswer = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n"

func sentBody(t *testing.T, req backends.Request) string {
	backend := newBackend(t, anthropic.Config{Provider: "claude", Model: "claude-default", Transport: backendtest.Canned{
		Status: 200, Body: func() io.Reader { return strings.NewReader(wholeAnswer) },
	}})
	var out bytes.Buffer
	ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(body []byte) {
		if err := json.Indent(&out, body, "", "  "); err != nil {
			t.Errorf("the body is no JSON: %v", err)
		}
	}})
	if _, err := backends.Collect(backend.Stream(ctx, req), nil); err != nil {
		return out.String() + err.Error() + "\n"
	}
	return out.String() + "\n"
}
