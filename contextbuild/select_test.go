package contextbuild

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/models/prices"
)

// estimate counts as for a model without a tokenizer here.
func estimate(m backends.Message) int { return prices.Counter{}.Message(m).Tokens }

// choose applies a policy to a history as the program does.
func choose(history []Exchange, summary Exchange, s policy.Settings, room int, count Counter) ([]Exchange, policy.Selection) {
	var size policy.Summary
	if summary.LastTurn > 0 {
		size = policy.Summary{
			Range:  policy.Range{First: summary.FirstTurn, Last: summary.LastTurn},
			Tokens: Measure(summary, 0, count).Tokens(),
		}
	}
	p := policy.NewPicker(s, room, size)
	for _, e := range slices.Backward(history) {
		if !p.Add(Measure(e, s.Cut(), count)) {
			break
		}
	}
	selection := p.Selection()
	return Select(history, summary, selection), selection
}

// TestSelectGolden runs the scripts in testdata/select. The command history keeps
// its input: a line is a turn's number, question and answer, parted by " | ", where
// * and a number stand for that many letters. A line that begins with a call and its
// result, as "call weather = rain", adds them to the turn before it. Select prints
// what a policy shows, as a panel's message or, with solo, as messages.
func TestSelectGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/select", func(t *testing.T, path string) {
		var history []Exchange
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "history" {
				history = parseHistory(t, d.Input)
				return ""
			}
			s, room, summary := policy.Defaults(), policy.Unlimited, Exchange{}
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "policy":
					s.Kind = policy.Kind(arg.Vals[0])
				case "max":
					arg.Scan(t, 0, &s.MaxMessages)
				case "keep":
					arg.Scan(t, 0, &s.KeepRecent)
				case "room":
					arg.Scan(t, 0, &room)
				case "summary":
					summary = Exchange{Answer: "They spoke of the weather.", FirstTurn: 1}
					arg.Scan(t, 0, &summary.LastTurn)
				}
			}
			shown, selection := choose(history, summary, s, room, estimate)
			out := selection.String() + "\n"
			if d.Cmd == "select" {
				return out + HistorySection(shown)
			}
			for _, m := range appendHistory(nil, shown) {
				line, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				out += string(line) + "\n"
			}
			return out
		})
	})
}

func parseHistory(t *testing.T, text string) []Exchange {
	var history []Exchange
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSuffix(line, "\n")
		if call, ok := strings.CutPrefix(line, "call "); ok {
			addCall(&history[len(history)-1], call)
			continue
		}
		parts := strings.Split(line, " | ")
		e := Exchange{Question: letters(parts[1]), Answer: letters(parts[2])}
		if _, err := fmt.Sscan(parts[0], &e.Turn); err != nil {
			t.Fatal(err)
		}
		history = append(history, e)
	}
	return history
}

func letters(text string) string {
	n := 0
	if _, err := fmt.Sscanf(text, "*%d", &n); err == nil {
		return strings.Repeat("\u00fc", n)
	}
	return text
}

func addCall(e *Exchange, call string) {
	name, result, _ := strings.Cut(call, " = ")
	if len(e.Messages) == 0 {
		e.Messages = []backends.Message{backends.User(e.Question), backends.Assistant(e.Answer)}
	}
	id := fmt.Sprintf("%d.%d", e.Turn, len(e.Messages))
	e.Messages = slices.Insert(e.Messages, len(e.Messages)-1,
		backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{backends.ToolCall{ID: id, Name: name, Arguments: "{}"}}},
		backends.Message{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: id, Name: name, Content: letters(result)}}})
}

// drawHistory returns turns of one form: of a panel of one, with tools, or not.
func drawHistory(t *rapid.T) []Exchange {
	number, solo := 0, rapid.Bool().Draw(t, "solo")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Exchange {
		number += rapid.IntRange(1, 2).Draw(t, "step")
		e := Exchange{Turn: number, Question: hostileText().Draw(t, "question"), Answer: hostileText().Draw(t, "answer")}
		if solo {
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				addCall(&e, "look = "+rapid.StringN(0, 40, -1).Draw(t, "result"))
			}
		}
		return e
	}), 0, 8).Draw(t, "history")
}

func drawSettings(t *rapid.T) policy.Settings {
	s := policy.Defaults()
	s.Kind = rapid.SampledFrom([]policy.Kind{policy.Full, policy.Window, policy.Prune, policy.Summarize}).Draw(t, "kind")
	s.MaxMessages = rapid.IntRange(0, 20).Draw(t, "max_messages")
	s.KeepRecent = rapid.IntRange(0, s.MaxMessages).Draw(t, "keep_recent")
	s.KeepSystem = rapid.Bool().Draw(t, "keep_system")
	s.WindowMessages = rapid.IntRange(0, 8).Draw(t, "window.messages")
	s.WindowShown = rapid.IntRange(0, s.WindowMessages).Draw(t, "window.shown")
	s.WindowCharacters = rapid.IntRange(0, 30).Draw(t, "window.characters")
	return s
}

// flat returns all messages of a history, plain exchanges included.
func flat(history []Exchange, most int) []backends.Message {
	var messages []backends.Message
	for _, e := range history {
		messages = append(messages, SoloMessages(cutExchange(e, most))...)
	}
	return messages
}

// TestSelectShowsTheEnd holds for every policy, room and history.
func TestSelectShowsTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history, s := drawHistory(t), drawSettings(t)
		room := rapid.OneOf(rapid.IntRange(-5, 400), rapid.Just(policy.Unlimited)).Draw(t, "room")
		shown, selection := choose(history, Exchange{}, s, room, estimate)

		all, got := flat(history, s.Cut()), flat(shown, 0)
		if len(got) != selection.Messages {
			t.Fatalf("%d messages are shown, %d were chosen", len(got), selection.Messages)
		}
		if diff := cmp.Diff(all[len(all)-len(got):], got, equalEmpty); diff != "" {
			t.Errorf("shown is not the end of the history (-end +shown)\n%s", diff)
		}
		if diff := cmp.Diff(backends.Repair(got), got, equalEmpty); diff != "" {
			t.Errorf("a call and its result were parted (-repaired +shown)\n%s", diff)
		}
		if diff := cmp.Diff(shown, Select(shown, Exchange{}, selection), equalEmpty); diff != "" {
			t.Errorf("chosen twice (-once +twice)\n%s", diff)
		}
		if selection.Everything() && s.Cut() == 0 {
			if diff := cmp.Diff(history, shown, equalEmpty); diff != "" {
				t.Errorf("everything is not the history\n%s", diff)
			}
		}
	})
}

var equalEmpty = cmp.FilterValues(func(a, b []backends.Message) bool { return len(a)+len(b) == 0 }, cmp.Ignore())

// TestSelectKeepsToItsRoom builds inputs of what was chosen. What a history adds to
// an input that has an empty turn is no more than was counted.
func TestSelectKeepsToItsRoom(t *testing.T) {
	t.Parallel()
	exact := prices.NewVocabularies().Counter("openai", "gpt-5")
	for name, count := range map[string]Counter{
		"by tokenizer": func(m backends.Message) int { return exact.Message(m).Tokens },
		"by bytes":     estimate,
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				history, s, summary := drawHistory(t), drawSettings(t), Exchange{}
				if len(history) > 0 && rapid.Bool().Draw(t, "summary") {
					summary = Exchange{Answer: hostileText().Draw(t, "text"), FirstTurn: 1, LastTurn: history[0].Turn}
				}
				room := rapid.IntRange(-5, 400).Draw(t, "room")
				in := Input{SystemMessage: "Own.", Question: "q", Participants: []string{"a"}, History: []Exchange{{}}}
				fixed, fixedSolo := panelTokens(in, count), messageTokens(Solo(in), count)
				var selection policy.Selection
				in.History, selection = choose(history, summary, s, room, count)
				if selection.Tokens > max(room, 0) {
					t.Errorf("%d tokens are chosen for a room of %d", selection.Tokens, room)
				}
				solo := slices.ContainsFunc(in.History, func(e Exchange) bool { return len(e.Messages) > 0 })
				if got := panelTokens(in, count); !solo && got > fixed+selection.Tokens {
					t.Errorf("the input has %d tokens, more than %d and %d", got, fixed, selection.Tokens)
				}
				if got := messageTokens(Solo(in), count); got > fixedSolo+selection.Tokens+count(backends.User(leftOut)) {
					t.Errorf("the conversation has %d tokens, more than %d and %d", got, fixedSolo, selection.Tokens)
				}
			})
		})
	}
}

func panelTokens(in Input, count Counter) int {
	built := Build(in)
	return count(backends.System(built.System)) + count(backends.User(built.User))
}

// TestSelectMessages holds for any conversation that a client may give.
func TestSelectMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := drawMessages(t)
		before, s := slices.Clone(messages), drawSettings(t)
		room := rapid.OneOf(rapid.IntRange(-5, 400), rapid.Just(policy.Unlimited)).Draw(t, "room")
		shown, selection := SelectMessages(messages, s, room, estimate)

		var system, rest []backends.Message
		for _, m := range messages {
			if s.KeepSystem && m.Role == backends.RoleSystem {
				system = append(system, m)
				continue
			}
			rest = append(rest, cutExchange(Exchange{Messages: []backends.Message{m}}, s.Cut()).Messages[0])
		}
		want := slices.Concat(system, rest[len(rest)-selection.Messages:])
		if selection.Everything() {
			want = messages
		}
		if diff := cmp.Diff(want, shown, equalEmpty); diff != "" {
			t.Errorf("(-want +shown)\n%s", diff)
		}
		if diff := cmp.Diff(backends.Repair(shown), shown, equalEmpty); diff != "" {
			t.Errorf("a call and its result were parted (-repaired +shown)\n%s", diff)
		}
		if got := messageTokens(shown, estimate); got > max(room, messageTokens(system, estimate)) {
			t.Errorf("%d tokens are shown in a room of %d", got, room)
		}
		again, _ := SelectMessages(shown, s, room, estimate)
		if diff := cmp.Diff(shown, again, equalEmpty); diff != "" {
			t.Errorf("chosen twice (-once +twice)\n%s", diff)
		}
		if diff := cmp.Diff(before, messages); diff != "" {
			t.Errorf("the conversation was changed\n%s", diff)
		}
	})
}

// drawMessages returns a conversation as Repair leaves it.
func drawMessages(t *rapid.T) []backends.Message {
	id := 0
	return backends.Repair(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backends.Message {
		text := backends.Text{Text: rapid.StringN(0, 40, -1).Draw(t, "text")}
		m := backends.Message{Parts: []backends.Part{text}}
		m.Role = rapid.SampledFrom([]backends.Role{backends.RoleSystem, backends.RoleUser, backends.RoleAssistant, backends.RoleAssistant}).Draw(t, "role")
		if m.Role == backends.RoleAssistant {
			for range rapid.IntRange(0, 2).Draw(t, "calls") {
				id++
				m.Parts = append(m.Parts, backends.ToolCall{ID: fmt.Sprint(id), Name: "look", Arguments: "{}"})
			}
		}
		return m
	}), 0, 12).Draw(t, "messages"))
}

// TestSelectionRebuilds journals a selection and shows it again, from no more of the
// history than it names.
func TestSelectionRebuilds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history, s := drawHistory(t), drawSettings(t)
		shown, selection := choose(history, Exchange{}, s, rapid.IntRange(0, 400).Draw(t, "room"), estimate)
		data, err := json.Marshal(selection)
		if err != nil {
			t.Fatal(err)
		}
		var journaled policy.Selection
		if err := json.Unmarshal(data, &journaled); err != nil {
			t.Fatal(err)
		}
		needed := history[len(history)-selection.Turns:]
		in := Input{Question: "q", Participants: []string{"a"}, History: shown}
		again := in
		again.History = Select(needed, Exchange{}, journaled)
		if Build(in) != Build(again) {
			t.Error("the panel's messages differ")
		}
		if diff := cmp.Diff(Solo(in), Solo(again)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc..."}, {"\u00fc\u00fc\u00fc\u00fc", 3, "\u00fc\u00fc\u00fc..."}, {"a\xffb", 2, "a\xff..."},
	} {
		if got := cut(tc.text, tc.most); got != tc.want || cut(got, tc.most) != got {
			t.Errorf("%q cut at %d: %q, want %q", tc.text, tc.most, got, tc.want)
		}
	}
}

// TestSummaryCallFits holds for every history and room.
func TestSummaryCallFits(t *testing.T) {
	t.Parallel()
	exact := prices.NewVocabularies().Counter("openai", "gpt-5")
	count := func(m backends.Message) int { return exact.Message(m).Tokens }
	rapid.Check(t, func(t *rapid.T) {
		turns, earlier := drawHistory(t), Exchange{}
		if len(turns) == 0 {
			return
		}
		if rapid.Bool().Draw(t, "earlier") {
			earlier = Exchange{Answer: hostileText().Draw(t, "summary"), FirstTurn: 1, LastTurn: turns[0].Turn - 1}
		}
		room := rapid.OneOf(rapid.IntRange(0, 1000), rapid.Just(policy.Unlimited)).Draw(t, "room")
		messages, covered := SummaryCall(earlier, turns, 200, room, count)
		if covered < 1 || covered > len(turns) || room == policy.Unlimited && covered != len(turns) {
			t.Fatalf("%d of %d turns are covered", covered, len(turns))
		}
		smallest, _ := SummaryCall(earlier, []Exchange{{Turn: turns[0].Turn}}, 200, policy.Unlimited, count)
		const cut = 30 // two texts of a character and the mark, and the marks around two messages
		if got := messageTokens(messages, count); got > max(room, messageTokens(smallest, count)+cut) {
			t.Errorf("%d tokens in a room of %d", got, room)
		}
		if want := fmt.Sprintf("Summarize turns 1 to %d of this conversation.", turns[covered-1].Turn); !strings.HasSuffix(messages[1].Text(), "\n\n"+want) {
			t.Errorf("%q does not end with %q", messages[1].Text(), want)
		}
	})
}
