package mcp

import (
	"fmt"
	"time"
)

// A server that ends is started anew at most MaxRestarts times in RestartWindow.
const (
	MaxRestarts   = 5
	RestartWindow = 10 * time.Minute
)

// firstRestartWait is the least time between the first and the second restart in a window. It doubles
// for each further one, up to longestRestartWait.
const (
	firstRestartWait   = 500 * time.Millisecond
	longestRestartWait = 30 * time.Second
)

// restarts decides when a server may be started anew. The zero restarts is ready.
type restarts struct {
	started []time.Time   // the restarts in the window, the oldest first
	wait    time.Duration // from the last restart to the next
}

// next returns how long to wait before a restart, or why the server may not be restarted. It counts
// the restart.
func (r *restarts) next(now time.Time) (time.Duration, error) {
	for len(r.started) > 0 && now.Sub(r.started[0]) >= RestartWindow {
		r.started = r.started[1:]
	}
	if len(r.started) == 0 {
		r.wait = 0
	}
	if len(r.started) == MaxRestarts {
		again := RestartWindow - now.Sub(r.started[0])
		return 0, fmt.Errorf("it was started anew %d times in %s and is left alone for another %s",
			MaxRestarts, RestartWindow, again.Round(time.Second))
	}
	var wait time.Duration
	if n := len(r.started); n > 0 {
		wait = max(0, r.wait-now.Sub(r.started[n-1]))
	}
	r.wait = min(max(2*r.wait, firstRestartWait), longestRestartWait)
	r.started = append(r.started, now.Add(wait))
	return wait, nil
}
