// Package heavy bounds the work that can take far more memory and time than its input, such as decoding
// a picture. The limit holds for the whole process, whoever sent the input.
package heavy

import (
	"context"
	"runtime/debug"

	"golang.org/x/sync/semaphore"
)

// MostMemory is the memory in bytes that all heavy work uses at once.
const MostMemory = 640 << 20

// mostAtOnce is how many pieces of heavy work run at once.
const mostAtOnce = 4

// room is the memory that is free for heavy work. The process has only one memory, so all callers share
// the limit.
var room = semaphore.NewWeighted(MostMemory)

// Do waits until there is room for work that uses memory bytes, and runs it. It returns the error of ctx
// if ctx ends first. The work has to watch ctx itself, and must not call Do.
func Do(ctx context.Context, memory int64, work func() error) error {
	counted := min(max(memory, MostMemory/mostAtOnce), MostMemory)
	if err := room.Acquire(ctx, counted); err != nil {
		return err
	}
	defer func() {
		if memory >= MostMemory/mostAtOnce {
			debug.FreeOSMemory() // else the next work begins beside what this one has left
		}
		room.Release(counted)
	}()
	return work()
}
