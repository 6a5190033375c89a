package retry_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// TestEachPartCounts looks at what a request is estimated to take.
func TestEachPartCounts(t *testing.T) {
	long := strings.Repeat("x", 900)
	for name, p := range map[string]backends.Part{
		"text":        backends.Text{Text: long},
		"reasoning":   backends.Reasoning{Text: long},
		"tool call":   backends.ToolCall{Name: long[:9], Arguments: long[9:]},
		"tool result": backends.ToolResult{Content: long},
		"opaque":      backends.Opaque{Data: []byte(long)},
	} {
		if got := counted(t, backends.Request{Messages: []backends.Message{{Parts: []backends.Part{p}}}}); got != 300 {
			t.Errorf("%s counts %d, want 300", name, got)
		}
	}
	tools := []backends.Tool{{Name: long[:300], Description: long[:300], Schema: []byte(long[:300])}}
	if got := counted(t, backends.Request{Tools: tools}); got != 300 {
		t.Errorf("a tool counts %d, want 300", got)
	}
	image := backends.Image{Data: make([]byte, 1<<20)}
	if got := counted(t, backends.Request{Messages: []backends.Message{{Parts: []backends.Part{image}}}}); got != 1600 {
		t.Errorf("an image counts %d, want 1600", got)
	}
}

// counted measures what a request books by how long the next one waits: three
// tokens flow in a minute.
func counted(t *testing.T, req backends.Request) int {
	t.Helper()
	var wait time.Duration
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{well()}}
		b := once(inner, newGate("script", retry.Limits{TokensPerMinute: 3}))
		one := 1
		for _, r := range []backends.Request{req, {Params: backends.Params{MaxTokens: &one}}} {
			if _, err := backends.Collect(b.Stream(t.Context(), r), nil); err != nil {
				t.Fatal(err)
			}
		}
		wait = inner.waits()[0]
	})
	return int((wait + time.Second) / (20 * time.Second))
}
