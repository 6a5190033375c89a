package talk

import (
	"context"
	"fmt"
	"os"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/coordinator"
)

// beginUntil begins a turn. An interrupt ends it before it has begun: to make pictures smaller may take long.
// An engine watches the interrupts itself.
func (s *session) beginUntil(ctx context.Context, question string, signals <-chan os.Signal) (t *coordinator.Turn, err error) {
	if s.engine != nil {
		return s.begin(ctx, question)
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
	isInterrupted := false
	for {
		select {
		case <-begun:
			if isInterrupted && t == nil {
				err = fmt.Errorf("%w before the turn had begun", cmdline.ErrQuit)
			}
			return t, err
		case signal := <-signals:
			s.term.terminated = cmdline.EndsProgram(signal)
			isInterrupted = true
			cancel()
		}
	}
}
