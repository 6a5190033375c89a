package talk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/tty"
)

// prompt stands where a line is typed, and spokenPrompt where a screen reader speaks it.
const (
	prompt       = "> "
	spokenPrompt = "Type: "
)

// openEditor makes the program's own terminal raw, if it has one that is more than a
// printer, and reads its lines with a line editor until the keyboard is closed. The prompt
// stays below all that is shown meanwhile.
func openEditor(env *cmdline.Env, c *cmdline.Console) (k *keyboard, ok bool) {
	in, isFile := env.Stdin.(*os.File)
	name, _ := env.Lookup("TERM")
	if env.TTY == nil || !isFile || c.IsSpoken || name == "dumb" || !cmdline.IsTerminal(in) || !cmdline.IsTerminal(env.Stderr) {
		return nil, false
	}
	isAhead := tty.IsReadable(in, 0)
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, false
	}
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		if err := term.Restore(int(in.Fd()), state); err != nil {
			c.Warn("restore the terminal: " + err.Error() + "; the command reset does")
		}
		return nil, false // lines are read without an editor
	}
	typed := &keys{in: reader, interrupt: env.TTY.Interrupt, isAhead: isAhead, hasMore: func() bool { return tty.IsReadable(in, pasteGap) }}
	e := newEditor(typed, env.Stderr)
	screens := []io.Writer{c.Err}
	if cmdline.IsTerminal(env.Stdout) {
		screens = append(screens, c.Out)
	}
	undo := e.above(screens...)
	env.TTY.Entered(func() error { return term.Restore(int(in.Fd()), state) }, func() {
		e.terminal.SetBracketedPasteMode(false)
		undo()
		_, _ = io.WriteString(env.Stderr, "\r\x1b[J") // what is left of the prompt is all that may stay
	})
	resize := func() {
		if width, height, err := term.GetSize(int(in.Fd())); err == nil && width > 0 {
			_ = e.terminal.SetSize(width, height) // it only fails where the next write does
		}
	}
	resize()
	e.terminal.SetBracketedPasteMode(true)
	read := make(chan struct{})
	go func() {
		defer close(read)
		e.read(env.TTY.Leave)
	}()
	return &keyboard{
		lines: e.lines, isTyped: true, prompt: resize,
		close: func() {
			close(e.done)
			if reader.Cancel() {
				<-read
			}
			err := reader.Close() // it does not close the terminal
			env.TTY.Leave()
			if err != nil {
				c.Warn("stop reading the terminal: " + err.Error())
			}
		},
		drop: func() error {
			e.drop()
			return tty.Flush(in)
		},
	}, true
}

// editor reads lines with the keys that lines are edited with and a history.
type editor struct {
	keys     *keys
	terminal *term.Terminal
	lines    chan inputLine
	done     chan struct{}
}

// mostAhead is how many lines may be typed that nobody has waited for yet.
const mostAhead = 16

func newEditor(k *keys, out io.Writer) *editor {
	return &editor{keys: k, lines: make(chan inputLine, mostAhead), done: make(chan struct{}), terminal: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{k, out}, prompt)}
}

// above has what is written to the screens stand above the prompt, until it is undone.
func (e *editor) above(screens ...io.Writer) (undo func()) {
	var undos []func()
	for _, s := range screens {
		if m, ok := s.(*cmdline.MaskingWriter); ok {
			undos = append(undos, m.Redirect(e.terminal))
		}
	}
	return func() {
		for _, undo := range undos {
			undo()
		}
	}
}

// mostTyped is how many characters the library takes of a line that is typed. It drops
// what follows them, without a word, but not of a text that is pasted.
const mostTyped = 4096

// read reads lines until done is closed, and what is typed can be read no more.
func (e *editor) read(leave func()) {
	defer func() {
		if r := recover(); r != nil {
			leave()
			panic(r)
		}
	}()
	for {
		text, err := e.terminal.ReadLine()
		if errors.Is(err, cancelreader.ErrCanceled) {
			return
		}
		if errors.Is(err, term.ErrPasteIndicator) {
			err = nil
		} else if err == nil && utf8.RuneCountInString(text) == mostTyped {
			text, err = "", cutLine{}
		}
		select {
		case e.lines <- inputLine{unpasted(text), err, e.keys.at}:
		case <-e.done:
			return
		}
	}
}

// drop forgets what was typed until now. Of the line that is being typed the screen
// forgets it with the next key.
func (e *editor) drop() {
	e.keys.fresh.Store(true)
	for {
		select {
		case <-e.lines:
		default:
			return
		}
	}
}

// keyInterrupt is a Ctrl+C that was typed as a key. Fresh says that other keys came
// before it.
type keyInterrupt struct{ fresh bool }

func (keyInterrupt) Signal() {}

func (keyInterrupt) String() string { return os.Interrupt.String() }

// keys prepares the typed keys for the line editor. Ctrl+C clears the line and is told. A pasted text is one line:
// its terminal marks it, or several lines come in one read, faster than a person types.
type keys struct {
	in        io.Reader
	interrupt func(os.Signal)

	at      time.Time // of the last read
	ready   []byte    // made ready and not read yet
	held    []byte    // the beginning of what may be the mark of a paste
	pasting bool
	skips   bool // the rest of an escape sequence that is longer than a key's
	typed   bool // since the last Ctrl+C
	// isAhead reports whether the next read has lines that were typed before the prompt was there. They are no paste.
	isAhead bool
	// hasMore waits for the rest of a paste, and reports whether something came; nil if nobody knows.
	hasMore func() bool
	// fresh asks the reader to drop what was typed until now.
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

// longestKey is how many bytes the escape sequence of a key has at most. The editor waits for the
// end of a longer one, and breaks down where its buffer ends.
const longestKey = 32

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
		k.at = time.Now()
		k.freshen()
		if k.pasting && string(buffer[:n]) == string(rune(ctrlC)) { // the paste has no end, or its end got lost
			k.ready = append(k.ready, pasteEnd...)
			k.held, k.pasting = nil, false
		}
		typed := bytes.Clone(buffer[:n])
		for err == nil && k.mayBePaste(typed) && k.hasMore() {
			n, err = k.in.Read(buffer)
			typed = append(typed, buffer[:n]...)
		}
		if lines := bytes.TrimRight(typed, "\r\n"); !k.isAhead && !k.pasting && !bytes.Contains(typed, []byte(pasteStart)) && bytes.ContainsAny(lines, "\r\n") {
			typed = slices.Concat([]byte(pasteStart), lines, []byte(pasteEnd), typed[len(lines):])
		}
		k.isAhead = false
		k.take(append(k.held, typed...))
		if err != nil && len(k.ready) == 0 {
			return 0, err
		}
	}
	n := copy(data, k.ready[:k.line()])
	k.ready = k.ready[n:]
	return n, nil
}

// pasteGap is how long the rest of an unmarked paste may take to come. The keys of a person are farther apart.
const pasteGap = 20 * time.Millisecond

// mayBePaste reports whether what was read may be the beginning of an unmarked paste: a line and its end.
func (k *keys) mayBePaste(typed []byte) bool {
	return k.hasMore != nil && !k.isAhead && !k.pasting && len(typed) > 1 && len(typed) < mostPiped &&
		bytes.ContainsAny(typed, "\r\n") && !bytes.Contains(typed, []byte(pasteStart))
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
		char, size := utf8.DecodeRune(rest)
		if k.skips {
			k.skips = rest[0] >= ' ' && (rest[0] < '@' || rest[0] >= deleteKey)
			if rest[0] >= ' ' {
				continue
			}
		}
		switch {
		case bytes.HasPrefix(rest, []byte(mark)):
			k.pasting = !k.pasting
			k.ready = append(k.ready, mark...)
			i += len(mark) - 1
		case strings.HasPrefix(mark, string(rest)), !utf8.FullRune(rest):
			k.held = bytes.Clone(rest)
			return
		case char == utf8.RuneError && size == 1: // the editor would wait for the rest of a letter
		case bytes.HasPrefix(rest, []byte("\x1b[")) && !k.pasting:
			length := sequenceLength(rest)
			switch {
			case length == 0 && len(rest) <= longestKey:
				k.held = bytes.Clone(rest)
				return
			case length == 0:
				k.skips = true
				return
			case length <= longestKey:
				k.ready = append(k.ready, rest[:length]...)
			}
			i += length - 1
		case size > 1 && plain.IsControl(char): // the editor would show it to the terminal
			i += size - 1
		case size > 1:
			k.ready = append(k.ready, rest[:size]...)
			k.typed = true
			i += size - 1
		case k.pasting:
			k.paste(rest)
		case rest[0] == escape && rest[1] < ' ':
			// The editor would take the next letter for the rest of a key.
		case rest[0] == ctrlC:
			k.ready = append(k.ready, clearLine...)
			k.interrupt(keyInterrupt{fresh: k.typed})
			k.typed = false
		default:
			k.ready = append(k.ready, rest[0])
			k.typed = true
		}
	}
}

// sequenceLength returns the length of the escape sequence that a text begins with, 0 if its end
// has not come. A control character ends it and is no part of it.
func sequenceLength(text []byte) int {
	for i, b := range text[len("\x1b["):] {
		switch {
		case b < ' ':
			return len("\x1b[") + i
		case b >= '@' && b < deleteKey:
			return len("\x1b[") + i + 1
		}
	}
	return 0
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
