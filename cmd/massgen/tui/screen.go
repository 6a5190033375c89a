package tui

import (
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// screen is the model of the whole terminal.
type screen struct {
	conv       client
	size       tea.WindowSizeMsg
	session    Session
	transcript *transcript
	entry      *entry
	talk       *talk
	shell      *shell
	overlay    overlay // stands before the rest, nil for nothing
	panes      panes
	focus      int // the agent that gets the keys, -1 for the entry
	mood       mood
	due        due
	menu       *menu
	leaving    leaving
	scrollback scrollback
}

// scrollback has what an inline screen prints above itself.
type scrollback struct {
	printing bool     // lines are on their way
	queue    []string // the lines that follow them
}

// due waits until the turns of the session are read: a question to ask, and a turn to show, 0 for the end.
type due struct {
	question string
	typed    string // the question as it was typed, with its @files; empty for another
	turn     int
}

// mood describes the terminal.
type mood struct {
	// isDark reports whether the background is dark, isKnown whether the terminal has reported it.
	isDark, isKnown bool
	plain           bool // no colour
	inline          bool // the conversation goes to the terminal's scrollback
	wheel           bool // the mouse wheel scrolls, and the terminal selects no text
	mayCopy         bool // the person has allowed writes to the clipboard
	editor          string
	keyboard        io.Reader // what an editor reads
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
		typed   string
	}
	eventsMsg  struct{ batch []massgen.Event }
	resultMsg  struct{ result massgen.Result }
	outcomeMsg struct {
		Outcome
		line string // the command
	}
	errorMsg    struct{ err error }
	noticesMsg  []string
	pagerMsg    struct{ title, text string }
	sessionsMsg struct {
		list []Kept
		next string // the place of the next page
		word string // to search for
		at   int    // the line that is chosen first
	}
	moreMsg struct { // another page for a picker
		by   *sessionPicker
		list []Kept
		next string
		err  error
	}
	foundMsg struct {
		by   *picker
		word string
		list []pick
	}
	tickMsg time.Time
	// printedMsg follows the blocks of an inline screen that are in the scrollback.
	printedMsg struct{}
)

func newScreen(conv Conversation, do worker, m mood, first string) *screen {
	c, t, e := client{conv, do}, &transcript{drawer: markdown.NewDrawer(!m.plain)}, newEntry(conv.History)
	return &screen{
		conv: c, session: conv.Opened, focus: -1, mood: m, due: due{question: first}, transcript: t, entry: e, menu: &menu{entry: e, commands: allCommands(conv.Commands)},
		talk: &talk{conv: c, transcript: t, isInline: m.inline}, shell: &shell{conv: c, transcript: t, entry: e},
	}
}

// Init implements tea.Model. The screen draws its first frame before it reads the session's turns.
func (s *screen) Init() tea.Cmd {
	return tea.Batch(s.conv.readSession, tick(), tea.RequestBackgroundColor)
}

func tick() tea.Cmd {
	return tea.Tick(500*time.Millisecond, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := s.take(msg)
	s.menu.follow()
	s.layOut()
	return s, tea.Batch(cmd, s.print())
}

// print moves the finished blocks of an inline screen to the terminal's scrollback, in their order.
func (s *screen) print() tea.Cmd {
	if !s.mood.inline || s.transcript.width <= 0 || s.scrollback.printing {
		return nil
	}
	s.scrollback.queue = append(s.scrollback.queue, s.transcript.finished(s.shell.block(), s.talk.block())...)
	if len(s.scrollback.queue) == 0 {
		return nil
	}
	n := min(len(s.scrollback.queue), printRows(s.size.Height))
	lines := s.scrollback.queue[:n]
	s.scrollback.queue = s.scrollback.queue[n:]
	s.scrollback.printing = true // Println of two commands may change places
	if s.mood.isKnown {
		lines = strings.Split(markdown.OnBackground(strings.Join(lines, "\n"), s.mood.isDark), "\n")
	}
	return tea.Sequence(tea.Println(strings.Join(lines, "\n")), func() tea.Msg { return printedMsg{} })
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
		if o, ok := s.overlay.(paster); ok && o.paste(msg.Content) {
			if p, ok := o.(*picker); ok {
				return p.look()
			}
			return nil
		}
		if d, ok := s.overlay.(*dialog); s.overlay == nil || ok && d.below == nil {
			s.focus = -1
			s.entry.paste(msg.Content)
		}
	case tea.MouseWheelMsg:
		return s.wheel(msg)
	case tickMsg:
		s.leaving.fade(time.Time(msg))
		return tick()
	case printedMsg:
		s.scrollback.printing = false
	case leaveMsg:
		if s.leaving.key == "Esc" && s.talk.running == nil && s.overlay == nil { // nothing came after the second Esc
			return tea.Quit
		}
	case approvalMsg:
		d := newDialog(approval(msg), s.overlay)
		d.folder = s.session.folder(msg.call.Agent)
		s.overlay = d
		return d.listen()
	case pausedMsg:
		msg.dialog.take(msg)
	default:
		return s.hear(msg)
	}
	return nil
}

// open shows an overlay. An open dialog stays before it.
func (s *screen) open(o overlay) {
	if d, ok := s.overlay.(*dialog); ok {
		d.below = o
		return
	}
	s.overlay = o
}

// hear takes the message of a goroutine beside the screen.
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
		return s.shell.takeOutput(msg.c)
	case shellOverMsg:
		s.shell.takeEnd(msg)
	case editedMsg:
		s.entry.set(string(msg))
	case movedMsg:
		s.transcript.clear()
		s.talk.shown, s.talk.last, s.due.question = nil, lastTurn{}, msg.outcome.Question
		s.talk.typed, s.due.typed = "", msg.typed
		msg.outcome.Question = ""
		return tea.Batch(s.takeOutcome(msg.outcome), s.conv.readPast(s.transcript.page))
	case errorNote:
		s.transcript.add(wrong, "", s.conv.Redact(msg.err.Error()))
	case begunMsg:
		s.showNotices(msg.notices)
		s.talk.typed = msg.typed
		return s.talk.begin(msg.turn)
	case noticesMsg:
		s.showNotices(msg)
	case eventsMsg:
		return s.talk.follow(msg.batch)
	case resultMsg:
		s.focus = -1
		s.talk.conclude(msg.result)
		return s.conv.readSession
	case outcomeMsg:
		if linesOf(msg.Text) > s.transcript.height { // only its end would be seen
			s.open(newPager(msg.line, s.conv.Redact(msg.Text)))
			msg.Text = ""
		}
		return s.takeOutcome(msg.Outcome)
	case pagerMsg:
		s.open(newPager(msg.title, s.conv.Redact(msg.text)))
	case callsMsg:
		return s.showCalls(msg)
	case inputMsg:
		msg.viewer.take(msg)
	case sessionsMsg:
		p := newSessionPicker(msg.list, msg.word, s)
		p.next = msg.next
		p.at = min(msg.at, max(len(p.fit())-1, 0))
		s.open(p)
		return p.look()
	case moreMsg:
		msg.by.isReading = false
		if msg.err != nil {
			s.transcript.add(wrong, "", s.conv.Redact(msg.err.Error()))
			return nil
		}
		msg.by.add(msg.list)
		msg.by.next = msg.next
	case foundMsg:
		return msg.by.take(msg)
	case errorMsg:
		s.transcript.add(wrong, "", s.conv.Redact(msg.err.Error()))
		s.talk.running, s.talk.ended = nil, time.Now()
	}
	return nil
}

// takeSession shows a session. It reads the turns once the agents are known, so that the first question
// has a column for each of them.
func (s *screen) takeSession(session Session) tea.Cmd {
	isFirst := !s.session.isRead
	s.session, s.session.isRead = session, true
	s.talk.prepare(session.Agents)
	s.transcript.setPanel(session.ids())
	if isFirst {
		return s.conv.readPast(s.transcript.page)
	}
	return nil
}

// showNotices shows the conversation's remarks beside its turns, one on a line.
func (s *screen) showNotices(notices []string) {
	if len(notices) > 0 {
		s.transcript.add(told, "", strings.Join(notices, "\n"))
	}
}

func (s *screen) showPast(turns []Exchange) tea.Cmd {
	if earlier := len(turns) - 1; s.mood.inline && earlier > 0 {
		s.transcript.add(told, "", plain.Count(earlier, "earlier turn")+"; /history shows them")
		turns = turns[earlier:]
	}
	for _, t := range turns {
		s.transcript.add(asked, "", s.conv.Redact(t.Question))
		s.talk.showAnswer(t.Answer, t.Winner, t.Status)
	}
	now := s.due
	s.due = due{}
	if now.turn > 0 {
		s.transcript.showTurn(now.turn)
	} else {
		s.transcript.showLast(asked)
	}
	if now.typed != "" {
		return s.askTyped(now.typed)
	}
	if now.question != "" {
		return s.ask(now.question)
	}
	return nil
}

// ask begins a turn, or adds a note to the running turn.
func (s *screen) ask(text string) tea.Cmd {
	return s.askWith(text, func() (string, []backends.File, error) { return "", nil, nil })
}

// askTyped is ask with the files that the text names as @path. Only typed texts come here.
func (s *screen) askTyped(text string) tea.Cmd {
	for _, path := range attach.Missing(text) {
		s.transcript.add(told, "", s.conv.Redact("@"+plain.Line(path)+": no such file; the question has it as text"))
	}
	return s.askWith(text, func() (string, []backends.File, error) { return attach.Typed(text) })
}

// askWith is ask with the files that read returns, beside the text that names them.
func (s *screen) askWith(text string, read func() (string, []backends.File, error)) tea.Cmd {
	if s.talk.hasTurn() {
		return s.talk.note(text)
	}
	shell := s.entry.context
	s.entry.context = ""
	s.transcript.add(asked, "", s.conv.Redact(text+shell))
	return s.talk.ask(s.session.Agents, text, shell, read)
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
	return s.conv.readSession
}

// movedMsg is the outcome of a command that went over to another session.
type movedMsg struct {
	outcome Outcome
	typed   string // its question as it was typed, if it names files
}
