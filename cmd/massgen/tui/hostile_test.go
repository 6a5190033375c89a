package tui

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// hostile are texts that would take over a terminal, or its layout.
var hostile = rapid.SampledFrom([]string{
	"\x1b[2J\x1b[H", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://x\x1b\\link", "\x1b]0;title\x07", "\x1bP1$r\x1b\\", "\x9b31m", "\u009b31m", "\u009d0;x\u009c",
	"\u202ereversed", "\u2066isolated", "a" + strings.Repeat("\u0301", 500), strings.Repeat("\u200b", 500), "👩" + strings.Repeat("\u200d👩", 200),
	strings.Repeat("x", 3000), strings.Repeat("日本", 50), "\xff\xfe\xc3", "one\r\ntwo\rthree", "a\tb", "\x00\x07\x08", "line\nline\nline", "", "ada", "\u2028\u2029",
	"🇩🇪🇩", "| a | b |\n|--|--|\n| \x1b[31m | " + strings.Repeat("c", 300) + " |", "```\n\x1b[1m", "\x1b", "\x7f",
})

// colours are the control sequences that the screen itself writes.
var colours = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// TestScreenWithstands whatever is shown, typed and sized: no frame is larger than its terminal, and
// nothing in it is obeyed.
func TestScreenWithstands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(of string) string { return hostile.Draw(t, of) }
		var s *screen
		var run func(cmd tea.Cmd, depth int)
		tell := func(msg tea.Msg, depth int) {
			_, cmd := s.Update(msg)
			run(cmd, depth+1)
		}
		run = func(cmd tea.Cmd, depth int) {
			if cmd == nil || depth > 4 {
				return
			}
			switch msg := cmd().(type) {
			case tea.BatchMsg:
				for _, each := range msg {
					run(each, depth)
				}
			case tickMsg, tea.QuitMsg, nil:
			default:
				tell(msg, depth)
			}
		}
		do := func(f func(context.Context) tea.Msg) tea.Cmd { return func() tea.Msg { return f(t.Context()) } }
		s = newScreen(hostileConversation(text), do, mood{plain: true}, "")
		run(s.conv.readSession, 0)
		run(s.conv.readPast(s.transcript.page), 0)
		tell(tea.WindowSizeMsg{Width: 80, Height: 24}, 0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				tell(tea.WindowSizeMsg{Width: rapid.SampledFrom([]int{1, 2, 3, 5, 8, 40, 80, 400}).Draw(t, "width"), Height: rapid.SampledFrom([]int{1, 2, 3, 4, 7, 24, 120}).Draw(t, "height")}, 0)
			case 1, 2:
				name := rapid.SampledFrom([]string{
					"enter", "tab", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace", "?", "i", "p", "q", "y", "n",
					"ctrl+r", "ctrl+u", "ctrl+f", "ctrl+s", "ctrl+t", "ctrl+g", "ctrl+j", "ctrl+x", "ctrl+d", "esc", "x", "/", "@",
				}).Draw(t, "key")
				tell(keyOf(name), 0)
			case 3:
				tell(tea.PasteMsg{Content: text("paste")}, 0)
			case 4:
				if s.talk.running == nil {
					s.talk.running, s.talk.shown = &running{}, report.NewState(text("agent"), "bob")
				}
				for _, ev := range hostileEvents(text) {
					s.talk.shown.Apply(ev)
				}
				s.talk.tellNews()
			case 5:
				s.talk.conclude(massgen.Result{
					Answer: text("answer"), Winner: text("winner"), Status: text("status"), Warnings: []string{text("warning")},
					Answers: []report.ResultAnswer{{Agent: "ada", Label: text("label"), Content: text("content")}, {Agent: "bob", Label: "bob.1", Content: text("other")}},
				})
			case 6:
				tell(approvalMsg{massgen.ApprovalRequest{Agent: text("agent"), Tool: text("tool"), Why: text("why"), Arguments: `{"path":"` + strings.ToValidUTF8(text("path"), "") + `"}`}, Offer{Session: text("session"), Always: text("rule"), Grant: func(bool) error { return nil }}, make(chan massgen.Decision, 1), nil}, 0)
			}
			checkFrame(t, s)
		}
	})
}

func checkFrame(t *rapid.T, s *screen) {
	t.Helper()
	v := s.view(time.Time{})
	lines := strings.Split(colours.ReplaceAllString(v.Content, ""), "\n")
	if len(lines) > s.size.Height {
		t.Fatalf("%d lines on a screen of %d:\n%s", len(lines), s.size.Height, v.Content)
	}
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > s.size.Width && s.size.Width > 2 { // a wide letter has no place in one column
			t.Errorf("%d columns on a screen of %d: %q", w, s.size.Width, line)
		}
		if strings.ContainsFunc(line, plain.IsControl) || !utf8.ValidString(line) {
			t.Errorf("the terminal would obey %q", line)
		}
		if len(line) > 40*(s.size.Width+1) {
			t.Errorf("%d bytes in a line of %d columns: %.80q", len(line), s.size.Width, line)
		}
	}
	if strings.ContainsFunc(v.WindowTitle, plain.IsControl) {
		t.Errorf("the title is %q", v.WindowTitle)
	}
}

func hostileConversation(text func(string) string) Conversation {
	return Conversation{
		Session: func(context.Context) Session {
			return Session{ID: "s1", Agents: []Agent{{text("id"), "m", text("folder")}, {ID: "bob", Model: "m"}}, Context: 7}
		},
		Notices: func() []string { return []string{text("notice")} },
		Past: func(context.Context) ([]Exchange, error) {
			return []Exchange{{text("question"), text("answer"), text("winner"), text("status")}, {text("question"), "", "", text("status")}}, nil
		},
		Command: func(context.Context, string) (Outcome, error) {
			return Outcome{Text: text("output"), Draft: text("draft")}, nil
		},
		Commands: []Choice{{"/status", "x"}},
		Search: func(context.Context, string) ([]Found, error) {
			return []Found{{text("session"), 1, text("snippet")}}, nil
		},
		Models: func() []string { return []string{text("model")} },
		Sessions: func(context.Context, string) ([]Kept, string, error) {
			return []Kept{{ID: "s1", Title: text("title"), Panel: text("panel")}, {ID: text("name"), Title: "y"}}, "", nil
		},
		Rename: func(context.Context, string, string) error { return nil },
		Delete: func(context.Context, string) error { return nil },
		Calls: func(context.Context) ([]Call, error) {
			return []Call{{text("name"), "ada", text("about")}, {text("name"), text("id"), text("about")}}, nil
		},
		Input:    func(context.Context, string) (Input, error) { return Input{text("input"), text("difference")}, nil },
		Ask:      func(context.Context, string) (*massgen.Turn, error) { return nil, context.Canceled },
		History:  []string{text("typed"), text("typed")},
		Typed:    func(string) {},
		Follow:   func(*report.State, massgen.Event) bool { return false },
		Summary:  func(massgen.Result) []string { return []string{text("summary"), "10 calls"} },
		Analysis: func(massgen.Result) (whole, short string) { return text("analysis"), text("short") },
		Redact:   asIs,
	}
}

func hostileEvents(text func(string) string) []massgen.Event {
	id := text("agent")
	return []massgen.Event{
		report.StepStarted{Actor: actor(id, 1)}, report.TextDelta{Actor: actor(id, 1), Act: "new_answer", Text: text("text")}, report.Thinking{Actor: actor("bob", 1), Text: text("thought")},
		report.ToolCalled{Actor: actor("bob", 1), Tool: text("tool")}, report.ToolStarted{Actor: actor(id, 1), Tool: report.ToolCall{Name: text("tool")}},
		report.Answered{StepEnd: end("bob", 1), Label: text("label"), Content: text("content")}, report.Retrying{Actor: actor(id, 1), Why: text("why")},
		report.Failed{StepEnd: end(id, 1), Reason: text("reason")},
		report.ToolStarted{Actor: actor("bob", 2), Call: "1", Tool: report.ToolCall{Name: text("tool")}},
		report.ToolEnded{Actor: actor("bob", 2), Call: "1", Tool: report.ToolCall{Name: text("tool"), Arguments: text("arguments"), Result: text("result")}},
	}
}
