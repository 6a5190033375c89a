package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/debugbackend"
)

// crowd is a panel of twenty that each write so many tokens in a time, and then answer.
func crowd(tb testing.TB, tokens int, in time.Duration) *panel {
	tb.Helper()
	var text strings.Builder
	for i := range tokens {
		fmt.Fprintf(&text, "%05d ", i)
		if i%40 == 39 {
			text.WriteString("\n")
		}
	}
	script := fmt.Sprintf("rules:\n- {when: {round: 1}, reply: {text: %q, chunks: %d, delay: %s, new_answer: done}}\n- {when: {}, reply: {vote: {agent: agent1, reason: short}}}\n", text.String(), tokens, in)
	parsed, err := debugbackend.ParseScript([]byte(script))
	if err != nil {
		tb.Fatal(err)
	}
	backend := debugbackend.NewScripted(parsed)
	p := &panel{session: "s1"}
	var agents []massgen.Agent
	for i := range 20 {
		id := fmt.Sprintf("a%d", i+1)
		agents = append(agents, massgen.Agent{ID: id, Backend: backend})
		p.crowd = append(p.crowd, Agent{ID: id, Model: "m"})
	}
	p.panel, err = massgen.New(tb.Context(), agents)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.panel.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// TestStreamsLoseNothing: each token of twenty agents is in the full-size text of its agent, in its
// place, and drawn when a person scrolls through it.
func TestStreamsLoseNothing(t *testing.T) {
	t.Parallel()
	const tokens = 2000
	r := startOn(t, crowd(t, tokens, 0), "Count!")
	r.until("the turn is over", func() bool { return r.idle() && r.s.talk.last.answer != "" })
	r.press("tab")
	for range 20 {
		r.press("enter", "home")
		next := 0
		for last := ""; last != r.screen(); r.press("pgdown") {
			last = r.screen()
			for word := range strings.FieldsSeq(last) {
				if word == fmt.Sprintf("%05d", next) {
					next++
				}
			}
		}
		if next != tokens {
			t.Fatalf("agent %d: token %d is not drawn:\n%s", r.s.focus, next, r.screen())
		}
		r.press("esc", "right")
	}
}

// BenchmarkStreams draws twenty agents that stream 200 tokens a second each, on a terminal of
// 200x60 where a person types. It reports the processor time of all, with the agents, in percent
// of a core, and how long the letters took to appear.
func BenchmarkStreams(b *testing.B) {
	const seconds = 8
	for b.Loop() {
		keyboard, tty := openTerminal(b, 200, 60)
		conv := crowd(b, 200*seconds, seconds*time.Second).conversation()
		ctx, cancel := context.WithCancel(b.Context())
		var screen Screen
		var work sync.WaitGroup
		work.Go(func() {
			if err := screen.Run(ctx, Terminal{In: tty, Out: tty, Environ: []string{"TERM=xterm-256color"}}, conv, "Count!"); err != nil {
				b.Error(err)
			}
		})
		drawn := make(chan int, 1<<16) // letters z
		work.Go(func() {
			var data [1 << 16]byte
			for {
				n, err := keyboard.Read(data[:])
				if err != nil {
					return
				}
				if z := strings.Count(string(data[:n]), "z"); z > 0 {
					drawn <- z
				}
			}
		})
		time.Sleep(time.Second) // until all stream
		began, before := time.Now(), processorTime(b)
		var took []time.Duration
		for time.Since(began) < (seconds-2)*time.Second {
			typed := time.Now()
			if _, err := io.WriteString(keyboard, "z"); err != nil {
				b.Fatal(err)
			}
			<-drawn
			took = append(took, time.Since(typed))
			time.Sleep(37 * time.Millisecond)
		}
		slices.Sort(took)
		b.ReportMetric(100*float64(processorTime(b)-before)/float64(time.Since(began)), "%core")
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms/key")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms/key")
		cancel()
		if err := tty.Close(); err != nil {
			b.Error(err)
		}
		if err := keyboard.Close(); err != nil {
			b.Error(err)
		}
		work.Wait()
	}
}

func processorTime(b testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// openTerminal opens a pseudo-terminal of a size: its keyboard and screen, and what a program has of it.
func openTerminal(b testing.TB, width, height uint16) (keyboard, tty *os.File) {
	b.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height})
	}
	if err != nil {
		b.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	return keyboard, tty
}

// TestLongSessionsScroll: a session of two thousand turns and a million letters lays out a few blocks
// when it is opened, and a few more for each page.
func TestLongSessionsScroll(t *testing.T) {
	t.Parallel()
	s := longSession(t)
	laid := func() (n int) {
		for _, b := range s.transcript.blocks {
			if b.width > 0 {
				n++
			}
		}
		return n
	}
	if n := laid(); n > 40 {
		t.Errorf("%d blocks are laid out when the session is opened", n)
	}
	before := laid()
	for page := range 100 {
		s.Update(tea.KeyPressMsg{Code: tea.KeyPgUp})
		_ = s.View()
		if n := laid(); n > before+20 {
			t.Fatalf("page %d lays out %d blocks", page, n-before)
		}
		before = laid()
	}
	s.Update(tea.WindowSizeMsg{Width: 60, Height: 20}) // another width
	_ = s.View()
	n := 0
	for _, b := range s.transcript.blocks {
		if b.width == 60 {
			n++
		}
	}
	if n > 40 {
		t.Errorf("%d blocks are laid out after a resize", n)
	}
}

func longSession(tb testing.TB) *screen {
	tb.Helper()
	conv := (&panel{session: "s1"}).conversation()
	var turns []Exchange
	for i := range 2000 {
		turns = append(turns, Exchange{Question: fmt.Sprintf("Question %d?", i), Answer: fmt.Sprintf("Answer **%d**. ", i) + strings.Repeat("word ", 100), Winner: "ada", Status: "completed"})
	}
	do := func(f func(context.Context) tea.Msg) tea.Cmd { return func() tea.Msg { return f(tb.Context()) } }
	s := newScreen(conv, do, mood{}, "")
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.Update(pastMsg{turns: turns})
	_ = s.View()
	return s
}

// BenchmarkPage scrolls a session of two thousand turns by a page, up to its beginning and again.
func BenchmarkPage(b *testing.B) {
	s := longSession(b)
	b.ReportAllocs()
	for b.Loop() {
		up := s.transcript.at
		s.Update(tea.KeyPressMsg{Code: tea.KeyPgUp})
		_ = s.View()
		if s.transcript.at == up {
			s.transcript.at.toEnd()
		}
	}
}
