package stack_test

import (
	"testing"

	"github.com/massgen/massgen/internal/system/stack"
)

// TestGrowUsesTheStack: a frame on the heap would leave the stack as it was.
func TestGrowUsesTheStack(t *testing.T) {
	for name, grow := range map[string]func(){"Grow16": stack.Grow16, "Grow32": stack.Grow32} {
		if n := testing.AllocsPerRun(100, grow); n != 0 {
			t.Errorf("%s makes %v allocations, want 0", name, n)
		}
	}
}
