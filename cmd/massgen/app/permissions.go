package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/coordinator"
)

// canAsk says whether a person is there: one who sees the question and can answer it.
func (s *session) canAsk() bool {
	return !s.options.automation && isTerminal(s.env.Stdin) && isTerminal(s.env.Stderr)
}

// question is a tool call that a person is asked about, until ctx is done.
type question struct {
	ctx    context.Context
	call   coordinator.Approval
	answer chan<- word
}

// word is a person's answer, or why there is none.
type word struct {
	allow bool
	err   error
}

// approve is coordinator.Options.Approve: it leaves the question to whoever watches the
// turn, who has the keyboard.
func (s *session) approve(ctx context.Context, call coordinator.Approval) (bool, error) {
	answer := make(chan word, 1)
	select {
	case s.questions <- question{ctx, call, answer}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case w := <-answer:
		return w.allow, w.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// desk is where a person is asked. One goroutine owns it, that which watches a turn.
type desk struct {
	s *session
	// asked is the question that waits for an answer, nil if none does, and gone is closed
	// when nobody wants the answer any more. Only lines that came since then answer it.
	asked *question
	since time.Time
	gone  <-chan struct{}
	// lines are those that a person types, nil while nobody listens.
	lines <-chan inputLine
	// turn is the one that is watched, in ctx, and notes are those that were typed.
	ctx      context.Context
	turn     *coordinator.Turn
	notes    sync.WaitGroup
	lastNote <-chan struct{} // closed when it has been passed on; nil for none
}

// questions are those that may be put now: one at a time.
func (d *desk) questions() <-chan question {
	if d.asked != nil {
		return nil
	}
	return d.s.questions
}

// put asks a person. What they have typed before they see the question is no answer.
func (d *desk) put(q question) {
	d.s.ahead = nil
	arguments := oneLine(middleCut(d.s.console.secrets.Redact(legible(q.call.Arguments)), mostAsked))
	d.s.console.write(questionText(oneLine(q.call.Agent), oneLine(q.call.Tool), arguments, because(q.call.Why)))
	d.asked, d.gone = &q, q.ctx.Done()
	d.listen()
}

// listen says what can be answered, and begins to wait for it.
func (d *desk) listen() {
	in := d.s.keyboard()
	if err := in.drop(); err != nil {
		d.s.console.warn(fmt.Sprintf("ask about a tool call: drop what was typed before: %v", err))
		d.asked.answer <- word{err: err}
		d.leave()
		return
	}
	d.since = time.Now()
	d.lines = in.lines
	d.s.console.say("allow it? y: yes; anything else: no")
	in.prompt()
}

var textInJSON = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// legible writes JSON without the escapes behind which a letter, or a secret, is not seen
// for what it is. What is no JSON stays as it is.
func legible(arguments string) string {
	return textInJSON.ReplaceAllStringFunc(arguments, func(quoted string) string {
		var text string
		if json.Unmarshal([]byte(quoted), &text) != nil {
			return quoted
		}
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(text) != nil {
			return quoted
		}
		return strings.TrimSuffix(b.String(), "\n")
	})
}

// questionText is the question, without the words for the answer. Arguments that take more than
// a line have a margin: a model that fills lines with blanks must not be able to write one
// that looks like another question, where this one has left the screen.
func questionText(agent, tool, arguments, because string) string {
	if utf8.RuneCountInString(arguments) <= askedLine {
		return fmt.Sprintf("%s wants to run %s %s%s\n", agent, tool, arguments, because)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s wants to run %s with%s\n", agent, tool, because)
	for line := range slices.Chunk([]rune(arguments), askedLine) {
		fmt.Fprintf(&b, "  | %s\n", string(line))
	}
	return b.String()
}

// askedLine is how many characters of the arguments stand in a line.
const askedLine = 60

// mostAsked is how many bytes of its arguments a person is shown of a call.
const mostAsked = 4000

// middleCut cuts a text that is longer in the middle, and says so.
func middleCut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := strings.ToValidUTF8(text[:most/2], ""), strings.ToValidUTF8(text[len(text)-most/2:], "")
	return fmt.Sprintf("%s [... %s of %s bytes are not shown ...] %s", head, thousands(len(text)-len(head)-len(tail)), thousands(len(text)), tail)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + oneLine(why) + ")"
}

// take takes what a person has typed. A line that was read before the question came is
// dropped, and a command for the turn is no answer.
func (d *desk) take(l inputLine) {
	if d.asked == nil {
		d.hear(l)
		return
	}
	early, cut := l.at.Before(d.since), errors.Is(l.err, cutLine{})
	command, text := whileRunning(l.text)
	switch {
	case cut:
		d.s.console.warn(l.err.Error())
	case command != "" && !early:
		d.pass(command, text)
	}
	if early && l.err == nil || command != "" || cut {
		d.listen()
		return
	}
	said := strings.ToLower(strings.TrimSpace(l.text))
	d.asked.answer <- word{allow: l.err == nil && (said == "y" || said == "yes")}
	d.leave()
}

// leave takes the question back.
func (d *desk) leave() {
	d.asked, d.gone = nil, nil
	d.attend()
}

// keyboard is where the session's lines come from. A question alone on the command line
// has none before somebody is asked.
func (s *session) keyboard() *keyboard {
	if s.in == nil {
		s.in = s.openKeyboard()
	}
	return s.in
}

// closeKeyboard lets go of it.
func (s *session) closeKeyboard() {
	if s.in != nil {
		s.in.close()
		s.in = nil
	}
}
