// Package stack grows the stacks of goroutines that will need a large one.
package stack

// Grow gives the calling goroutine a stack of 16 or of 32 KiB at once: 16 for one that calls a model or
// plays a turn, since Go keeps such stacks for reuse and takes larger ones from the heap, and 32 for one
// that also opens the store. A goroutine begins with 2 KiB, and each time that it needs more, Go doubles the
// stack, copies it, and looks up each frame on it. That took a seventh of the time of a mocked turn. So Grow
// is called while the stack is still empty.
func Grow(kib int) {
	if kib > 16 {
		fill32(0)
		return
	}
	fill16(0)
}

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
