package talk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/tty"
	"github.com/massgen/massgen/internal/tools/permission"
)

// terminal is where a person sits: what they type, what they are asked, and how they
// interrupt.
type terminal struct {
	console *cmdline.Console
	env     *cmdline.Env
	watch   *cmdline.Watch
	// requests are the tool calls that a person is asked about, and in is where they
	// type, nil before it is needed.
	requests   chan request
	in         *keyboard
	ahead      []inputLine // typed while a turn ran
	given      bool        // the one question of the command line is asked
	cut        time.Time   // when the last turn ended, if an interrupt ended it
	terminated bool        // the system has asked the program to end
	screen     *tui.Screen // where the person is asked once it is open
	live       *liveScreen // of the turn that runs, or ran last; nil for none
	// granted are the calls that the person is not asked about, nil before a session is opened.
	granted *permission.Grants
	// floor is locked while somebody writes lines during a turn. A question locks it until the
	// answer, so that no line of the progress stands in the question.
	floor sync.Mutex
}

// keyboard returns the source of lines. It opens the keyboard at its first call.
func (t *terminal) keyboard() *keyboard {
	if t.in == nil {
		t.in = t.openKeyboard()
	}
	return t.in
}

// closeKeyboard lets go of it.
func (t *terminal) closeKeyboard() {
	if t.in != nil {
		t.in.close()
		t.in = nil
	}
}

// openKeyboard begins to read the program's standard input.
func (t *terminal) openKeyboard() *keyboard {
	if k, ok := openEditor(t.env, t.console); ok {
		return k
	}
	if !cmdline.IsTerminal(t.env.Stdin) {
		return readLines(t.env.Stdin, false)
	}
	typed := t.env.Stdin
	if reader, err := cancelreader.NewReader(typed); err == nil {
		typed = reader
	}
	k := readLines(typed, true)
	k.prompt = func() { t.console.Write(t.prompt()) }
	k.drop = func() error { return tty.Flush(t.env.Stdin.(*os.File)) }
	return k
}

// prompt stands where a line is typed.
func (t *terminal) prompt() string {
	if t.console.IsSpoken {
		return spokenPrompt
	}
	return prompt
}

// hurry is how soon after an interrupted turn an interrupt is still meant for it.
const hurry = time.Second

// deafUntil is until when an interrupt is meant for the last turn, if one ended that.
func (t *terminal) deafUntil() time.Time { return t.cut.Add(hurry + t.env.Slack) }

// nextLine waits for a line. An interrupt is answered with a hint, and the next
// one is errQuit.
func (t *terminal) nextLine(in *keyboard, signals <-chan os.Signal) (string, error) {
	if l, ok := t.nextAhead(); ok {
		return l.text, l.err
	}
	in.prompt()
	interrupted := false
	for {
		select {
		case l := <-in.lines:
			return l.text, l.err
		case signal := <-signals:
			if cmdline.EndsProgram(signal) {
				return "", cmdline.ErrQuit
			}
			if key, isKey := signal.(keyInterrupt); isKey && key.fresh {
				interrupted = false
			}
		}
		if time.Now().Before(t.deafUntil()) {
			continue
		}
		if interrupted {
			return "", cmdline.ErrQuit
		}
		interrupted = true
		t.console.Say("massgen: interrupt again, or /quit, to leave")
	}
}

// nextAhead returns a line that was typed before the prompt was there.
func (t *terminal) nextAhead() (l inputLine, ok bool) {
	if len(t.ahead) == 0 {
		return l, false
	}
	l, t.ahead = t.ahead[0], t.ahead[1:]
	if l.err == nil {
		t.console.Say("%s%s", t.prompt(), plain.Line(l.text))
	}
	return l, true
}

// request is a tool call that a person is asked about, until ctx is done.
type request struct {
	ctx    context.Context
	call   coordinator.ApprovalRequest
	offer  tui.Offer
	answer chan<- decision
}

// decision is a person's answer, or the error in its place.
type decision struct {
	coordinator.Decision
	err error
}

// approve implements coordinator.Options.Approve. It passes the question to the goroutine that
// watches the turn and has the keyboard.
func (t *terminal) approve(ctx context.Context, call coordinator.ApprovalRequest) (coordinator.Decision, error) {
	if _, ok := t.granted.Allow(call.Tool, call.Arguments); ok { // since the model asked for the call
		return coordinator.Decision{Allowed: true}, nil
	}
	if t.screen.IsOpen() {
		return t.screen.Approve(ctx, call, t.offer(call))
	}
	answer := make(chan decision, 1)
	select {
	case t.requests <- request{ctx, call, t.offer(call), answer}:
	case <-ctx.Done():
		return coordinator.Decision{}, ctx.Err()
	}
	select {
	case w := <-answer:
		return w.Decision, w.err
	case <-ctx.Done():
		return coordinator.Decision{}, ctx.Err()
	}
}

// offer is what the person can let run beside one call. A rule that has a secret is not kept.
func (t *terminal) offer(call coordinator.ApprovalRequest) tui.Offer {
	kind := permission.KindOf(call.Tool, call.Arguments)
	rule, canKeep := permission.RuleFor(call.Tool, call.Arguments)
	o := tui.Offer{Session: plain.Visible(plain.Line(kind)), Grant: func(always bool) error {
		if always {
			return t.granted.Keep(rule)
		}
		t.granted.AllowHere(kind)
		return nil
	}}
	if text := rule.String(); canKeep && t.console.Secrets.Redact(text) == text && plain.Line(text) == text {
		o.Always = plain.Visible(text)
	}
	return o
}

// keyboard is where lines come from: a pipe, or a person at a terminal.
type keyboard struct {
	// lines yields each line, without a byte order mark. After an error other than errTooLong, such as a
	// notTextError for a line of a pipe, it yields that error again for every further line.
	lines <-chan inputLine
	// isTyped reports whether a person types the lines.
	isTyped bool
	// prompt shows where a line is waited for.
	prompt func()
	// drop drops what a person has typed before.
	drop func() error
	// close lets go of it. A read of a pipe that has begun cannot be ended: it ends with the program.
	close func()
}

type inputLine struct {
	text string
	err  error
	at   time.Time // when its end was read
}

// errTooLong stands for a line whose end was skipped.
var errTooLong = tooLong()

// mostInRow is how many bytes of a row a terminal passes on that is not raw. It drops the rest silently
// (termios(3)).
const mostInRow = 4095

// cutLine stands for a line that may have lost its end.
type cutLine struct{}

func (cutLine) Error() string {
	return fmt.Sprintf("a line that is typed ends at %d characters: this one is not taken, since its end may be lost; type a shorter one, or paste it", mostInRow)
}

// Is implements errors.Is: such a line is too long.
func (cutLine) Is(target error) bool { return target == errTooLong }

// readLines begins to read lines in a goroutine of its own, so that an interrupt is seen
// while nothing is typed. What isTyped comes from a terminal.
func readLines(r io.Reader, isTyped bool) *keyboard {
	lines, done, ended := make(chan inputLine), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		buffered := bufio.NewReader(charset.NewReader(r))
		var text string
		var err error
		for {
			if err == nil || errors.Is(err, errTooLong) {
				text, err = readLine(buffered)
			}
			if err == nil && !isTyped {
				text, err = decodePiped([]byte(text))
			}
			if isTyped && len(text) >= mostInRow {
				text, err = "", cutLine{}
			}
			select {
			case lines <- inputLine{text, err, time.Now()}:
			case <-done:
				return
			}
		}
	}()
	return &keyboard{
		lines: lines, isTyped: isTyped, prompt: func() {}, drop: func() error { return nil },
		close: func() {
			close(done)
			if c, ok := r.(cancelreader.CancelReader); ok {
				if c.Cancel() {
					<-ended
				}
				_ = c.Close() // it does not close the terminal
			}
		},
	}
}

// readLine returns the next line without its end. The last line needs none.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > coordinator.MaxQuestion+len("\r\n") {
			line, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !(errors.Is(err, io.EOF) && (len(line) > 0 || long)):
			return "", err
		case long:
			return "", errTooLong
		}
		return strings.TrimRight(string(line), "\r\n"), nil
	}
}
