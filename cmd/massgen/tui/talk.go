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
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// talk is the turn under way and the end of the last one.
type talk struct {
	conv       client
	transcript *transcript
	running    *running   // the turn under way, nil without one
	shown      *turnState // the last turn, whose rounds are shown; nil without one
	last       lastTurn
}

// lastTurn is the outcome of the last turn that ended.
type lastTurn struct {
	answer  string
	winner  string
	answers []report.ResultAnswer
}

// running is a turn under way.
type running struct {
	turn   *massgen.Turn
	events <-chan []massgen.Event
	ending bool  // the person has ended it
	notes  []int // the blocks of its notes
}

// hasTurn reports whether a turn runs that the panel has accepted.
func (t *talk) hasTurn() bool { return t.running != nil && t.running.turn != nil }

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
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.ID)
	}
	t.running, t.shown = &running{}, newTurnState(ids, time.Now())
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
		return begunMsg{turn, t.conv.Notices()}
	})
}

// errorNote is an error beside the turn, which goes on. errorMsg is the error that ended the turn.
type errorNote struct{ err error }

// begin follows an accepted turn.
func (t *talk) begin(turn *massgen.Turn) tea.Cmd {
	events := make(chan []massgen.Event)
	t.running = &running{turn: turn, events: events, ending: t.running != nil && t.running.ending}
	if t.running.ending {
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
	for _, ev := range batch {
		t.shown.apply(ev)
	}
	t.tellNotes()
	return t.next()
}

// tellNotes shows the notes to the turn, and the agents that have seen them.
func (t *talk) tellNotes() {
	for i, note := range t.shown.notes {
		seen := "nobody yet"
		if ids := t.shown.seenBy(i); len(ids) > 0 {
			seen = strings.Join(ids, ", ")
		}
		text := t.conv.Redact(fmt.Sprintf("%s (seen by %s)", note, seen))
		if i == len(t.running.notes) {
			t.running.notes = append(t.running.notes, len(t.transcript.blocks))
			t.transcript.add(noted, "", text)
		}
		t.transcript.change(t.running.notes[i], text)
	}
}

// conclude shows the result of a turn.
func (t *talk) conclude(r massgen.Result) {
	t.running = nil
	t.showAnswer(r.Answer, r.Winner, r.Status)
	for _, a := range r.Answers {
		a.Label, a.Content = plain.Line(a.Label), t.conv.Redact(printable(a.Content))
		t.last.answers = append(t.last.answers, a)
	}
	votes := slices.Clone(r.Votes) // in the panel's order
	slices.SortStableFunc(votes, func(a, b report.ResultVote) int { return t.shown.place(a.Voter) - t.shown.place(b.Voter) })
	var lines []string
	for _, v := range votes {
		lines = append(lines, plain.Line(fmt.Sprintf("%s voted for %s: %s", v.Voter, v.Label, v.Reason)))
	}
	if len(lines) > 0 {
		t.transcript.add(told, "", t.conv.Redact(strings.Join(lines, "\n")))
	}
	for _, f := range r.Failed {
		t.transcript.add(wrong, "", t.conv.Redact(f.Agent+" failed: "+f.Error))
	}
	for _, w := range r.Warnings {
		t.transcript.add(told, "", "warning: "+t.conv.Redact(w))
	}
}

func (t *talk) showAnswer(answer, winner, status string) {
	if answer == "" {
		t.transcript.add(told, "", "no answer: "+status)
		return
	}
	title := winner
	if status != "completed" {
		title += " · " + status
	}
	t.last = lastTurn{answer: t.conv.Redact(answer), winner: winner}
	t.transcript.add(replied, title, t.last.answer)
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

// hint returns the last remark about the turn, and the keys that work while it runs.
func (t *talk) hint() (hints []string) {
	if n := len(t.shown.remarks); n > 0 {
		hints = append(hints, t.conv.Redact(t.shown.remarks[n-1]))
	}
	return append(hints, "Enter adds a note", "Tab agents", "Esc ends the turn", "? keys")
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
		outcome.Question = last.Question
		return movedMsg{outcome}, about("/retry", err)
	})
}
