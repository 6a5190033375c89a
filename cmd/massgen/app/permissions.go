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

// desk is where a person is asked. One goroutine owns it, that which watches a turn.
type desk struct {
	term *terminal
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
	return d.term.questions
}

// put asks a person. What they have typed before they see the question is no answer.
func (d *desk) put(q question) {
	d.term.ahead = nil
	arguments := oneLine(middleCut(d.term.console.secrets.Redact(legible(q.call.Arguments)), mostAsked))
	d.term.console.write(questionText(oneLine(q.call.Agent), oneLine(q.call.Tool), arguments, because(q.call.Why)))
	d.asked, d.gone = &q, q.ctx.Done()
	d.listen()
}

// listen says what can be answered, and begins to wait for it.
func (d *desk) listen() {
	in := d.term.keyboard()
	if err := in.drop(); err != nil {
		d.term.console.warn(fmt.Sprintf("ask about a tool call: drop what was typed before: %v", err))
		d.asked.answer <- word{err: err}
		d.leave()
		return
	}
	d.since = time.Now()
	d.lines = in.lines
	d.term.console.say("allow it? y: yes; anything else: no")
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
		d.term.console.warn(l.err.Error())
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
