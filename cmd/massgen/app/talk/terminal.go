package talk

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/grants"
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
	granted *grants.Grants
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
	k.drop = func() error { return flushTyped(t.env.Stdin.(*os.File)) }
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
	call   coordinator.Approval
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
func (t *terminal) approve(ctx context.Context, call coordinator.Approval) (coordinator.Decision, error) {
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
func (t *terminal) offer(call coordinator.Approval) tui.Offer {
	kind := grants.Kind(call.Tool, call.Arguments)
	rule, canKeep := grants.RuleFor(call.Tool, call.Arguments)
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
