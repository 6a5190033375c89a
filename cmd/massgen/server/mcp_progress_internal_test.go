package server

import (
	"runtime"
	"testing"
)

// TestProgressOfALongLineCostsWhatItsLengthSays: no line has ended, so nothing is sent, and each piece is kept once.
func TestProgressOfALongLineCostsWhatItsLengthSays(t *testing.T) {
	p := &progress{token: 1}
	const pieces, size = 20_000, 9
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range pieces {
		p.tell(piece{reasoning: "abcd efg "})
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 20*pieces*size {
		t.Errorf("%d bytes take %d", pieces*size, used)
	}
}
