package tui

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen"
)

// Screen is a full-screen terminal. Make it before the panel, whose WithApproval calls its Approve.
type Screen struct {
	mu      sync.Mutex
	program *tea.Program
	turn    *massgen.Turn // the last one
	work    sync.WaitGroup
}

// Terminal is the terminal of a Screen. Environ is the environment of the process. Plain turns colours
// off. Inline draws below what the terminal shows, and leaves the conversation in its scrollback.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Environ []string
	Plain   bool
	Editor  string // $EDITOR
	Inline  bool
}

// ErrGone is returned when the terminal was closed.
var ErrGone = errors.New("the terminal is gone")

// Run shows a conversation, with a first question unless that is "", until the person leaves or ctx is
// done. It waits for its goroutines and restores the terminal, also after a panic. If ctx ended it, Run
// also waits until a running turn has ended with the best answer so far. The error is ErrGone when the
// terminal was closed.
func (sc *Screen) Run(ctx context.Context, at Terminal, conv Conversation, question string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	do := func(f func(ctx context.Context) tea.Msg) tea.Cmd {
		return func() tea.Msg {
			sc.work.Add(1)
			defer sc.work.Done()
			return f(ctx)
		}
	}
	ask := conv.Ask
	conv.Ask = func(ctx context.Context, question string) (*massgen.Turn, error) {
		turn, err := ask(ctx, question)
		if err == nil {
			sc.mu.Lock()
			defer sc.mu.Unlock()
			sc.turn = turn
		}
		return turn, err
	}
	s := newScreen(conv, do, mood{plain: at.Plain, inline: at.Inline, editor: at.Editor, keyboard: at.In}, question)
	var isGone atomic.Bool
	program := tea.NewProgram(s, tea.WithInput(guarded(at.In, func() {
		isGone.Store(true)
		cancel()
	})), tea.WithOutput(at.Out), tea.WithEnvironment(at.Environ), tea.WithFPS(60), tea.WithoutSignalHandler())
	sc.mu.Lock()
	sc.program = program
	sc.mu.Unlock()
	if f, ok := at.In.(*os.File); ok {
		r := startRestorer(f)
		defer r.end()
	}
	over := make(chan struct{})
	sc.work.Go(func() { // tea.WithContext would leave the goroutine for the keys behind
		select {
		case <-ctx.Done():
			program.Quit()
		case <-over:
		}
	})
	_, err := program.Run()
	close(over)
	sc.mu.Lock()
	sc.program = nil
	sc.mu.Unlock()
	isEnded := ctx.Err() != nil
	cancel()
	sc.work.Wait() // also for a question whose turn the screen does not know
	if sc.turn != nil {
		sc.turn.Cancel()
		if isEnded {
			_, _ = sc.turn.Wait(context.WithoutCancel(ctx)) // the session keeps the result
		}
	}
	if isGone.Load() {
		return ErrGone
	}
	return err
}

// guarded returns the input without the sequences that would crash the screen. It calls gone when the
// input has ended.
func guarded(in io.Reader, gone func()) io.Reader {
	if f, ok := in.(*os.File); ok {
		return &guardedFile{File: f, gone: gone}
	}
	return in
}

// IsOpen reports whether the screen is shown.
func (sc *Screen) IsOpen() bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.program != nil
}

// Approve asks the person about a tool call, and waits for the answer.
func (sc *Screen) Approve(ctx context.Context, call massgen.ApprovalRequest, offer Offer) (massgen.Decision, error) {
	sc.mu.Lock()
	program := sc.program
	sc.mu.Unlock()
	if program == nil {
		return massgen.Decision{}, errors.New("the screen is not open yet")
	}
	answer := make(chan massgen.Decision, 1)
	sc.work.Go(func() { program.Send(approvalMsg{call, offer, answer, ctx.Done()}) })
	select {
	case v := <-answer:
		return v, nil
	case <-ctx.Done():
		return massgen.Decision{}, ctx.Err()
	}
}

// frame is the shortest time between two drawings of a running turn. With those of the clock, which ticks twice a second,
// a second has at most 15.
const frame = time.Second / 12

// batched passes events on in batches: the first at once, and then the events of each frame.
func batched(ctx context.Context, events iter.Seq[massgen.Event], out chan<- []massgen.Event) {
	in := make(chan massgen.Event)
	ctx, stop := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer stop()
	reader.Go(func() {
		defer close(in)
		for ev := range events {
			select {
			case in <- ev:
			case <-ctx.Done():
				return
			}
		}
	})
	var batch []massgen.Event
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := false
	for {
		var ready chan<- []massgen.Event
		if due && len(batch) > 0 {
			ready = out
		}
		select {
		case ev, more := <-in:
			if !more {
				if len(batch) > 0 {
					select {
					case out <- batch:
					case <-ctx.Done():
					}
				}
				return
			}
			batch = append(batch, ev)
		case ready <- batch:
			batch, due = nil, false
			timer.Reset(frame)
		case <-timer.C:
			due = true
		case <-ctx.Done():
			return
		}
	}
}
