package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// screen is the model of the whole terminal.
type screen struct {
	conv Conversation
	// do runs f beside the screen, under the context of Run, and hands it what f returns.
	do         func(f func(ctx context.Context) tea.Msg) tea.Cmd
	size       tea.WindowSizeMsg
	session    Session
	transcript transcript
	entry      entry
	running    *running   // the turn under way, nil without one
	shown      *turnState // the turn whose rounds are shown: the last one
	last       lastTurn
	overlay    overlay // what stands before the rest, nil for nothing
	focus      int     // the agent that keys go to, -1 for the entry
	mood       mood
	first      string        // asked as soon as the session is known
	leaving    bool          // the key that leaves was pressed once
	shell      *shellCommand // the last one, nil without one
}

// lastTurn is what is kept of the turn that was over last.
type lastTurn struct {
	answer  string
	winner  string
	answers []report.ResultAnswer
}

// mood is what the terminal is like.
type mood struct {
	// isDark says whether the background is, once the terminal has said so.
	isDark, isKnown bool
	plain           bool // no colour
	mayCopy         bool // the person has let the program write to its clipboard
	editor          string
	keyboard        io.Reader // what an editor reads
}

// running is a turn under way.
type running struct {
	turn   *massgen.Turn
	events <-chan []massgen.Event
	ending bool  // the person has ended it
	notes  []int // the blocks of its notes
}

type (
	sessionMsg struct {
		session Session
		notices []string
	}
	pastMsg struct {
		page  int
		turns []Exchange
	}
	begunMsg struct {
		turn    *massgen.Turn
		notices []string
	}
	eventsMsg  struct{ batch []massgen.Event }
	resultMsg  struct{ result massgen.Result }
	outcomeMsg struct {
		Outcome
		line string // the command
	}
	errorMsg    struct{ err error }
	renderedMsg struct {
		page, block, width int
		lines              []string
	}
	pagerMsg    struct{ title, text string }
	sessionsMsg struct{ list []Choice }
	foundMsg    struct {
		by   *picker
		word string
		list []Choice
	}
	tickMsg time.Time
)

func newScreen(conv Conversation, do func(func(context.Context) tea.Msg) tea.Cmd, m mood, first string) *screen {
	return &screen{conv: conv, do: do, session: conv.Opened, focus: -1, mood: m, first: first, entry: newEntry(conv.History)}
}

// Init implements tea.Model. The first frame stands before the session's turns are read.
func (s *screen) Init() tea.Cmd {
	return tea.Batch(s.readSession, tick(), tea.RequestBackgroundColor)
}

func (s *screen) readSession() tea.Msg {
	return s.do(func(ctx context.Context) tea.Msg { return sessionMsg{s.conv.Session(ctx), s.conv.Notices()} })()
}

func (s *screen) readPast() tea.Cmd {
	page := s.transcript.page
	return s.do(func(ctx context.Context) tea.Msg {
		turns, err := s.conv.Past(ctx)
		if err != nil {
			return errorNote{fmt.Errorf("read the session: %w", err)}
		}
		return pastMsg{page, turns}
	})
}

func tick() tea.Cmd {
	return tea.Tick(500*time.Millisecond, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := s.take(msg)
	drawing{s}.layOut()
	return s, tea.Batch(cmd, s.render())
}

func (s *screen) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.size = msg
	case tea.BackgroundColorMsg:
		s.mood.isDark, s.mood.isKnown = msg.IsDark(), true
	case tea.KeyPressMsg:
		return s.key(msg)
	case tea.PasteMsg:
		if d, ok := s.overlay.(*dialog); ok && d.reason != nil {
			d.paste(msg.Content)
		} else if s.overlay == nil || ok && d.below == nil {
			s.focus = -1
			s.entry.paste(msg.Content)
		}
	case tea.MouseWheelMsg:
		return s.wheel(msg)
	case tickMsg:
		return tick()
	case leaveMsg:
		if s.leaving && s.running == nil && s.overlay == nil {
			return tea.Quit
		}
	case approvalMsg:
		d := newDialog(approval(msg), s.overlay)
		s.overlay = d
		return d.listen()
	case pausedMsg:
		msg.dialog.take(msg)
	default:
		return s.hear(msg)
	}
	return nil
}

// open shows an overlay, below a dialog that somebody waits for.
func (s *screen) open(o overlay) {
	if d, ok := s.overlay.(*dialog); ok {
		d.below = o
		return
	}
	s.overlay = o
}

// hear takes what a goroutine beside the screen has come to.
func (s *screen) hear(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case sessionMsg:
		s.showNotices(msg.notices)
		return s.takeSession(msg.session)
	case pastMsg:
		if msg.page == s.transcript.page {
			return s.showPast(msg.turns)
		}
	case shellOutputMsg:
		return commander{s}.takeOutput(msg.c)
	case shellOverMsg:
		commander{s}.takeShell(msg)
	case editedMsg:
		s.entry.set(string(msg))
	case movedMsg:
		s.transcript.clear()
		s.shown, s.last, s.first = nil, lastTurn{}, msg.Question
		msg.Question = ""
		return tea.Batch(s.takeOutcome(msg.Outcome), s.readPast())
	case errorNote:
		s.transcript.add(wrong, "", s.conv.Redact(msg.err.Error()))
	case begunMsg:
		s.showNotices(msg.notices)
		return s.begin(msg.turn)
	case eventsMsg:
		return s.follow(msg.batch)
	case resultMsg:
		return s.conclude(msg.result)
	case outcomeMsg:
		if linesOf(msg.Text) > s.transcript.height { // only its end would be seen
			s.open(newPager(msg.line, s.conv.Redact(msg.Text)))
			msg.Text = ""
		}
		return s.takeOutcome(msg.Outcome)
	case renderedMsg:
		if msg.page == s.transcript.page {
			s.transcript.put(msg.block, msg.width, msg.lines)
		}
	case pagerMsg:
		s.open(newPager(msg.title, s.conv.Redact(msg.text)))
	case callsMsg:
		return s.showCalls(msg)
	case inputMsg:
		msg.viewer.take(msg)
	case sessionsMsg:
		s.open(s.sessionPicker(msg.list))
	case foundMsg:
		return msg.by.take(msg)
	case errorMsg:
		s.transcript.add(wrong, "", s.conv.Redact(msg.err.Error()))
		s.running = nil
	}
	return nil
}

// takeSession shows a session. Its turns are read once the agents are known, so that the first
// question has a column for each of them.
func (s *screen) takeSession(session Session) tea.Cmd {
	isFirst := !s.session.isRead
	s.session, s.session.isRead = session, true
	if isFirst {
		return s.readPast()
	}
	return nil
}

// showNotices shows what the conversation has to say beside its turns, a line each.
func (s *screen) showNotices(notices []string) {
	for _, notice := range notices {
		s.transcript.add(told, "", notice)
	}
}

func (s *screen) showPast(turns []Exchange) tea.Cmd {
	for _, t := range turns {
		s.transcript.add(asked, "", s.conv.Redact(t.Question))
		s.showAnswer(t.Answer, t.Winner, t.Status)
	}
	if first := s.first; first != "" {
		s.first = ""
		return s.ask(first)
	}
	return nil
}

func (s *screen) showAnswer(answer, winner, status string) {
	if answer == "" {
		s.transcript.add(told, "", "no answer: "+status)
		return
	}
	title := winner
	if status != "completed" {
		title += " · " + status
	}
	s.last = lastTurn{answer: s.conv.Redact(answer), winner: winner}
	s.transcript.add(replied, title, s.last.answer)
}

// render renders the Markdown of one answer beside the screen, the newest first.
func (s *screen) render() tea.Cmd {
	i := s.transcript.unrendered()
	if i < 0 {
		return nil
	}
	b := &s.transcript.blocks[i]
	b.rendered = true // it is being done
	page, text, width, m := s.transcript.page, b.text, b.width, s.mood
	return func() tea.Msg { return renderedMsg{page, i, width, markdown.Render(text, width, !m.plain)} }
}

// ask begins a turn, or adds a note to the one that runs.
func (s *screen) ask(text string) tea.Cmd {
	return s.askWith(text, func() (string, []backends.File, error) { return "", nil, nil })
}

// askTyped is ask with the files that the text names as @path. Nothing but what a person typed
// comes here.
func (s *screen) askTyped(text string) tea.Cmd {
	return s.askWith(text, func() (string, []backends.File, error) { return attach.Typed(text) })
}

// askWith is ask with the files that read returns, beside the text as it names them.
func (s *screen) askWith(text string, read func() (string, []backends.File, error)) tea.Cmd {
	if s.running != nil && s.running.turn != nil {
		turn := s.running.turn
		return s.do(func(ctx context.Context) tea.Msg {
			if err := turn.Note(ctx, text); err != nil {
				return errorNote{fmt.Errorf("the note was not taken: %w", err)}
			}
			return nil
		})
	}
	shell := s.entry.context
	text += shell
	s.entry.context = ""
	s.transcript.add(asked, "", s.conv.Redact(text))
	var ids []string
	for _, a := range s.session.Agents {
		ids = append(ids, a.ID)
	}
	s.running, s.shown = &running{}, newTurnState(ids, time.Now())
	return s.do(func(ctx context.Context) tea.Msg {
		named, files, err := read()
		if err != nil {
			return errorMsg{err}
		}
		if len(files) > 0 {
			text, ctx = named+shell, attach.With(ctx, files)
		}
		turn, err := s.conv.Ask(ctx, text)
		if err != nil {
			return errorMsg{err}
		}
		return begunMsg{turn, s.conv.Notices()}
	})
}

// errorNote is what went wrong beside the turn, which goes on; errorMsg is what ended it.
type errorNote struct{ err error }

// begin follows a turn that was accepted.
func (s *screen) begin(turn *massgen.Turn) tea.Cmd {
	events := make(chan []massgen.Event)
	s.running = &running{turn: turn, events: events, ending: s.running != nil && s.running.ending}
	if s.running.ending {
		turn.Cancel()
	}
	pump := s.do(func(ctx context.Context) tea.Msg {
		defer close(events)
		batched(ctx, turn.Events(ctx), events)
		return nil
	})
	return tea.Batch(pump, s.next())
}

// next waits for a turn's next events.
func (s *screen) next() tea.Cmd {
	events, turn := s.running.events, s.running.turn
	return s.do(func(ctx context.Context) tea.Msg {
		if batch, more := <-events; more {
			return eventsMsg{batch}
		}
		result, err := turn.Wait(ctx)
		s.conv.Settle(ctx, turn)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return errorMsg{err}
		}
		return resultMsg{result}
	})
}

func (s *screen) follow(batch []massgen.Event) tea.Cmd {
	if s.running == nil {
		return nil
	}
	for _, ev := range batch {
		s.shown.apply(ev)
	}
	s.tellNotes()
	return s.next()
}

// tellNotes shows the notes to the turn, and who has seen them.
func (s *screen) tellNotes() {
	for i, note := range s.shown.notes {
		seen := "nobody yet"
		if ids := s.shown.seenBy(i); len(ids) > 0 {
			seen = strings.Join(ids, ", ")
		}
		text := s.conv.Redact(fmt.Sprintf("%s (seen by %s)", note, seen))
		if i == len(s.running.notes) {
			s.running.notes = append(s.running.notes, len(s.transcript.blocks))
			s.transcript.add(noted, "", text)
		}
		s.transcript.change(s.running.notes[i], text)
	}
}

// conclude shows what a turn has come to.
func (s *screen) conclude(r massgen.Result) tea.Cmd {
	s.running, s.focus = nil, -1
	s.showAnswer(r.Answer, r.Winner, r.Status)
	for _, a := range r.Answers {
		a.Label, a.Content = plain.Line(a.Label), s.conv.Redact(printable(a.Content))
		s.last.answers = append(s.last.answers, a)
	}
	votes := slices.Clone(r.Votes) // in the panel's order, whoever was first
	slices.SortStableFunc(votes, func(a, b report.ResultVote) int { return s.shown.place(a.Voter) - s.shown.place(b.Voter) })
	var lines []string
	for _, v := range votes {
		lines = append(lines, plain.Line(fmt.Sprintf("%s voted for %s: %s", v.Voter, v.Label, v.Reason)))
	}
	if len(lines) > 0 {
		s.transcript.add(told, "", s.conv.Redact(strings.Join(lines, "\n")))
	}
	for _, f := range r.Failed {
		s.transcript.add(wrong, "", s.conv.Redact(f.Agent+" failed: "+f.Error))
	}
	for _, w := range r.Warnings {
		s.transcript.add(told, "", "warning: "+s.conv.Redact(w))
	}
	return s.readSession
}

func (s *screen) takeOutcome(o Outcome) tea.Cmd {
	if o.Text != "" {
		s.transcript.add(printed, "", s.conv.Redact(o.Text))
	}
	if o.Draft != "" {
		s.entry.set(printable(o.Draft))
	}
	switch {
	case o.Leave:
		return tea.Quit
	case o.Question != "":
		return s.ask(o.Question)
	}
	return s.readSession
}

// command runs a line that begins with a slash.
func (s *screen) command(line string) tea.Cmd {
	before := s.session.ID
	return s.do(func(ctx context.Context) tea.Msg {
		outcome, err := s.conv.Command(ctx, line)
		if err != nil {
			return errorNote{err}
		}
		if s.conv.Session(ctx).ID != before {
			return movedMsg{outcome}
		}
		return outcomeMsg{outcome, line}
	})
}

// movedMsg says that a command went over to another session.
type movedMsg struct{ Outcome }
