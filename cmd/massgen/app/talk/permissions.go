package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/plain"
)

// prompter asks a person about tool calls while a turn runs, and takes what they type. Only
// the goroutine that watches the turn uses it.
type prompter struct {
	term *terminal
	// asked is the question that waits for an answer, nil without one, and gone is closed when
	// nobody wants the answer any more. Only lines that came after since answer it.
	asked *request
	since time.Time
	gone  <-chan struct{}
	// saysWhy reports whether the person has said no, and types the reason.
	saysWhy bool
	// lines are those that a person types, nil while nobody listens.
	lines <-chan inputLine
	// turn is the one that is watched, in ctx, and notes are those that were typed.
	ctx      context.Context
	turn     *coordinator.Turn
	notes    sync.WaitGroup
	lastNote <-chan struct{} // closed when it has been passed on; nil for none
}

// requests are those that may be put now: one at a time.
func (p *prompter) requests() <-chan request {
	if p.asked != nil {
		return nil
	}
	return p.term.requests
}

// put asks a person. What they have typed before they see the question is no answer.
func (p *prompter) put(r request) {
	p.term.ahead = nil
	p.term.floor.Lock()
	p.term.live.pause() // the question stands below all that was said
	arguments := plain.Line(middleCut(p.term.console.Secrets.Redact(legible(r.call.Arguments)), mostAsked))
	p.term.console.Write(questionText(plain.Line(r.call.Agent), plain.Visible(plain.Line(r.call.Tool)), plain.Visible(arguments), because(r.call.Why)))
	p.term.console.Write(offerText(r.offer))
	p.asked, p.gone = &r, r.ctx.Done()
	p.listen()
}

// listen prints the possible answers, and waits for a line.
func (p *prompter) listen() {
	in := p.term.keyboard()
	if err := in.drop(); err != nil {
		p.term.console.Warn(fmt.Sprintf("ask about a tool call: drop what was typed before: %v", err))
		p.asked.answer <- decision{err: err}
		p.leave()
		return
	}
	p.since = time.Now()
	p.lines = in.lines
	p.term.console.Say("%s", p.askedFor())
	in.prompt()
}

// offerText returns what else the person can allow beside a call.
func offerText(o tui.Offer) string {
	text := "  s allows it in this session: " + o.Session + "\n"
	if o.Always != "" {
		text += "  a allows it always, by the rule: " + o.Always + "\n"
	}
	return text
}

// askedFor says what the next line answers.
func (p *prompter) askedFor() string {
	switch {
	case p.saysWhy:
		return "allow it? no, because (the model reads this line):"
	case p.asked.offer.Always == "":
		return "allow it? y: once; s: in this session; w: no, and say why; anything else: no"
	}
	return "allow it? y: once; s: in this session; a: always; w: no, and say why; anything else: no"
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
		plainly, err := plain.JSON(text)
		if err != nil {
			return quoted
		}
		return string(plainly)
	})
}

// questionText is the question, without the words for the answer. Arguments that take more than
// a line have a margin: a model that fills lines with blanks must not be able to write one
// that looks like another question, where this one has left the screen.
func questionText(agent, tool, arguments, because string) string {
	lines := linesOf(arguments, askedLine)
	if len(lines) < 2 {
		return fmt.Sprintf("%s wants to run %s %s%s\n", agent, tool, arguments, because)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s wants to run %s with%s\n", agent, tool, because)
	for _, line := range lines {
		fmt.Fprintf(&b, "  | %s\n", line)
	}
	return b.String()
}

// askedLine is how many columns the arguments take in a line.
const askedLine = 60

// linesOf cuts a text into lines of so many columns. A letter that may take two counts as two:
// one that the terminal wraps would have no margin.
func linesOf(text string, columns int) (lines []string) {
	const firstWide = 0x1100 // Hangul, the first block with letters of two columns
	start, used := 0, 0
	for i, r := range text {
		width := 1
		if r >= firstWide {
			width = 2
		}
		if used+width > columns {
			lines, start, used = append(lines, text[start:i]), i, 0
		}
		used += width
	}
	return append(lines, text[start:])
}

// mostAsked is how many bytes of its arguments a person is shown of a call.
const mostAsked = 4000

// middleCut cuts a text that is longer in the middle, and says so.
func middleCut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := strings.ToValidUTF8(text[:most/2], ""), strings.ToValidUTF8(text[len(text)-most/2:], "")
	return fmt.Sprintf("%s [... %s of %s bytes are not shown ...] %s", head, plain.Thousands(len(text)-len(head)-len(tail)), plain.Thousands(len(text)), tail)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + plain.Visible(plain.Line(why)) + ")"
}

// take reads a line that a person has typed. It drops a line from before the question, and a command
// for the turn is no answer.
func (p *prompter) take(l inputLine) {
	if p.asked == nil {
		p.hear(l)
		return
	}
	early, cut := l.at.Before(p.since), errors.Is(l.err, cutLine{})
	command, text := whileRunning(l.text)
	switch {
	case cut:
		p.term.console.Warn(l.err.Error())
	case command != "" && !early:
		p.pass(command, text)
	}
	if early && l.err == nil || command != "" || cut {
		p.listen()
		return
	}
	if l.err != nil {
		l.text = "" // nobody answers any more: no
	}
	p.decide(strings.TrimSpace(l.text))
}

// decide passes the person's answer on.
func (p *prompter) decide(line string) {
	said := coordinator.Decision{}
	word, reason, _ := strings.Cut(line, " ")
	switch word = strings.ToLower(word); {
	case p.saysWhy:
		said.Reason = line
	case word == "w" && reason == "":
		p.saysWhy = true
		p.listen()
		return
	case word == "w":
		said.Reason = reason
	case reason != "":
	case word == "y", word == "yes":
		said.Allowed = true
	case word == "s", word == "a" && p.asked.offer.Always != "":
		said.Allowed = true
		if err := p.asked.offer.Grant(word == "a"); err != nil {
			p.term.console.Warn("the call runs once: " + err.Error())
		}
	}
	p.asked.answer <- decision{Decision: said}
	p.leave()
}

// leave withdraws the question. Live lines that gave way to it go on.
func (p *prompter) leave() {
	if p.term.live != nil {
		p.term.closeKeyboard() // opened for the question
		p.term.live.resume()
	}
	p.release()
	p.attend()
}

// release lets others write again after a question.
func (p *prompter) release() {
	if p.asked != nil {
		p.term.floor.Unlock()
	}
	p.asked, p.gone, p.saysWhy = nil, nil, false
}

// noteCommand is what a line begins with that adds to the question while a turn runs.
const noteCommand = "/note"

// The commands that pause the turn that runs, let it go on, and let it go on without an agent.
const (
	pauseCommand   = "/pause"
	resumeCommand  = "/resume"
	withoutCommand = "/without"
)

// whileRunning returns the command of a line that is for the turn that runs, and its text;
// the command is empty for any other line.
func whileRunning(line string) (command, text string) {
	line = strings.TrimSpace(line)
	end := strings.IndexFunc(line, unicode.IsSpace) // a pasted text may have lines
	if end < 0 {
		end = len(line)
	}
	text = strings.TrimSpace(line[end:])
	switch command = strings.ToLower(line[:end]); {
	case command == noteCommand, command == withoutCommand:
		return command, text
	case (command == pauseCommand || command == resumeCommand) && text == "":
		return command, ""
	}
	return "", ""
}

// attend begins to take what a person types while the turn runs. A question alone on the
// command line has no keyboard: what is typed then is for whatever comes after massgen.
// The lines of a pipe are for the prompt.
func (p *prompter) attend() {
	p.lines = nil
	if in := p.term.in; in != nil && in.isTyped && !p.term.given {
		p.lines = in.lines
	}
}

// hear takes a line that was typed while the turn runs: a note, or what is for the prompt.
// After an error, and the end, nothing more is heard in this turn.
func (p *prompter) hear(l inputLine) {
	command, text := whileRunning(l.text)
	switch {
	case l.err == nil && command != "":
		p.pass(command, text)
	case errors.Is(l.err, cutLine{}):
		p.term.console.Warn(l.err.Error())
	case l.err == nil, errors.Is(l.err, errTooLong):
		p.term.ahead = append(p.term.ahead, l)
	default:
		p.lines = nil
	}
}

// pass passes a command on to the turn, after those that were typed before.
func (p *prompter) pass(command, text string) {
	before, gone := p.lastNote, make(chan struct{})
	p.lastNote = gone
	p.notes.Go(func() {
		defer close(gone)
		if before != nil {
			<-before
		}
		var err error
		switch command {
		case noteCommand:
			err = p.turn.Note(p.ctx, text)
		case pauseCommand:
			err = p.turn.Pause(p.ctx)
		case resumeCommand:
			err = p.turn.Resume(p.ctx)
		case withoutCommand:
			err = p.turn.Dismiss(p.ctx, text)
		}
		if err != nil {
			p.term.console.Warn(fmt.Sprintf("%s: %v", command, err))
		}
	})
}

// notRunning is a command at the prompt that is for a turn which runs.
func notRunning(command string) func(*dialogue, string) error {
	return func(*dialogue, string) error {
		return fmt.Errorf("%s: no turn is running: type it while one is", command)
	}
}
