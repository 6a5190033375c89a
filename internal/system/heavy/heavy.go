// Package heavy bounds the work that can take far more memory and time than its input, such as decoding
// a picture. The limits hold for the whole process, whoever sent the input.
package heavy

import (
	"context"
	"runtime/debug"

	"golang.org/x/sync/semaphore"
)

// MostMemory is the memory in bytes that the pictures in work use at once, and mostBodies the memory of the
// bodies in work.
const (
	MostMemory = 640 << 20
	mostBodies = 320 << 20
)

// mostAtOnce is how many pieces of work run at once in a room.
const mostAtOnce = 4

// Room is the memory for one kind of heavy work. It is safe for concurrent use.
type Room struct {
	memory int64
	free   *semaphore.Weighted
}

func newRoom(memory int64) *Room { return &Room{memory, semaphore.NewWeighted(memory)} }

// The rooms of the process, which has only one memory. Each kind of work has its own: many pictures take
// minutes, and a body or a check that takes a moment must not wait for them.
var (
	Pictures = newRoom(MostMemory)
	Bodies   = newRoom(mostBodies) // of requests
	Checks   = newRoom(mostAtOnce) // of answers against schemas, which take no memory
)

// Do waits until there is room for work that uses memory bytes, and runs it. It returns the error of ctx
// if ctx ends first. The work has to watch ctx itself, and must not call Do.
func (r *Room) Do(ctx context.Context, memory int64, work func() error) error {
	counted := min(max(memory, r.memory/mostAtOnce), r.memory)
	if err := r.free.Acquire(ctx, counted); err != nil {
		return err
	}
	defer func() {
		if memory >= MostMemory/mostAtOnce {
			debug.FreeOSMemory() // else the next work begins beside what this one has left
		}
		r.free.Release(counted)
	}()
	return work()
}
