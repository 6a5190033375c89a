package talk

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/cmd/massgen/internal/signs"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// answers prints answers: on a terminal as rendered Markdown, elsewhere as they are.
type answers struct {
	console *cmdline.Console
	env     *cmdline.Env
	watch   *cmdline.Watch
	flags   *cmdline.DisplayFlags
}

func (a answers) isRendered() bool {
	return !a.flags.Raw && !a.console.IsSpoken && cmdline.IsScreen(a.env, a.env.Stdout)
}

// render draws a text for standard output, a terminal of so many columns.
func (a answers) render(text string, width int) string {
	text = a.console.Secrets.Redact(text) // before it is broken into lines
	if !a.isRendered() {
		return wording.Printable(text)
	}
	return strings.Join(markdown.Render(text, width, a.env.WantsColour()), "\n")
}

// printAnswer prints the answer of a turn on a terminal, unless it stands there already. If the flags ask for
// the pager, an answer with more lines than the screen is shown there.
func (o *results) printAnswer(r report.Result) error {
	if o.feed.term.live.hasPrinted(r.Answer) {
		return nil
	}
	width, height := o.answers.size()
	text := o.answers.render(r.Answer, width)
	if o.feed.term.in == nil && rowsOf(text, width) >= height && o.answers.page(text) {
		return nil
	}
	if o.feed.isShown() {
		o.feed.console.Say("")
	}
	return o.print(r.SessionID, text)
}

// size returns the size of the terminal that is standard output.
func (a answers) size() (width, height int) {
	if f, isFile := a.env.Stdout.(*os.File); isFile {
		return sizeOf(f)
	}
	return 80, 24
}

// rowsOf is how many rows of a terminal a text takes.
func rowsOf(text string, width int) (rows int) {
	for line := range strings.Lines(text) {
		rows += 1 + max(ansi.StringWidth(strings.TrimRight(line, "\n"))-1, 0)/width
	}
	return rows
}

// wantsPager reports whether the flags ask for the pager.
func (a answers) wantsPager() bool { return a.flags.Pager && !a.flags.NoPager }

// page shows a text in the pager until the person leaves it. It reports false where there is
// no pager, nobody to leave it, or the pager failed.
func (a answers) page(text string) bool {
	program, isSet := a.env.Lookup("PAGER")
	if !isSet {
		program = "less -FRX"
	}
	words := strings.Fields(program)
	if len(words) == 0 || words[0] == "cat" || !a.wantsPager() || a.console.IsSpoken || !cmdline.IsTerminal(a.env.Stdin) || !cmdline.IsScreen(a.env, a.env.Stdout) {
		return false
	}
	cmd := exec.CommandContext(context.Background(), words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(wording.WithNewline(text)), a.env.Stdout, a.env.Stderr
	cmd.Env = os.Environ()
	if _, isSet := a.env.Lookup("LESS"); !isSet {
		cmd.Env = append(cmd.Env, "LESS=FRX") // also for PAGER=less
	}
	if cmd.Start() != nil {
		return false // it is not there
	}
	signals, done := a.watch.Take(), make(chan error, 1)
	defer a.watch.Give(time.Time{})
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return err == nil
		case signal := <-signals: // a Ctrl+C is for the pager
			if cmdline.EndsProgram(signal) {
				if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
					a.console.Warn("end the pager: " + err.Error())
				}
			}
		}
	}
}

// voteLines returns a table of the valid votes, in the order of the agents: voter, answer, reason. Each begins with the voter's sign. Mask hides secrets.
func voteLines(r report.Result, width int, isColoured bool, mask func(string) string) (lines []string) {
	var rows [][]string
	var places []int
	for place, agent := range r.Agents {
		for _, v := range r.Votes {
			if v.Voter == agent.ID {
				rows = append(rows, []string{v.Voter, "for " + v.Label, plain.Line(mask(v.Reason))})
				places = append(places, place)
			}
		}
	}
	for line := range strings.Lines(plain.Columns(rows)) {
		place := places[len(lines)]
		id := len(r.Agents[place].ID) // no control character is in an id
		line = strings.TrimRight(line, "\n")
		lines = append(lines, ansi.Truncate(signs.Signed(place, line[:id], isColoured)+line[id:], width, "…"))
	}
	return lines
}

// streamedAnswer prints an answer as it comes: the only agent's, or the final presentation of a panel.
type streamedAnswer struct {
	state  *report.State
	author string // id of the agent whose text is read
	stream answerStream
	call   string // whose text is in stream
	at     int    // the piece that is read next, counted from the first of the turn
	bytes  int    // of that piece which are read
	said   int    // the last piece whose text is in stream, -1 before the first
	begun  bool   // something of the answer is printed
	lost   bool   // a part could not be printed
	out    io.Writer
	render func(text string, width int) string
}

func newStreamedAnswer(a answers, state *report.State) *streamedAnswer {
	return &streamedAnswer{state: state, said: -1, stream: answerStream{isRaw: !a.isRendered()}, out: a.console.Out, render: a.render}
}

// isAuthor reports whether the text of an agent is the answer.
func isAuthor(state *report.State, agent *report.AgentState) bool {
	return state.IsAlone() || agent.Purpose.IsFinalAnswer()
}

// follow returns the agent whose text is the answer, nil before there is one. In a panel the answer is the
// text behind the agent's last heading.
func (a *streamedAnswer) follow() *report.AgentState {
	for i := range a.state.Agents {
		agent := &a.state.Agents[i]
		if !isAuthor(a.state, agent) {
			continue
		}
		if a.author != agent.ID {
			a.author, a.at, a.bytes, a.said = agent.ID, 0, 0, -1
			for at, p := range slices.Backward(agent.Text) {
				if p.Kind == step.PieceStep {
					a.at = agent.Dropped + at + 1
					break
				}
			}
		}
		return agent
	}
	return nil
}

// read reads the new text of the author. Settle prints what a call has left when another one begins, and
// that the text was taken back.
func (a *streamedAnswer) read(settle func(string)) {
	agent := a.follow()
	if agent == nil {
		return
	}
	if agent.Marks.Checked { // the text is no answer before it was checked
		a.at, a.bytes = agent.Dropped+len(agent.Text), 0
		return
	}
	a.takeBack(agent, settle)
	for i := max(a.at-agent.Dropped, 0); i < len(agent.Text); i++ {
		p := &agent.Text[i]
		if at := agent.Dropped + i; at != a.at {
			a.at, a.bytes = at, 0
		}
		if p.Kind != step.PieceSaid && p.Kind != step.PieceAnswer || len(p.Text) <= a.bytes {
			continue
		}
		if p.Call != a.call {
			settle(a.stream.takeAll())
			a.stream.restart()
			a.call = p.Call
		}
		a.stream.add(p.Text[a.bytes:])
		a.bytes, a.said = len(p.Text), a.at
		a.takeBack(agent, settle)
	}
}

// takeBack prints that the text in the stream is void, if it is.
func (a *streamedAnswer) takeBack(agent *report.AgentState, settle func(string)) {
	if i := a.said - agent.Dropped; a.said >= 0 && i >= 0 && i < len(agent.Text) && agent.Text[i].Void != "" {
		settle(strings.TrimSuffix(a.stream.takeAll(), "\n") + "\n\n(void: " + agent.Text[i].Void + ")\n")
		a.stream.restart()
		a.said = -1
	}
}

// print prints a part of the answer for good. If the terminal takes it no more, the whole answer is written again
// at the end of the turn, and that write reports why it fails.
func (a *streamedAnswer) print(text string, width int) {
	text = wording.WithNewline(a.render(text, width))
	if !a.stream.isRaw || !a.begun {
		text = "\n" + text
	}
	a.begun = true
	if _, err := a.out.Write([]byte(text)); err != nil {
		a.lost = true
	}
}

// hasPrinted reports whether all of an answer is printed.
func (a *streamedAnswer) hasPrinted(answer string) bool { return !a.lost && a.stream.isShown(answer) }

// mostPreviewed is how many bytes of Markdown are drawn again and again until they are complete.
const mostPreviewed = 16 << 10

// rest draws the end of the incomplete part, in at most so many lines.
func (a *streamedAnswer) rest(width, most int) []string {
	rest := a.stream.rest()
	if strings.TrimSpace(rest) == "" || most <= 0 {
		return nil
	}
	text := a.render(rest[:min(len(rest), mostPreviewed)], width)
	if len(rest) > mostPreviewed {
		text = wording.Printable(plain.LastBytes(rest, 4*width*most)) // a character has four bytes at most
	}
	lines := strings.Split(ansi.Hardwrap(strings.ReplaceAll(text, "\t", "    "), width, true), "\n")
	if !a.stream.isRaw {
		lines = append([]string{""}, lines...)
	}
	return lines[max(len(lines)-most, 0):]
}

// answerStream is an answer that is shown while it is written. Its complete parts are printed once, in their
// order; the rest is drawn again until it is complete.
type answerStream struct {
	text  string // of the call under way
	shown int    // bytes of text that are printed
	// isRaw reports whether each line is complete by itself; else blocks of Markdown are.
	isRaw bool
}

func (s *answerStream) add(text string) { s.text += text }

// isHeld reports whether the text may be a call of a tool that a model has written as JSON: nobody
// wants to watch that.
func (s *answerStream) isHeld() bool { return strings.HasPrefix(strings.TrimSpace(s.text), "{") }

// take returns what has become complete since the last time, "" for nothing.
func (s *answerStream) take() string {
	if s.isHeld() {
		return ""
	}
	rest := s.text[s.shown:]
	end := strings.LastIndexByte(rest, '\n') + 1
	if !s.isRaw {
		end, _ = completeBlocks(rest)
	}
	s.shown += end
	return rest[:end]
}

// takeAll returns what is left of the text.
func (s *answerStream) takeAll() string {
	if s.isHeld() {
		return ""
	}
	rest := s.text[s.shown:]
	s.shown = len(s.text)
	return rest
}

// restart begins with the text of another call.
func (s *answerStream) restart() { s.text, s.shown = "", 0 }

// isShown reports whether the whole text is printed and equals an answer.
func (s *answerStream) isShown(answer string) bool {
	return s.text != "" && s.shown == len(s.text) && strings.TrimSpace(s.text) == strings.TrimSpace(answer)
}

// rest is what is not complete. A block of code that is still open is closed.
func (s *answerStream) rest() string {
	if s.isHeld() {
		return ""
	}
	rest := s.text[s.shown:]
	if s.isRaw {
		return rest
	}
	if _, fence := completeBlocks(rest); fence != "" {
		rest = strings.TrimSuffix(rest, "\n") + "\n" + fence
	}
	return rest
}

// completeBlocks returns where the last block of a text of Markdown begins: drawn one by one, the
// blocks before look as they do together. Fence is what closes the block of code that the text
// ends in, "" if it ends in none.
func completeBlocks(text string) (end int, fence string) {
	at, isBlank := 0, false
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		mark := fenceMark(content)
		switch {
		case fence != "" && strings.HasPrefix(mark, fence) && mark == content:
			fence = ""
		case fence != "":
		case isBlank && beginsBlock(line):
			end, fence = at, mark
		default:
			fence = mark
		}
		isBlank = fence == "" && content == ""
		at += len(line)
	}
	return end, fence
}

// fenceMark is the run of backticks or tildes that a line of a block of code begins or ends with.
func fenceMark(line string) string {
	for _, mark := range []string{"`", "~"} {
		if run := line[:len(line)-len(strings.TrimLeft(line, mark))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}

// beginsBlock reports whether a line behind a blank one goes on with no list, quote or block of
// code before it. Of a line whose end has not come only the first characters may tell.
func beginsBlock(line string) bool {
	if strings.TrimSpace(line) == "" {
		return false
	}
	switch first := line[0]; {
	case strings.IndexByte(" \t>:", first) >= 0:
		return false
	case strings.IndexByte("-*+", first) >= 0:
		return len(line) > 1 && strings.IndexByte(" \t\n", line[1]) < 0
	case first >= '0' && first <= '9':
		rest := strings.TrimLeft(line, "0123456789")
		return rest != "" && rest[0] != '.' && rest[0] != ')'
	}
	return true
}
