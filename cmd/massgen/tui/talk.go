package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/internal/failures"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// talk is the turn under way and the end of the last one.
type talk struct {
	conv       client
	transcript *transcript
	running    *running      // the turn under way, nil without one
	shown      *report.State // the last turn, whose rounds are shown; nil before the session is known
	last       lastTurn
	ended      time.Time // when the last turn ended here
	isInline   bool      // what was printed does not change
	typed      string    // the last question as it was typed, with its @files; empty for one asked elsewhere
}

// lastTurn is the outcome of the last turn that ended.
type lastTurn struct {
	hasFailed bool // without an answer
	answer    string
	winner    string
	answers   []report.ResultAnswer
}

// running is a turn under way.
type running struct {
	turn   *massgen.Turn
	events <-chan []massgen.Event
	ending bool // the person has ended it
	notes  []noteBlock
	news   []news
	// isGrowing reports whether the last block of sentences may grow. told is the number of the last sentence before it.
	told      int
	isGrowing bool
	newest    report.News // the newest sentence that is shown
}

// noteBlock is the block of a note, which is at an index of the state's notes.
type noteBlock struct{ block, index int }

// news is a block of sentences about a turn.
type news struct {
	block int
	list  []report.News
}

// hasTurn reports whether a turn runs that the panel has accepted.
func (t *talk) hasTurn() bool { return t.running != nil && t.running.turn != nil }

// prepare shows the agents of a session before its first question.
func (t *talk) prepare(agents []Agent) {
	if t.running == nil && (t.shown == nil || t.shown.Began.IsZero()) {
		t.shown = t.newState(agents)
	}
}

// newState returns the state of a turn that has not begun.
func (t *talk) newState(agents []Agent) *report.State {
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.ID)
	}
	state := report.NewState(ids...)
	state.Mask = t.conv.Redact
	return state
}

// stop ends the turn with the best answer so far.
func (t *talk) stop() {
	if t.running.ending {
		return
	}
	t.running.ending = true
	t.transcript.add(told, "", "ending the turn with the best answer so far; Ctrl+C twice leaves at once")
	if t.hasTurn() {
		t.running.turn.Cancel()
	}
}

// isBusy reports whether a turn runs, and says so on the screen.
func (t *talk) isBusy() bool {
	if t.running == nil {
		return false
	}
	t.transcript.add(told, "", "a turn runs: Esc ends it first")
	return true
}

// ask begins a turn of agents with the output of shell commands, and with the files that read returns
// beside the text that names them.
func (t *talk) ask(agents []Agent, text, shell string, read func() (string, []backends.File, error)) tea.Cmd {
	t.running, t.shown = &running{}, t.newState(agents)
	typed := text
	if shell != "" {
		typed = ""
	}
	return t.conv.do(func(ctx context.Context) tea.Msg {
		named, files, err := read()
		if err != nil {
			return errorMsg{err}
		}
		if len(files) > 0 {
			text, ctx = named, attach.With(ctx, files)
		}
		turn, err := t.conv.Ask(ctx, text+shell)
		if err != nil {
			return errorMsg{err}
		}
		return begunMsg{turn, t.conv.Notices(), typed}
	})
}

// errorNote is an error beside the turn, which goes on. errorMsg is the error that ended the turn.
type errorNote struct{ err error }

// begin follows an accepted turn.
func (t *talk) begin(turn *massgen.Turn) tea.Cmd {
	events := make(chan []massgen.Event)
	isEnding := t.running != nil && t.running.ending
	t.running = &running{turn: turn, events: events, ending: isEnding}
	if isEnding {
		turn.Cancel()
	}
	pump := t.conv.do(func(ctx context.Context) tea.Msg {
		defer close(events)
		batched(ctx, turn.Events(ctx), events)
		return nil
	})
	return tea.Batch(pump, t.next())
}

// next waits for a turn's next events.
func (t *talk) next() tea.Cmd {
	events, turn := t.running.events, t.running.turn
	return t.conv.do(func(ctx context.Context) tea.Msg {
		if batch, more := <-events; more {
			return eventsMsg{batch}
		}
		result, err := turn.Wait(ctx)
		t.conv.Settle(ctx, turn)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return errorMsg{err}
		}
		return resultMsg{result}
	})
}

func (t *talk) follow(batch []massgen.Event) tea.Cmd {
	if t.running == nil {
		return nil
	}
	hasLogged := false
	for _, ev := range batch {
		t.shown.Apply(ev)
		hasLogged = t.conv.Follow(t.shown, ev) || hasLogged
	}
	t.tellNews()
	if hasLogged {
		return tea.Batch(t.conv.readNotices, t.next())
	}
	return t.next()
}

// longestNews is the number of sentences in a block at most: a sentence that is added changes its block. On an inline
// screen each sentence has a block, which goes to the scrollback once another sentence follows.
const longestNews = 50

// tellNews shows the sentences about the turn. A note has a block of its own, with the agents that have
// seen it.
func (t *talk) tellNews() {
	if t.hasNews() {
		for t.tellBlock() {
		}
	}
	for _, of := range t.running.notes {
		note := t.shown.Notes[of.index]
		seen := "nobody yet"
		if len(note.SeenBy) > 0 {
			seen = strings.Join(note.SeenBy, ", ")
		}
		text := fmt.Sprintf("%s (seen by %s)", note.Text, seen)
		if t.isInline { // it may be in the scrollback
			text = note.Text
		}
		t.transcript.change(of.block, t.conv.Redact(text))
	}
}

// hasNews reports whether a sentence is new or has grown since the last call.
func (t *talk) hasNews() bool {
	n := len(t.shown.News)
	if n == 0 {
		return false
	}
	was, is := t.running.newest, t.shown.News[n-1]
	t.running.newest = is
	return is.Number != was.Number || is.Sentence != was.Sentence
}

// tellBlock shows the sentences that belong to the newest block, and reports whether it is full.
func (t *talk) tellBlock() (isFull bool) {
	if t.running.isGrowing && t.shown.News[0].Number > t.running.told+1 { // the state has dropped sentences of the block
		shown := t.running.news[len(t.running.news)-1].list
		t.running.told, t.running.isGrowing = shown[len(shown)-1].Number, false
	}
	var list []report.News
	var note *report.News
	most := longestNews
	if t.isInline {
		most = 1
	}
	for i, n := range t.shown.News {
		if n.Number <= t.running.told {
			continue
		}
		if isFull = len(list) == most; !isFull && n.Kind == "noted" {
			note, isFull = &t.shown.News[i], true
		}
		if isFull {
			break
		}
		list = append(list, n)
	}
	if len(list) > 0 {
		if !t.running.isGrowing {
			t.running.news = append(t.running.news, news{block: len(t.transcript.blocks)})
			if t.isInline {
				t.transcript.addTight("")
			} else {
				t.transcript.add(told, "", "")
			}
		}
		at := &t.running.news[len(t.running.news)-1]
		at.list, t.running.isGrowing = list, true
		t.transcript.change(at.block, t.text(list, true))
		t.transcript.fold(at.block, t.text(list, false))
	}
	if !isFull {
		return false
	}
	t.running.isGrowing = false
	if len(list) > 0 {
		t.running.told = list[len(list)-1].Number
	}
	if note != nil {
		t.running.told = note.Number
		t.running.notes = append(t.running.notes, noteBlock{len(t.transcript.blocks), note.Index})
		t.transcript.add(noted, "", "")
	}
	return true
}

// text returns sentences, one on a line, with the results of tool calls if isOpen. Else failures with one reason share
// a line.
func (t *talk) text(list []report.News, isOpen bool) string {
	if !isOpen {
		list = failures.Merged(t.shown, list)
	}
	var lines []string
	for i := range list {
		lines = append(lines, list[i].String())
		if run := t.shown.ToolOf(&list[i]); run != nil && isOpen && run.Result != "" {
			for line := range strings.SplitSeq(strings.TrimRight(run.Result, "\n"), "\n") {
				lines = append(lines, "  │ "+line)
			}
		}
	}
	return t.conv.Redact(strings.Join(lines, "\n"))
}

// foldNews hides the sentences of an ended turn, except warnings and those failures that the lines about its result
// have not. An inline screen keeps all of them: nothing opens what is in the scrollback.
func (t *talk) foldNews(r massgen.Result) {
	if t.running == nil || t.isInline {
		return
	}
	for _, part := range t.running.news {
		kept := slices.DeleteFunc(slices.Clone(part.list), func(n report.News) bool {
			return !n.IsWarning() && !n.IsFailure() || failures.IsRepeated(r, n, t.conv.Redact)
		})
		short := t.text(kept, false)
		if folded := len(part.list) - len(kept); folded > 0 {
			short = strings.TrimPrefix(short+"\n▸ "+plain.Count(folded, "line")+" of progress: Ctrl+X opens", "\n")
		}
		t.transcript.fold(part.block, short)
	}
}

// block returns the block that the running turn may change, -1 without one.
func (t *talk) block() int {
	if t.running == nil || !t.running.isGrowing {
		return -1
	}
	return t.running.news[len(t.running.news)-1].block
}

// conclude shows the result of a turn.
func (t *talk) conclude(r massgen.Result) {
	t.foldNews(r)
	t.running, t.ended = nil, time.Now()
	t.last = lastTurn{hasFailed: r.Winner == ""}
	if !t.isInline && !t.shown.IsAlone() && !t.shown.Began.IsZero() {
		t.transcript.addDrawn(folded(t.shown, r.Winner))
	}
	if lines := t.conv.Summary(r); len(lines) > 0 {
		t.transcript.add(told, "", t.conv.Redact(strings.Join(lines, "\n")))
	}
	if whole, short := t.conv.Analysis(r); whole != "" {
		t.transcript.add(told, "", t.conv.Redact(whole))
		t.transcript.fold(t.transcript.count()-1, t.conv.Redact(short)+": Ctrl+X opens")
	}
	if r.Winner != "" { // else the summary says why
		t.showAnswer(r.Answer, r.Winner, r.Status)
	}
	for _, a := range r.Answers {
		a.Label, a.Content = plain.Line(a.Label), t.conv.Redact(printable(a.Content))
		t.last.answers = append(t.last.answers, a)
	}
	untold := slices.DeleteFunc(slices.Clone(r.Failed), func(f report.FailedAgent) bool {
		a := t.shown.Agent(f.Agent)
		return failures.Explain(r) || a != nil && a.Phase == step.PhaseFailed
	})
	for _, line := range failures.Lines(untold) {
		t.transcript.add(wrong, "", t.conv.Redact(line))
	}
	for _, w := range r.Warnings {
		t.transcript.add(told, "", "warning: "+t.conv.Redact(w))
	}
	if r.Winner != "" {
		t.transcript.showLast(replied)
	}
}

func (t *talk) showAnswer(answer, winner, status string) {
	if answer == "" {
		t.last = lastTurn{hasFailed: true}
		t.transcript.add(told, "", "no answer: "+status)
		return
	}
	title := winner
	if status != "completed" {
		title += " · " + status
	}
	t.last = lastTurn{answer: t.conv.Redact(answer), winner: winner}
	t.transcript.addAnswer(winner, title, t.last.answer)
}

// tell calls do with the running turn beside the screen. Without a turn it does nothing.
func (t *talk) tell(do func(ctx context.Context, turn *massgen.Turn) error) tea.Cmd {
	if !t.hasTurn() {
		return nil
	}
	turn := t.running.turn
	return t.conv.run(func(ctx context.Context) (tea.Msg, error) { return nil, do(ctx, turn) })
}

// note adds a note to the turn.
func (t *talk) note(text string) tea.Cmd {
	return t.tell(func(ctx context.Context, turn *massgen.Turn) error {
		return about("the note was not taken", turn.Note(ctx, text))
	})
}

// pause pauses the turn, or lets it go on.
func (t *talk) pause(pause bool) tea.Cmd {
	return t.tell(func(ctx context.Context, turn *massgen.Turn) error {
		if pause {
			return turn.Pause(ctx)
		}
		return turn.Resume(ctx)
	})
}

// dismiss makes the turn go on without an agent.
func (t *talk) dismiss(agent string) tea.Cmd {
	return t.tell(func(ctx context.Context, turn *massgen.Turn) error { return turn.Dismiss(ctx, agent) })
}

// save writes the last answer to a file.
func (t *talk) save(path string) tea.Cmd {
	switch {
	case t.last.answer == "":
		t.transcript.add(told, "", "there is no answer yet")
		return nil
	case path == "":
		t.transcript.add(wrong, "", "/save: say to which file: /save FILE")
		return nil
	}
	answer := t.last.answer
	return t.conv.run(func(context.Context) (tea.Msg, error) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("/save: %s is there already: choose another name", path)
		}
		if err == nil {
			_, err = file.WriteString(strings.TrimSuffix(answer, "\n") + "\n")
			err = errors.Join(err, file.Close())
		}
		return outcomeMsg{Outcome: Outcome{Text: "the answer is in " + path}}, about("/save", err)
	})
}

// retry asks the last question again in a copy of the session without its last turn.
func (t *talk) retry() tea.Cmd {
	if t.isBusy() {
		return nil
	}
	typed := t.typed
	return t.conv.run(func(ctx context.Context) (tea.Msg, error) {
		turns, err := t.conv.Past(ctx)
		if err != nil {
			return nil, about("/retry", err)
		}
		if len(turns) == 0 {
			return nil, errors.New("/retry: there is no question yet")
		}
		last, line := turns[len(turns)-1], fmt.Sprintf("/branch %d", len(turns)-1)
		if len(turns) == 1 {
			line = "/new"
		}
		outcome, err := t.conv.Command(ctx, line)
		outcome.Question = attach.Cut(last.Question)
		if hasFiles := outcome.Question != last.Question; hasFiles && typed == "" {
			outcome.Text += "\nThe files of the question are not sent again: @FILE attaches one."
		}
		return movedMsg{outcome, typed}, about("/retry", err)
	})
}
