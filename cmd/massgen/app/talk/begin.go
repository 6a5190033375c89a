package talk

import (
	"context"
	"fmt"
	"os"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/coordinator"
)

// beginUntil begins a turn. An interrupt ends it before it has begun: to make pictures smaller may take long.
// isInterrupted reports whether an interrupt came while the turn began all the same. An engine watches the
// interrupts itself.
func (s *session) beginUntil(ctx context.Context, question string, signals <-chan os.Signal) (t *coordinator.Turn, isInterrupted bool, err error) {
	if s.engine != nil {
		t, err = s.begin(ctx, question)
		return t, false, err
	}
	beginning, cancel := context.WithCancel(ctx)
	defer func() {
		if t == nil { // else the turn's context is this one
			cancel()
		}
	}()
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		t, err = s.begin(beginning, question)
	}()
	for {
		select {
		case <-begun:
			if isInterrupted && t == nil {
				err = fmt.Errorf("%w before the turn had begun", cmdline.ErrQuit)
			}
			return t, isInterrupted, err
		case signal := <-signals:
			s.term.terminated = cmdline.EndsProgram(signal)
			isInterrupted = true
			cancel()
		}
	}
}
