package stack_test

import (
	"testing"

	"github.com/massgen/massgen/internal/stack"
)

// TestGrowUsesTheStack: a frame on the heap would leave the stack as it was.
func TestGrowUsesTheStack(t *testing.T) {
	for _, kib := range []int{16, 32} {
		if n := testing.AllocsPerRun(100, func() { stack.Grow(kib) }); n != 0 {
			t.Errorf("Grow(%d) makes %v allocations, want 0", kib, n)
		}
	}
}
