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
	for name, c := range map[string]struct {
		part backends.Part
		want int
	}{
		"text":        {backends.Text{Text: long}, 307},
		"reasoning":   {backends.Reasoning{Text: long}, 7}, // it is not sent
		"tool call":   {backends.ToolCall{Name: long[:9], Arguments: long[9:]}, 307},
		"tool result": {backends.ToolResult{Content: long}, 307},
		"opaque":      {backends.Opaque{Data: []byte(long)}, 307},
	} {
		if got := counted(t, backends.Request{Messages: []backends.Message{{Parts: []backends.Part{c.part}}}}); got != c.want {
			t.Errorf("%s counts %d, want %d", name, got, c.want)
		}
	}
	tools := []backends.Tool{{Name: long[:300], Description: long[:300], Schema: []byte(long[:300])}}
	if got := counted(t, backends.Request{Tools: tools}); got != 315 {
		t.Errorf("a tool counts %d, want 315", got)
	}
	image := backends.Image{Data: make([]byte, 1<<20)}
	if got := counted(t, backends.Request{Messages: []backends.Message{{Parts: []backends.Part{image}}}}); got != 1007 {
		t.Errorf("an image counts %d, want 1007", got)
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
