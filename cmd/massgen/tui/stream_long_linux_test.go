//go:build long

package tui

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStreamsCostTheSame: while twenty agents stream 200 tokens a second each, the screen draws at most 15 times a
// second, and the processor time of ten seconds does not grow.
func TestStreamsCostTheSame(t *testing.T) {
	const parts, part = 10, 10 * time.Second
	keyboard, tty := openTerminal(t, 200, 60)
	conv := crowd(t, 200*parts*10, parts*part).conversation()
	var screen Screen
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	work.Go(func() {
		if err := screen.Run(ctx, Terminal{In: tty, Out: tty, Environ: []string{"TERM=xterm-256color"}}, conv, "Count!"); err != nil {
			t.Error(err)
		}
	})
	var frames atomic.Int64
	work.Go(func() {
		const within = 10 * time.Millisecond // a frame comes in pieces
		var data [1 << 16]byte
		var last time.Time
		for {
			if _, err := keyboard.Read(data[:]); err != nil {
				return
			}
			if time.Since(last) > within {
				frames.Add(1)
			}
			last = time.Now()
		}
	})
	var used []time.Duration
	for range parts {
		before := processorTime(t)
		<-time.After(part)
		used = append(used, processorTime(t)-before)
	}
	perSecond := float64(frames.Load()) / (parts * part).Seconds()
	t.Logf("processor time of each %s: %v; %.1f frames a second", part, used, perSecond)
	if perSecond > 15 {
		t.Errorf("%.1f frames a second", perSecond)
	}
	if ratio := float64(used[parts-1]) / float64(used[1]); ratio > 1.3 {
		t.Errorf("the tenth %s took %.2f times the second: %v", part, ratio, used)
	}
	cancel()
	for _, f := range []io.Closer{tty, keyboard} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	work.Wait()
}
