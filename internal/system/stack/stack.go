// Package stack grows the stacks of goroutines that will need a large one. A goroutine begins with 2 KiB, and
// each time that it needs more, Go doubles the stack, copies it, and looks up each frame on it. That took a
// seventh of the time of a mocked turn. So a goroutine calls Grow16 or Grow32 while its stack is still empty.
package stack

// Grow16 gives the calling goroutine a stack of 16 KiB: enough to call a model or to play a turn. Go keeps
// stacks up to that size for reuse.
func Grow16() { fill16(0) }

// Grow32 gives the calling goroutine a stack of 32 KiB: enough to open the store.
func Grow32() { fill32(0) }

// fill16 uses more than half of 16 KiB, so that no smaller stack is enough.
//
//go:noinline
func fill16(i byte) byte {
	var frame [10 << 10]byte
	frame[i] = i
	return frame[i+1]
}

//go:noinline
func fill32(i byte) byte {
	var frame [20 << 10]byte
	frame[i] = i
	return frame[i+1]
}
