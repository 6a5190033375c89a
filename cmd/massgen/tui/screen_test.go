package tui

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/step"
)

// panel is a conversation with two agents that answer by a script, kept in memory.
type panel struct {
	t        *testing.T
	panel    *massgen.Panel
	mu       sync.Mutex
	session  string
	past     []Exchange
	commands []string
	notices  []string
	typed    []string
	searched []string
	kept     []Kept
	pageSize int     // of kept, 0 for one page
	model    string  // of ada, "" for the model of all
	analysis string  // of each turn, "" for none
	crowd    []Agent // in place of ada and bob
}

func newPanel(t *testing.T, script string) *panel {
	t.Helper()
	parsed, err := debugbackend.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	p := &panel{t: t, session: "s1", kept: keptSessions()}
	backend := debugbackend.NewScripted(parsed)
	p.panel, err = massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Backend: backend}, {ID: "bob", Backend: backend}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.panel.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// keptSessions are the sessions of the picker.
func keptSessions() []Kept {
	used := time.Date(2026, 1, 2, 15, 4, 0, 0, time.UTC)
	return []Kept{
		{ID: "s1", Title: "Of wind", Panel: "winds.yaml", Used: used, Turns: 1},
		{ID: "s2", Title: "Of sun", Used: used.AddDate(0, 0, -7), Turns: 2, USD: new(0.0123)},
	}
}

func (p *panel) conversation() Conversation {
	return Conversation{
		Session: func(context.Context) Session {
			p.mu.Lock()
			defer p.mu.Unlock()
			zero := 0.0
			agents := p.crowd
			if agents == nil {
				agents = []Agent{{"ada", cmp.Or(p.model, "m"), "/work/ada"}, {"bob", "m", "/work/bob"}}
			}
			return Session{ID: p.session, Title: "Talk " + p.session, Agents: agents, Messages: 2 * len(p.past), USD: &zero, Context: 700, Window: 10000}
		},
		Notices: func() []string {
			p.mu.Lock()
			defer p.mu.Unlock()
			notices := p.notices
			p.notices = nil
			return notices
		},
		Past: func(context.Context) ([]Exchange, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.Clone(p.past), nil
		},
		Ask: func(ctx context.Context, question string) (*massgen.Turn, error) {
			if question == "too long" {
				return nil, errors.New("question: it is too long")
			}
			return p.panel.Ask(ctx, p.session, question)
		},
		Settle:  func(context.Context, *massgen.Turn) {},
		Follow:  func(*report.State, massgen.Event) bool { return false },
		Summary: func(r massgen.Result) []string { return []string{"winner: " + r.Winner} },
		Analysis: func(r massgen.Result) (whole, short string) {
			if p.analysis == "" {
				return "", ""
			}
			return p.analysis, "▸ analysis"
		},
		Command: p.command,
		Commands: []Choice{
			{"/status", "show the session"}, {"/sessions", "list"}, {"/quit", "leave"},
		},
		Sessions: func(_ context.Context, after string) ([]Kept, string, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			from := 1 + slices.IndexFunc(p.kept, func(k Kept) bool { return k.ID == after })
			page := slices.Clone(p.kept[from:])
			if p.pageSize == 0 || len(page) <= p.pageSize {
				return page, "", nil
			}
			return page[:p.pageSize], page[p.pageSize-1].ID, nil
		},
		Rename: func(_ context.Context, id, title string) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.kept[slices.IndexFunc(p.kept, func(k Kept) bool { return k.ID == id })].Title = title
			return nil
		},
		Delete: func(_ context.Context, id string) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.kept = slices.DeleteFunc(p.kept, func(k Kept) bool { return k.ID == id })
			return nil
		},
		Search: func(_ context.Context, words string) ([]Found, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.searched = append(p.searched, words)
			if strings.HasPrefix("shines", words) {
				return []Found{{"s2", 1, "It shines."}}, nil
			}
			return nil, nil
		},
		Models: func() []string { return []string{"gpt-a", "gpt-b", "other"} },
		Calls: func(context.Context) ([]Call, error) {
			return []Call{{"turn-001/ada/call-001", "ada", "round 1"}, {"turn-001/bob/call-001", "bob", "round 1"}, {"turn-001/ada/call-002", "ada", "round 2"}}, nil
		},
		Input: func(_ context.Context, name string) (Input, error) {
			return Input{"the input of " + name + " with sk-secret", "+ new in " + name}, nil
		},
		History: []string{"an old question", "a newer one"},
		Typed:   func(line string) { p.typed = append(p.typed, line) },
		Redact:  func(text string) string { return strings.ReplaceAll(text, "sk-secret", "***") },
	}
}

func (p *panel) command(_ context.Context, line string) (Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commands = append(p.commands, line)
	switch {
	case line == "/new", line == "/reset":
		p.session, p.past = "s9", nil
	case strings.HasPrefix(line, "/session "):
		p.session = strings.TrimPrefix(line, "/session ")
		p.past = []Exchange{{"Why the sun?", "It **shines**.", "bob", "completed"}}
	case strings.HasPrefix(line, "/model ada "):
		p.model = strings.TrimPrefix(line, "/model ada ")
	case line == "/undo":
		p.session, p.past = "s10", nil
		return Outcome{Text: "This goes on in s10.", Draft: "What is cheap?"}, nil
	case line == "/quit":
		return Outcome{Leave: true}, nil
	case line == "/tools broken":
		return Outcome{}, errors.New("/tools: a server does not answer")
	case line == "/nonsense":
		return Outcome{}, errors.New("/nonsense: there is no such command")
	}
	return Outcome{Text: "ran " + line}, nil
}

// ran are the commands so far.
func (p *panel) ran() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.commands)
}

// rig drives a screen. until takes the messages of its commands.
type rig struct {
	t    *testing.T
	p    *panel
	s    *screen
	msgs chan tea.Msg
	quit bool
	work sync.WaitGroup
}

// start opens a screen of 80 columns and 24 lines.
func start(t *testing.T, script, question string) *rig {
	t.Helper()
	return startOn(t, newPanel(t, script), question)
}

func startOn(t *testing.T, p *panel, question string) *rig {
	t.Helper()
	r := &rig{t: t, p: p, msgs: make(chan tea.Msg)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		r.work.Wait()
	})
	do := func(f func(context.Context) tea.Msg) tea.Cmd { return func() tea.Msg { return f(ctx) } }
	r.s = newScreen(r.p.conversation(), do, mood{plain: true}, question)
	r.run(ctx, r.s.conv.readSession)
	r.update(ctx, tea.WindowSizeMsg{Width: 80, Height: 24})
	r.until("the session is known", func() bool { return r.s.session.ID != "" })
	return r
}

func (r *rig) run(ctx context.Context, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	r.work.Go(func() {
		select {
		case r.msgs <- cmd():
		case <-ctx.Done():
		}
	})
}

func (r *rig) update(ctx context.Context, msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			r.run(ctx, cmd)
		}
		return
	case tea.QuitMsg:
		r.quit = true
		return
	case nil:
		return
	}
	_, cmd := r.s.Update(msg)
	r.run(ctx, cmd)
}

// until takes messages until a fact holds.
func (r *rig) until(fact string, holds func() bool) {
	r.t.Helper()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case msg := <-r.msgs:
			r.update(r.t.Context(), msg)
		case <-late:
			r.t.Fatalf("it never comes that %s:\n%s", fact, r.screen())
		}
	}
}

// press presses keys, by their names, such as enter and ctrl+n.
func (r *rig) press(names ...string) {
	for _, name := range names {
		r.update(r.t.Context(), keyOf(name))
	}
}

func keyOf(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "backspace": tea.KeyBackspace, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	if code, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return tea.KeyPressMsg{Text: name, Code: []rune(name)[0]}
}

// write types a text.
func (r *rig) write(text string) {
	for _, letter := range text {
		r.press(string(letter))
	}
}

// screen is what the screen shows, without colours.
func (r *rig) screen() string {
	var b strings.Builder
	for line := range strings.SplitSeq(r.s.view(time.Time{}).Content, "\n") {
		b.WriteString(strings.TrimRight(visible(line), " ") + "\n")
	}
	return b.String()
}

func (r *rig) shows(text string) bool { return strings.Contains(r.screen(), text) }

// idle reports whether no turn runs.
func (r *rig) idle() bool { return r.s.talk.running == nil }

const agrees = `
rules:
  - {when: {round: 1}, reply: {text: "thinking aloud", new_answer: "Wind, says {{.Agent}}. It is **cheap**.\n\n- a\n- b"}}
  - {when: {}, reply: {vote: {agent: agent1, reason: "it is short"}}}
`

const hangs = `
rules:
  - {when: {agent: ada, round: 1}, reply: {new_answer: "Wind."}}
  - {when: {}, reply: {hang: true}}
`

// inOrder sorts lines, one behind the other, about agents that answer or vote at the same time.
func inOrder(screen string) string {
	lines := strings.Split(screen, "\n")
	for i := range lines {
		end := i
		for end < len(lines) && strings.HasSuffix(lines[end], " tokens") && strings.HasPrefix(lines[end], "  ") {
			end++
		}
		slices.Sort(lines[i:end])
	}
	return strings.Join(lines, "\n")
}

// TestScreens shows the screen at the moments that people see most.
func TestScreens(t *testing.T) {
	var b strings.Builder
	r := start(t, agrees, "")
	shot := func(title string) {
		if r.s.talk.shown != nil {
			r.s.talk.shown.EndedAt = r.s.talk.shown.Began.Add(3 * time.Second)
			for i := range r.s.talk.shown.Agents {
				r.s.talk.shown.Agents[i].Took = 3 * time.Second // however slow the machine is
			}
		}
		b.WriteString("== " + title + "\n" + inOrder(regexp.MustCompile(`\d+\.\d s`).ReplaceAllLiteralString(r.screen(), "3.0 s")))
	}
	shot("open")
	r.write("What is cheap?")
	shot("typed")
	r.press("enter")
	r.until("the turn is over", func() bool { return r.idle() && r.shows("• a") })
	shot("answered")
	r.press("?")
	shot("keys")
	r.press("esc", "tab")
	shot("an agent is chosen")
	r.press("enter")
	shot("an agent's text")
	r.press("esc", "esc")
	r.update(t.Context(), tea.WindowSizeMsg{Width: 200, Height: 30})
	shot("wide")
	r.update(t.Context(), tea.WindowSizeMsg{Width: 40, Height: 10})
	shot("small")
	checkGolden(t, "screens", b.String())
}

// TestNoteIsTold: what is typed while a turn runs is a note, and the result says who has seen it.
func TestNoteIsTold(t *testing.T) {
	r := start(t, hangs, "What is cheap?")
	r.until("the turn has begun", func() bool { return r.s.talk.running != nil && r.s.talk.running.turn != nil })
	r.write("in French")
	r.press("enter")
	r.until("the note is taken", func() bool { return len(r.s.talk.shown.Notes) == 1 })
	r.press("esc")
	r.until("the turn is over", r.idle)
	if !r.shows("note: in French (seen by nobody yet)") {
		t.Errorf("the note is not shown:\n%s", r.screen())
	}
	r = start(t, agrees, "")
	turn := report.NewState("ada", "bob")
	r.s.talk.running, r.s.talk.shown = &running{}, turn
	for _, ev := range events(time.Now(),
		report.CallStarted{Actor: actor("ada", 1)}, report.Noted{Text: "in French"}, report.CallEnded{Actor: actor("ada", 1)},
		report.CallStarted{Actor: actor("bob", 1)}, report.CallEnded{Actor: actor("bob", 1), Why: "network"}, report.CallStarted{Actor: actor("bob", 1)}, report.CallEnded{Actor: actor("bob", 1)},
	) {
		turn.Apply(ev)
		r.s.talk.tellNews()
	}
	if !r.shows("note: in French (seen by bob)") {
		t.Errorf("it does not say who has seen the note:\n%s", r.screen())
	}
}

// TestNoticeOfBeginIsShown while the turn runs that it is about.
func TestNoticeOfBeginIsShown(t *testing.T) {
	r := start(t, hangs, "")
	r.p.mu.Lock()
	r.p.notices = []string{"the session was deleted"}
	r.p.mu.Unlock()
	r.write("What is cheap?")
	r.press("enter")
	r.until("the turn has begun", func() bool { return r.s.talk.running != nil && r.s.talk.running.turn != nil })
	if !r.shows("the session was deleted") {
		t.Errorf("the notice is not shown:\n%s", r.screen())
	}
}

// TestTurnIsPaused by p on an agent.
func TestTurnIsPaused(t *testing.T) {
	r := start(t, hangs, "What is cheap?")
	r.until("ada has answered", func() bool { return r.shows("ada ✓ answered") })
	r.press("tab", "p")
	r.until("it is paused", func() bool { return r.shows("paused · ") })
	r.press("p")
	r.until("it goes on", func() bool { return r.shows("the turn was paused, and goes on") && !r.s.talk.shown.Paused })
}

// TestTurnGoesOnWithoutAgent by x on the agent, which asks, or by /without.
func TestTurnGoesOnWithoutAgent(t *testing.T) {
	r := start(t, hangs, "What is cheap?")
	r.until("ada has answered", func() bool { return r.shows("ada ✓ answered") })
	r.write("/without cy")
	r.press("enter")
	r.until("an agent that is not there is refused", func() bool { return r.shows("the panel has no such") })
	r.press("tab", "right", "x")
	if !r.shows("Go on without bob?") {
		t.Errorf("it does not ask:\n%s", r.screen())
	}
	r.press("n")
	if r.shows("dismissed") {
		t.Errorf("no goes on without bob:\n%s", r.screen())
	}
	r.press("x", "y")
	r.until("the turn is over, with ada's answer", func() bool { return r.idle() && r.shows("Wind.") })
	if phase := r.s.talk.shown.Agent("bob").Phase; phase != step.PhaseDismissed {
		t.Errorf("bob is %s", phase)
	}
	r.press("tab", "x")
	if r.s.overlay != nil {
		t.Error("x asks after the end of the turn")
	}
}

// TestSessionsAreChosen: Ctrl+N begins one, Ctrl+R asks first, Ctrl+S lists them.
func TestSessionsAreChosen(t *testing.T) {
	r := start(t, agrees, "")
	r.press("ctrl+s")
	r.until("they are listed", func() bool { return r.shows("Of sun") })
	r.write("SUN")
	if r.shows("Of wind") {
		t.Errorf("the search finds too much:\n%s", r.screen())
	}
	r.press("enter")
	r.until("s2 is open", func() bool { return r.shows("Talk s2") && r.shows("Why the sun?") && r.shows("It shines.") })
	r.press("ctrl+r", "n")
	r.press("ctrl+r", "y")
	r.until("a new one is open", func() bool { return r.shows("Talk s9") && !r.shows("Why the sun?") })
	r.press("ctrl+n")
	r.until("another one is begun", func() bool { return len(r.p.ran()) == 3 })
	if want := []string{"/session s2", "/reset", "/new"}; !slices.Equal(r.p.ran(), want) {
		t.Errorf("it ran %q, want %q", r.p.ran(), want)
	}
}

// TestLineIsEdited: the keys of the line that is typed.
func TestLineIsEdited(t *testing.T) {
	r := start(t, agrees, "")
	text := func() string { return r.s.entry.text() }
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"up", func() { r.press("up") }, "a newer one"},
		{"up again", func() { r.press("up") }, "an old question"},
		{"at the oldest", func() { r.press("up") }, "an old question"},
		{"down", func() { r.press("down", "down") }, ""},
		{"two lines", func() { r.write("a"); r.press("ctrl+j"); r.write("b") }, "a\nb"},
		{"home and end", func() { r.press("home"); r.write("x"); r.press("end"); r.write("y") }, "a\nxby"},
		{"cleared", func() { r.press("ctrl+u") }, ""},
		{"a command", func() { r.write("/stat"); r.press("tab") }, "/status "},
		{"cleared again", func() { r.press("ctrl+u") }, ""},
		{"found", func() { r.press("ctrl+f"); r.write("OLD"); r.press("enter") }, "an old question"},
		{"pasted", func() { r.press("ctrl+u"); r.update(t.Context(), tea.PasteMsg{Content: "!x\r\ny"}) }, "!x\ny"},
		{"pasted as most terminals do", func() { r.press("ctrl+u"); r.update(t.Context(), tea.PasteMsg{Content: "x\ry"}) }, "x\ny"},
		{"pasted twice", func() {
			r.press("ctrl+u")
			r.update(t.Context(), tea.PasteMsg{Content: strings.Repeat("a\r", 80)})
			r.press("home")
			r.update(t.Context(), tea.PasteMsg{Content: strings.Repeat("b\r", 80)})
		}, strings.Repeat("b\n", 80) + strings.Repeat("a\n", 80)},
		{"pasted without lines", func() {
			r.press("ctrl+u")
			r.update(t.Context(), tea.PasteMsg{Content: strings.Repeat("x", 1<<20)})
			if !r.shows("[1048576 letters]") {
				t.Errorf("the paste is not a mark:\n%s", r.screen())
			}
		}, strings.Repeat("x", 1<<20)},
		{"a long paste", func() {
			r.press("ctrl+u")
			r.write("see: ")
			r.update(t.Context(), tea.PasteMsg{Content: strings.Repeat("line\n", 80)})
			r.write(" so")
		}, "see: " + strings.Repeat("line\n", 80) + " so"},
	} {
		step.do()
		if got := text(); got != step.want {
			t.Fatalf("%s: the line is %q, want %q", step.name, got, step.want)
		}
	}
	if !r.shows("see: [80 lines] so") {
		t.Errorf("the long paste is not a mark:\n%s", r.screen())
	}
}

// TestCommandsRun: the conversation's commands, and their errors.
func TestCommandsRun(t *testing.T) {
	r := start(t, agrees, "")
	r.write("/status")
	r.press("enter")
	r.until("it has run", func() bool { return r.shows("ran /status") })
	r.write("/nonsense")
	r.press("enter")
	r.until("it is refused", func() bool { return r.shows("✗ /nonsense: there is no such command") })
	r.write("too long")
	r.press("enter")
	r.until("the question is refused", func() bool { return r.shows("✗ question: it is too long") && r.idle() })
	r.write("!echo sk-secret")
	r.press("enter")
	r.until("the command has run", func() bool { return r.shows("$ echo") && r.shows("***") })
	if r.shows("sk-secret") {
		t.Errorf("the secret is shown:\n%s", r.screen())
	}
	r.write("!")
	r.press("backspace") // takes the command back
	r.update(t.Context(), tea.PasteMsg{Content: "!echo pasted"})
	r.press("enter")
	r.until("the pasted text is a question", func() bool { return r.idle() && r.shows("Wind, says") })
	r.write("/quit")
	r.press("enter")
	r.until("it leaves", func() bool { return r.quit })
}

// TestAnswerIsCopied after a person has let it, which is asked once.
func TestAnswerIsCopied(t *testing.T) {
	r := start(t, agrees, "What is cheap?")
	r.until("the turn is over", func() bool { return r.idle() && r.s.talk.last.answer != "" })
	r.press("ctrl+y")
	if !r.shows("write to this terminal's clipboard") {
		t.Errorf("it does not ask:\n%s", r.screen())
	}
	r.press("y")
	if !r.s.mood.mayCopy || r.s.overlay != nil {
		t.Error("the yes is not remembered")
	}
}

// TestAnswersAreCompared side by side, with the words that differ.
func TestAnswersAreCompared(t *testing.T) {
	r := start(t, agrees, "What is cheap?")
	r.until("the turn is over", func() bool { return r.idle() && r.s.talk.last.answer != "" })
	r.press("ctrl+g")
	for _, want := range []string{"answers: ada.1 and bob.1", "Wind, says ada. It is cheap.", "│ Wind, says bob. It is cheap.", "● ada.1  ", "│ ▲ bob.1", "│ • a"} {
		if !r.shows(want) {
			t.Errorf("%q is not shown:\n%s", want, r.screen())
		}
	}
	for text, want := range map[string]string{"a b c": "a !b! c", "x": "!x!", "a c": "a c", "c a": "!c! a", "a  b\n\nc": "a  !b!\n\nc", "a │ c": "a │ c", "\x1b[1mb a\x1b[m": "!b!\x1b[1m a!"} {
		lines := different(strings.Split(text, "\n"), []string{"a c"})
		marked := strings.ReplaceAll(strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b[38;5;130m", "!"), "\x1b[m", "!")
		if marked != want {
			t.Errorf("%q against %q: %q, want %q", text, "a c", marked, want)
		}
	}
}
