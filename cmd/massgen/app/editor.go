package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// editor reads questions from a terminal, with the keys that lines are edited
// with and a history. The terminal is raw only between begin and end, while
// nothing else runs: in a turn, Ctrl+C is a signal and lines end as they always
// do.
type editor struct {
	keys     *keys
	terminal *term.Terminal
	screen   *maskingWriter
	// watch reads lines while the terminal is not raw, nil where it cannot.
	watch func() (lines <-chan inputLine, stop func() (left []inputLine, begun []byte), err error)
	// raw makes the terminal raw and tells its width. With fresh it drops what was typed
	// and not read yet.
	raw func(fresh bool) (width int, restore func() error, err error)

	restore func() error // undoes what begin did to the terminal
	showing func()       // and to the screen
	// reading is the last line that was begun, nil before the first.
	reading *reading
}

// reading is a line that is being typed. A read of the terminal cannot be ended: a line
// that nobody waits for any more goes on being read, and is the next one's beginning.
type reading struct {
	line  chan inputLine
	ended chan struct{} // closed before the line is there
}

// goesOn says that the line was not ended yet.
func (r *reading) goesOn() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// prompt stands where a question is typed.
const prompt = "> "

// newEditor returns an editor for keys that come from in. It writes to out, and
// what others write to the screen while a prompt is up goes above the prompt.
func newEditor(in io.Reader, out io.Writer, screen *maskingWriter, raw func(bool) (int, func() error, error)) *editor {
	k := &keys{in: in, interrupts: make(chan interrupt, 1)}
	return &editor{
		keys: k, screen: screen, raw: raw,
		terminal: term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{k, out}, prompt),
	}
}

// terminalEditor is the editor of the program's own terminal, if it has one that
// is more than a printer.
func terminalEditor(env Env, screen io.Writer) (*editor, bool) {
	in, isFile := env.Stdin.(*os.File)
	masking, isScreen := screen.(*maskingWriter)
	name, _ := env.Lookup("TERM")
	if !isFile || !isScreen || name == "dumb" || !isTerminal(in) || !isTerminal(env.Stderr) {
		return nil, false
	}
	e := newEditor(in, env.Stderr, masking, func(fresh bool) (int, func() error, error) {
		if fresh {
			if err := flushTyped(in); err != nil {
				return 0, nil, fmt.Errorf("drop what was typed before: %w", err)
			}
		}
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return 0, nil, err
		}
		width, _, err := term.GetSize(int(in.Fd()))
		if err != nil {
			width = 0 // unknown
		}
		return width, func() error { return term.Restore(int(in.Fd()), state) }, nil
	})
	e.watch = func() (<-chan inputLine, func() ([]inputLine, []byte), error) { return typedLines(in) }
	return e, true
}

// begin shows the prompt and reads a line, which comes on the first channel. What was
// typed before an end that waited for no line is the beginning of this one, but not with
// fresh; then it may still be seen, until the next key.
func (e *editor) begin(fresh bool) (<-chan inputLine, <-chan interrupt, error) {
	width, restore, err := e.raw(fresh)
	if err != nil {
		return nil, nil, fmt.Errorf("make the terminal raw: %w", err)
	}
	e.restore = restore
	if fresh {
		e.keys.fresh.Store(true)
	}
	if width > 0 {
		if err := e.terminal.SetSize(width, 1); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("size the prompt: %w", err), restore())
		}
	}
	e.terminal.SetBracketedPasteMode(true)
	e.showing = e.screen.redirect(e.terminal)
	if !e.reading.goesOn() {
		e.reading = e.readLine(restore)
	} else if _, err := e.terminal.Write(nil); err != nil { // this shows the prompt again
		return nil, nil, errors.Join(fmt.Errorf("show the prompt: %w", err), e.end())
	}
	return e.reading.line, e.keys.interrupts, nil
}

// readLine begins to read a line in a goroutine of its own, which ends with the line or
// the program.
func (e *editor) readLine(restore func() error) *reading {
	r := &reading{line: make(chan inputLine, 1), ended: make(chan struct{})}
	go func() {
		defer func() {
			if r := recover(); r != nil {
				panic(errors.Join(fmt.Errorf("%v", r), restore()))
			}
		}()
		text, err := e.terminal.ReadLine()
		if errors.Is(err, term.ErrPasteIndicator) {
			err = nil
		}
		close(r.ended)
		r.line <- inputLine{unpasted(text), err, time.Now()}
	}()
	return r
}

// end gives the terminal back.
func (e *editor) end() error {
	e.terminal.SetBracketedPasteMode(false)
	e.showing()
	if err := e.restore(); err != nil {
		return fmt.Errorf("restore the terminal: %w", err)
	}
	if e.reading.goesOn() { // the prompt's line has no end yet
		if _, err := io.WriteString(e.screen, "\n"); err != nil {
			return fmt.Errorf("leave the prompt: %w", err)
		}
	}
	return nil
}

// typed reads nothing while a line goes on being read: that would be parted between two.
// A paste that has no end yet when it is stopped is the beginning of the prompt's line.
func (e *editor) typed() (<-chan inputLine, func() []inputLine, error) {
	if e.watch == nil || e.reading.goesOn() {
		return nil, func() []inputLine { return nil }, nil
	}
	lines, stop, err := e.watch()
	if err != nil || lines == nil {
		return nil, func() []inputLine { return nil }, err
	}
	e.terminal.SetBracketedPasteMode(true)
	return lines, func() []inputLine {
		e.terminal.SetBracketedPasteMode(false)
		left, begun := stop()
		if len(begun) > 0 {
			e.keys.take(append(e.keys.held, begun...))
		}
		return left
	}, nil
}

func (e *editor) close() {}

// interrupt is a Ctrl+C that was typed as a key. Fresh says that other keys came
// before it.
type interrupt struct{ fresh bool }

// keys is what a person types, made ready for the line editor: Ctrl+C clears the
// line and is told of, and a pasted text is one line however many it has.
type keys struct {
	in         io.Reader
	interrupts chan interrupt

	ready   []byte // made ready and not read yet
	held    []byte // the beginning of what may be the mark of a paste
	pasting bool
	typed   bool // since the last Ctrl+C
	// fresh says that what was typed until now is to be dropped. It is set from outside.
	fresh atomic.Bool
}

// The bytes that a terminal sends.
const (
	ctrlC      = 3
	escape     = 27
	deleteKey  = 127
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// clearLine goes to the end of the line and deletes all before it.
	clearLine = "\x05\x15"
)

// A line of the editor has no newlines and tabs: within it these stand for them.
const (
	newlineSign = "⏎"
	tabSign     = "␉"
)

func unpasted(line string) string {
	return strings.NewReplacer(newlineSign, "\n", tabSign, "\t").Replace(line)
}

// Read implements io.Reader.
func (k *keys) Read(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, io.ErrShortBuffer // the editor holds a key of 256 bytes, which is none
	}
	k.freshen()
	for len(k.ready) == 0 {
		buffer := make([]byte, 4096)
		n, err := k.in.Read(buffer)
		k.freshen()
		k.take(append(k.held, buffer[:n]...))
		if err != nil && len(k.ready) == 0 {
			return 0, err
		}
	}
	n := copy(data, k.ready[:k.line()])
	k.ready = k.ready[n:]
	return n, nil
}

// line is the length of the first line of what is ready, and its end. The editor is given
// no more at once: what it holds cannot be dropped.
func (k *keys) line() int {
	end := bytes.IndexAny(k.ready, "\r\n")
	switch {
	case end < 0:
		return len(k.ready)
	case bytes.HasPrefix(k.ready[end:], []byte("\r\n")):
		return end + 2
	}
	return end + 1
}

// freshen drops what was typed, if it is to be: here, and in the editor's line.
func (k *keys) freshen() {
	if !k.fresh.Swap(false) {
		return
	}
	k.ready = nil
	if k.pasting {
		k.ready = []byte(pasteEnd)
	}
	k.ready = append(k.ready, clearLine...)
	k.held, k.pasting = nil, false
}

func (k *keys) take(input []byte) {
	k.held = nil
	for i := 0; i < len(input); i++ {
		rest := input[i:]
		mark := pasteStart
		if k.pasting {
			mark = pasteEnd
		}
		switch {
		case bytes.HasPrefix(rest, []byte(mark)):
			k.pasting = !k.pasting
			k.ready = append(k.ready, mark...)
			i += len(mark) - 1
		case strings.HasPrefix(mark, string(rest)):
			k.held = bytes.Clone(rest)
			return
		case k.pasting:
			k.paste(rest)
		case rest[0] == escape && rest[1] < ' ':
			// The editor would take the next letter for the rest of a key.
		case rest[0] == ctrlC:
			k.ready = append(k.ready, clearLine...)
			select {
			case k.interrupts <- interrupt{fresh: k.typed}:
			default: // one is waiting already
			}
			k.typed = false
		default:
			k.ready = append(k.ready, rest[0])
			k.typed = true
		}
	}
}

// paste takes the first byte of a pasted text. Terminals send a line's end as a
// carriage return. Other control characters mean nothing in a question.
func (k *keys) paste(text []byte) {
	k.typed = true
	switch b := text[0]; {
	case b == '\r' && len(text) > 1 && text[1] == '\n':
	case b == '\r' || b == '\n':
		k.ready = append(k.ready, newlineSign...)
	case b == '\t':
		k.ready = append(k.ready, tabSign...)
	case b >= ' ' && b != deleteKey:
		k.ready = append(k.ready, b)
	}
}
