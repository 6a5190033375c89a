package panels

import (
	"runtime"
	"testing"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/setup/telemetry"
)

// TestTelemetryIsFreeUnlessAskedFor: without the variables of OpenTelemetry there is no exporter, and
// nobody subscribes to a turn's events: that alone would take a goroutine and memory.
func TestTelemetryIsFreeUnlessAskedFor(t *testing.T) {
	unset := func(string) (string, bool) { return "", false }
	exporter, err := telemetry.New(unset, "v1", nil, nil, nil)
	if exporter != nil || err != nil {
		t.Fatalf("an empty environment has the exporter %v, %v", exporter, err)
	}
	p, turn, before := &Opened{exporter: exporter}, &coordinator.Turn{}, runtime.NumGoroutine()
	allocations := testing.AllocsPerRun(1000, func() {
		if got, err := p.followed(turn, nil); got != turn || err != nil {
			t.Errorf("the turn comes back as %v, %v", got, err)
		}
	})
	if after := runtime.NumGoroutine(); allocations != 0 || after > before {
		t.Errorf("a turn costs %v allocations, and %d goroutines became %d", allocations, before, after)
	}
}
