package stack_test

import (
	"testing"

	"github.com/massgen/massgen/internal/stack"
)

// TestGrowUsesTheStack: a frame on the heap would leave the stack as it was.
func TestGrowUsesTheStack(t *testing.T) {
	if n := testing.AllocsPerRun(100, stack.Grow); n != 0 {
		t.Errorf("Grow makes %v allocations, want 0", n)
	}
}
