package talk

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/coordinator/report"
)

// liveScreen draws live lines at the end of a terminal, and whatever else is written above them.
// The cursor rests at the beginning of the first line: whatever a terminal does to the lines
// when its size changes, they are all behind it. Its methods may be called concurrently, and on nil.
type liveScreen struct {
	mu       sync.Mutex
	out      io.Writer // the terminal
	size     func() (width, height int)
	mask     func(string) string
	lines    *liveLines
	partial  string // of a line that was written and has not ended
	frame    string // on the screen
	drawn    time.Time
	due      *time.Timer
	isOver   bool            // nothing is drawn
	isAside  bool            // a person is asked something: drawn again after that
	hasEnded bool            // for good
	answer   *streamedAnswer // nil if it does not stream
	enter    func()          // begins to draw, and leave ends that
	leave    func()
}

// liveEvery is how often the lines are drawn at most. What a model writes is on the screen within
// that time.
const liveEvery = 50 * time.Millisecond

// The codes of the terminal. Without wrapping, a letter that is wider than it is thought to be
// does not move the lines below.
const (
	eraseBelow = "\r\x1b[J"
	eraseLine  = "\x1b[2K"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
)

// openLive begins to draw the state of a session's turn, where a person watches one question. It
// returns nil elsewhere.
func openLive(s *session, state *report.State) *liveScreen {
	stderr, isFile := s.term.env.Stderr.(*os.File)
	if !s.feed.isShown() || s.console.IsSpoken || s.options.Display.Plain || s.term.env.TTY == nil || s.term.in != nil || !isFile || !cmdline.IsScreen(s.term.env, stderr) {
		return nil
	}
	l := &liveScreen{
		out: stderr, size: func() (int, int) { return sizeOf(stderr) }, mask: s.console.Secrets.Redact, lines: newLiveLines(state),
		due: time.NewTimer(time.Hour), leave: s.term.env.TTY.Leave,
	}
	l.lines.isColoured = s.term.env.WantsColour()
	if !s.options.Display.JSON && !s.results.answers.wantsPager() && cmdline.IsScreen(s.term.env, s.term.env.Stdout) {
		l.answer = newStreamedAnswer(s.results.answers, state)
		l.lines.isStreamed = true
	}
	l.enter = func() {
		undo := func() {}
		if m, ok := s.console.Err.(*cmdline.MaskingWriter); ok {
			undo = m.Redirect(l)
		}
		s.term.env.TTY.Entered(func() error { return nil }, func() {
			undo()
			l.close()
		})
		l.draw()
	}
	l.enter()
	return l
}

// sizeOf returns the size of a terminal, 80x24 if the terminal does not know its own.
func sizeOf(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// end erases the lines for good.
func (l *liveScreen) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.hasEnded = true
	if l.isAside {
		l.settleAll()
	}
	l.isAside = false
	l.mu.Unlock()
	l.leave()
}

// pause erases the lines while a person is asked something, and resume draws them again below
// that, unless they were ended meanwhile.
func (l *liveScreen) pause() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.isAside = !l.isOver || l.isAside
	l.mu.Unlock()
	l.leave()
}

func (l *liveScreen) resume() {
	if l == nil {
		return
	}
	l.mu.Lock()
	goesOn := l.isAside && !l.hasEnded
	if goesOn {
		l.isAside, l.isOver, l.frame = false, false, ""
	}
	l.mu.Unlock()
	if goesOn {
		l.enter()
	}
}

func (l *liveScreen) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isOver {
		return
	}
	if !l.isAside {
		l.settleAll()
	}
	l.isOver = true
	l.due.Stop()
	l.put(eraseBelow + l.partial)
	l.partial = ""
}

// isShown reports whether the lines are on the screen, or will be again.
func (l *liveScreen) isShown() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.isOver || l.isAside
}

// apply adds an event to the state, and redraws the lines, at most every liveEvery.
func (l *liveScreen) apply(state *report.State, ev report.Event) {
	if l == nil {
		state.Apply(ev)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	state.Apply(ev)
	if wait := liveEvery - time.Since(l.drawn); wait > 0 {
		l.due.Reset(wait)
		return
	}
	l.redraw()
}

// soon delivers when the lines are to be drawn.
func (l *liveScreen) soon() <-chan time.Time {
	if l == nil {
		return nil
	}
	return l.due.C
}

// draw draws the lines, if anything in them has changed.
func (l *liveScreen) draw() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redraw()
}

func (l *liveScreen) redraw() {
	if l.isOver {
		return
	}
	l.drawn = time.Now()
	l.due.Reset(time.Second) // for the seconds
	if l.answer != nil {
		l.answer.read(l.settle)
		l.settle(l.answer.stream.take())
	}
	if frame := l.layOut(); frame != l.frame {
		l.put(frame)
		l.frame = frame
	}
}

// layOut is the text that draws the lines over those on the screen.
func (l *liveScreen) layOut() string {
	width, height := l.size()
	width, height = width-1, height-1 // no line touches the edge, and all are on the screen
	var lines []string
	if l.answer != nil {
		lines = l.answer.rest(width, height-len(l.lines.state.Agents))
	}
	lines = append(lines, l.lines.lines(time.Now(), width, height-len(lines), l.mask)...)
	var b strings.Builder
	b.WriteString(wrapOff + "\r")
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(eraseLine + line)
	}
	b.WriteString("\x1b[J")
	if up := len(lines) - 1; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r" + wrapOn)
	return b.String()
}

// Write implements io.Writer: it writes whole lines above the live ones.
func (l *liveScreen) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isOver { // a late writer still reaches the terminal
		return l.out.Write(data)
	}
	text := l.partial + string(data)
	end := strings.LastIndexByte(text, '\n') + 1
	l.partial = text[end:]
	if end > 0 {
		l.put(eraseBelow + text[:end])
		l.frame = ""
		l.redraw()
	}
	return len(data), nil
}

// put writes to the terminal.
func (l *liveScreen) put(text string) {
	_, _ = io.WriteString(l.out, text) // as in Console.Write, a text that cannot be shown ends no run
}

// width returns the columns of the screen.
func (l *liveScreen) width() int {
	width, _ := l.size()
	return width
}

// settle prints a part of the answer for good.
func (l *liveScreen) settle(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if !l.isOver { // else a question stands there
		l.put(eraseBelow)
	}
	width, _ := l.size()
	l.answer.print(text, width)
	l.frame = ""
}

// settleAll prints for good what is left of the answer.
func (l *liveScreen) settleAll() {
	if l.answer != nil {
		l.answer.read(l.settle)
		l.settle(l.answer.stream.takeAll())
	}
}

// hasPrinted reports whether an answer stands on the screen already, as it streamed in.
func (l *liveScreen) hasPrinted(answer string) bool {
	return l != nil && l.answer != nil && l.answer.hasPrinted(answer)
}
