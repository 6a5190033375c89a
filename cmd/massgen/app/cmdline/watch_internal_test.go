package cmdline

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestWhatAnInterruptEnds: an interrupt that no turn has taken ends the program. After an answer it
// keeps the status of the answer.
func TestWhatAnInterruptEnds(t *testing.T) {
	for name, c := range map[string]struct {
		give func(*Watch)
		want int
	}{
		"before a turn":    {func(*Watch) {}, ExitInterrupted},
		"after a turn":     {func(w *Watch) { w.Take(); w.Give(time.Time{}) }, ExitInterrupted},
		"after an answer":  {func(w *Watch) { w.Take(); w.Finish(ExitNoWinner) }, ExitNoWinner},
		"in the next turn": {func(w *Watch) { w.Take(); w.Finish(ExitNoWinner); w.Take(); w.Give(time.Time{}) }, ExitInterrupted},
	} {
		signals, status := make(chan os.Signal), make(chan int)
		w := NewWatch(signals)
		go func() { status <- w.until(nil) }()
		c.give(w)
		signals <- syscall.SIGTERM
		if got := <-status; got != c.want {
			t.Errorf("%s: the status is %d, want %d", name, got, c.want)
		}
	}
}
