package policy_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/policy"
)

// TestScripts runs the scripts in testdata. The command pick gives a picker the
// history of its input, a turn a line, oldest first: its number and its units, each
// MESSAGES*TOKENS or TOKENS. It prints how many turns were looked at, the
// selection, and which turns a new summary is wanted of.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s, room, summary := policy.Defaults(), policy.Unlimited, policy.Summary{}
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "policy":
					s.Kind = policy.Kind(arg.Vals[0])
				case "max":
					arg.Scan(t, 0, &s.MaxMessages)
				case "keep":
					arg.Scan(t, 0, &s.KeepRecent)
				case "shown":
					arg.Scan(t, 0, &s.WindowShown)
				case "room":
					arg.Scan(t, 0, &room)
				case "summary":
					summary.First = 1
					arg.Scan(t, 0, &summary.Last)
					arg.Scan(t, 1, &summary.Tokens)
				default:
					t.Fatalf("unknown argument %s", arg.Key)
				}
			}
			return pick(s, room, summary, parseTurns(t, d.Input))
		})
	})
}

func parseTurns(t *testing.T, text string) []policy.Turn {
	var turns []policy.Turn
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		turn := policy.Turn{}
		if _, err := fmt.Sscanf(fields[0], "%d:", &turn.Number); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for _, field := range fields[1:] {
			u := policy.Unit{Messages: 1}
			if strings.Contains(field, "*") {
				if _, err := fmt.Sscanf(field, "%d*%d", &u.Messages, &u.Tokens); err != nil {
					t.Fatalf("%q: %v", field, err)
				}
			} else if _, err := fmt.Sscanf(field, "%d", &u.Tokens); err != nil {
				t.Fatalf("%q: %v", field, err)
			}
			turn.Units = append(turn.Units, u)
		}
		turns = append(turns, turn)
	}
	return turns
}

func pick(s policy.Settings, room int, summary policy.Summary, turns []policy.Turn) string {
	p := policy.NewPicker(s, room, summary)
	seen := 0
	for i := len(turns) - 1; i >= 0; i-- {
		seen++
		if !p.Add(turns[i]) {
			break
		}
	}
	data, err := json.Marshal(p.Selection())
	if err != nil {
		return err.Error()
	}
	out := fmt.Sprintf("saw %d of %d turns\n%s\n", seen, len(turns), data)
	if text := p.Selection().String(); text != "" {
		out += text + "\n"
	}
	if wanted, ok := p.NewSummary(); ok {
		out += fmt.Sprintf("wants a summary of turns %d to %d\n", wanted.First, wanted.Last)
	}
	return out
}

func drawTurns(t *rapid.T) []policy.Turn {
	number := 0
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) policy.Turn {
		number += rapid.IntRange(1, 2).Draw(t, "step")
		turn := policy.Turn{Number: number}
		for range rapid.IntRange(1, 5).Draw(t, "units") {
			turn.Units = append(turn.Units, policy.Unit{
				Messages: rapid.IntRange(1, 2).Draw(t, "messages"), Tokens: rapid.IntRange(0, 30).Draw(t, "tokens"),
			})
		}
		return turn
	}), 0, 12).Draw(t, "turns")
}

func drawSettings(t *rapid.T) policy.Settings {
	s := policy.Defaults()
	s.Kind = rapid.SampledFrom([]policy.Kind{policy.Full, policy.Window, policy.Prune, policy.Summarize}).Draw(t, "kind")
	s.MaxMessages = rapid.IntRange(0, 20).Draw(t, "max_messages")
	s.KeepRecent = rapid.IntRange(0, s.MaxMessages).Draw(t, "keep_recent")
	s.WindowMessages = rapid.IntRange(0, 8).Draw(t, "window.messages")
	s.WindowShown = rapid.IntRange(0, s.WindowMessages).Draw(t, "window.shown")
	return s
}

func run(p *policy.Picker, turns []policy.Turn) policy.Selection {
	for i := len(turns) - 1; i >= 0 && p.Add(turns[i]); i-- {
	}
	return p.Selection()
}

// TestSelection holds for every policy, room and history, with a summary or
// without.
func TestSelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns, s := drawTurns(t), drawSettings(t)
		room := rapid.OneOf(rapid.IntRange(-5, 300), rapid.Just(policy.Unlimited)).Draw(t, "room")
		var summary policy.Summary
		if len(turns) > 0 && rapid.Bool().Draw(t, "summary") {
			summary = policy.Summary{Range: policy.Range{First: 1, Last: rapid.SampledFrom(turns).Draw(t, "last").Number}, Tokens: rapid.IntRange(0, 60).Draw(t, "size")}
		}
		picker := policy.NewPicker(s, room, summary)
		got := run(picker, turns)

		messages, tokens := sum(turns, got)
		if messages != got.Messages {
			t.Errorf("the last %d messages are %d, which parts a unit", got.Messages, messages)
		}
		if got.Summary != nil {
			tokens += summary.Tokens
			if s.Kind != policy.Summarize || *got.Summary != summary.Range || got.FirstTurn > 0 && got.FirstTurn <= summary.Last {
				t.Errorf("a summary of %v beside turn %d", got.Summary, got.FirstTurn)
			}
		}
		if tokens != got.Tokens || tokens > max(room, 0) {
			t.Errorf("%d tokens are shown, said to be %d, in a room of %d", tokens, got.Tokens, room)
		}
		if most, ok := map[policy.Kind]int{policy.Window: s.WindowShown, policy.Prune: s.MaxMessages, policy.Summarize: s.MaxMessages}[s.Kind]; ok && got.Messages > most {
			t.Errorf("%d messages, at most %d", got.Messages, most)
		}
		if s.Kind == policy.Prune && got.LeftOut && got.Messages > s.KeepRecent {
			t.Errorf("%d messages are kept, at most %d", got.Messages, s.KeepRecent)
		}
		checkLeftOut(t, turns, s, summary, got)
		checkWanted(t, picker, turns, s, room, summary)
	})
}

// sum adds up the newest units until they have the messages of a selection.
func sum(turns []policy.Turn, s policy.Selection) (messages, tokens int) {
	for i := len(turns) - 1; i >= 0; i-- {
		for j := len(turns[i].Units) - 1; j >= 0; j-- {
			if messages >= s.Messages {
				return messages, tokens
			}
			messages += turns[i].Units[j].Messages
			tokens += turns[i].Units[j].Tokens
		}
	}
	return messages, tokens
}

func checkLeftOut(t *rapid.T, turns []policy.Turn, s policy.Settings, summary policy.Summary, got policy.Selection) {
	all := 0
	for _, turn := range turns {
		if s.Kind != policy.Summarize || turn.Number > summary.Last {
			for _, u := range turn.Units {
				all += u.Messages
			}
		}
	}
	dropped := s.Kind == policy.Summarize && summary.Last > 0 && got.Summary == nil
	if got.LeftOut != (got.Messages < all || dropped) {
		t.Errorf("%d of %d messages are shown, a summary is dropped: %v; left out: %v", got.Messages, all, dropped, got.LeftOut)
	}
	if got.NoRoom && !got.LeftOut || got.LeftOut && got.Everything() || (got.String() == "") != got.Everything() {
		t.Errorf("%+v: %q", got, got)
	}
}

// checkWanted makes the summary that is wanted, if it is small, and sees that it
// is enough.
func checkWanted(t *rapid.T, p *policy.Picker, turns []policy.Turn, s policy.Settings, room int, summary policy.Summary) {
	wanted, ok := p.NewSummary()
	if got := p.Selection(); !ok {
		if s.Kind == policy.Summarize && got.LeftOut && (got.Summary != nil || summary.Last == 0) {
			t.Error("something is left out, and no summary wanted of it")
		}
		return
	}
	if s.Kind != policy.Summarize || wanted.First != 1 || wanted.Last <= summary.Last {
		t.Fatalf("a summary of turns %d to %d is wanted, after one of turns up to %d", wanted.First, wanted.Last, summary.Last)
	}
	if room < 2 {
		return
	}
	next := policy.NewPicker(s, room, policy.Summary{Range: wanted, Tokens: min(room/2, 100)})
	if got := run(next, turns); got.LeftOut || got.Summary == nil {
		t.Errorf("with the wanted summary of turns 1 to %d: %s", wanted.Last, got)
	}
	if again, ok := next.NewSummary(); ok {
		t.Errorf("with the wanted summary of turns 1 to %d another is wanted, to %d", wanted.Last, again.Last)
	}
}

// TestSeesNoMoreThanItNeeds gives pickers a history without an end.
func TestSeesNoMoreThanItNeeds(t *testing.T) {
	for kind, most := range map[policy.Kind]int{policy.Window: 2, policy.Prune: 26, policy.Summarize: 26, policy.Full: 501} {
		s := policy.Defaults()
		s.Kind = kind
		p := policy.NewPicker(s, 10_000, policy.Summary{})
		seen := 1
		for p.Add(policy.Turn{Number: 1_000_000 - seen, Units: []policy.Unit{{1, 10}, {1, 10}}}) {
			seen++
		}
		if seen != most {
			t.Errorf("%s looked at %d turns, want %d", kind, seen, most)
		}
		if p.Add(policy.Turn{Number: 1}) {
			t.Errorf("%s wants more after it did not", kind)
		}
	}
}

// TestSelectionIsIdempotent chooses again from what was chosen.
func TestSelectionIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns, s := drawTurns(t), drawSettings(t)
		room := rapid.IntRange(0, 300).Draw(t, "room")
		first := run(policy.NewPicker(s, room, policy.Summary{}), turns)
		again := run(policy.NewPicker(s, room, policy.Summary{}), lastMessages(turns, first.Messages))
		first.LeftOut, first.NoRoom = false, false
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("(-first +again)\n%s", diff)
		}
	})
}

func lastMessages(turns []policy.Turn, n int) []policy.Turn {
	var last []policy.Turn
	for i := len(turns) - 1; i >= 0 && n > 0; i-- {
		turn := policy.Turn{Number: turns[i].Number}
		for j := len(turns[i].Units) - 1; j >= 0 && n > 0; j-- {
			turn.Units = append([]policy.Unit{turns[i].Units[j]}, turn.Units...)
			n -= turns[i].Units[j].Messages
		}
		last = append([]policy.Turn{turn}, last...)
	}
	return last
}

func TestSelectionAsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := run(policy.NewPicker(drawSettings(t), rapid.IntRange(0, 300).Draw(t, "room"), policy.Summary{}), drawTurns(t))
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back policy.Selection
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back); diff != "" || len(data) > 300 {
			t.Errorf("%d bytes\n%s", len(data), diff)
		}
	})
}

func TestRoom(t *testing.T) {
	for _, tc := range []struct{ window, fixed, output, agents, want int }{
		{0, 1000, 100, 3, policy.Unlimited},
		{128_000, 1000, 2000, 3, 128_000 - 4*2000 - 1000},
		{128_000, 1000, 0, 1, 128_000 - 2*8192 - 1000},
		{8192, 1000, 0, 3, 4096 - 1000},
		{8192, 5000, 0, 3, 0},
		{1000, 0, math.MaxInt, 5, 500},
	} {
		if got := policy.Room(tc.window, tc.fixed, tc.output, tc.agents); got != tc.want {
			t.Errorf("%+v: got %d", tc, got)
		}
	}
}

func TestSummaryWords(t *testing.T) {
	for room, want := range map[int]int{policy.Unlimited: 500, 3000: 500, 1200: 200, 100: 50, 0: 50} {
		if got := policy.SummaryWords(room); got != want {
			t.Errorf("room %d: %d words, want %d", room, got, want)
		}
	}
}

func TestWarning(t *testing.T) {
	share := policy.Defaults().WarnAt
	tokens := policy.Thresholds{Approaching: policy.Threshold{Tokens: 100}, Limit: policy.Threshold{Tokens: 200}}
	messages := policy.Thresholds{Approaching: policy.Threshold{Messages: 10}, Limit: policy.Threshold{Messages: 20}}
	for _, tc := range []struct {
		name string
		at   policy.Thresholds
		use  policy.Use
		want policy.Warning
	}{
		{"below both", share, policy.Use{Tokens: 799, Limit: 1000}, policy.NoWarning},
		{"at 80 %", share, policy.Use{Tokens: 800, Limit: 1000}, policy.ApproachingLimit},
		{"below 95 %", share, policy.Use{Tokens: 949, Limit: 1000}, policy.ApproachingLimit},
		{"at 95 %", share, policy.Use{Tokens: 121_600, Limit: 128_000}, policy.AtLimit},
		{"over the limit", share, policy.Use{Tokens: 2000, Limit: 1000}, policy.AtLimit},
		{"no limit is known", share, policy.Use{Tokens: 1 << 40, Messages: 1000}, policy.NoWarning},
		{"no room", share, policy.Use{Tokens: 500, Limit: 1000, NoRoom: true}, policy.AtLimit},
		{"below so many tokens", tokens, policy.Use{Tokens: 99, Messages: 1000}, policy.NoWarning},
		{"so many tokens", tokens, policy.Use{Tokens: 100}, policy.ApproachingLimit},
		{"more tokens", tokens, policy.Use{Tokens: 200}, policy.AtLimit},
		{"below so many messages", messages, policy.Use{Messages: 9, Tokens: 1000, Limit: 1000}, policy.NoWarning},
		{"so many messages", messages, policy.Use{Messages: 10}, policy.ApproachingLimit},
		{"more messages", messages, policy.Use{Messages: 25}, policy.AtLimit},
		{"never", policy.Thresholds{}, policy.Use{Tokens: 1000, Limit: 1000, Messages: 1000}, policy.NoWarning},
	} {
		if got := tc.at.Warning(tc.use); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestThresholdString(t *testing.T) {
	for want, h := range map[string]policy.Threshold{
		"80%": {Percent: 80}, "87.5%": {Percent: 87.5}, "1000 tokens": {Tokens: 1000}, "40 messages": {Messages: 40}, "never": {},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	smallest := policy.Settings{Kind: policy.Prune}
	equal := policy.Settings{Kind: policy.Window, MaxMessages: 5, KeepRecent: 5, WindowMessages: 2, WindowShown: 2}
	for _, s := range []policy.Settings{policy.Defaults(), smallest, equal} {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for want, change := range map[string]func(*policy.Settings){
		`the policy "all" is none of full, window, prune and summarize`:                                   func(s *policy.Settings) { s.Kind = "all" },
		"keep_recent is 60 and max_messages 50: more would be kept than there may be; lower keep_recent":  func(s *policy.Settings) { s.KeepRecent = 60 },
		"window.shown is 7 and window.messages 6: more would be shown than there are; lower window.shown": func(s *policy.Settings) { s.WindowShown = 7 },
		"-1 messages or characters are less than none":                                                    func(s *policy.Settings) { s.WindowCharacters = -1 },
		"a warning at 101% cannot be":                                                                     func(s *policy.Settings) { s.WarnAt.Limit.Percent = 101 },
		"a warning at -1 tokens cannot be":                                                                func(s *policy.Settings) { s.WarnAt.Approaching = policy.Threshold{Tokens: -1} },
	} {
		s := policy.Defaults()
		change(&s)
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestThresholdsStandInOrder(t *testing.T) {
	percent := func(n float64) policy.Threshold { return policy.Threshold{Percent: n} }
	count := func(n int) policy.Threshold { return policy.Threshold{Tokens: n} }
	messages := func(n int) policy.Threshold { return policy.Threshold{Messages: n} }
	for _, tc := range []struct {
		approaching, limit policy.Threshold
		valid              bool
	}{
		{percent(95), percent(95), true}, {percent(96), percent(95), false}, {percent(100), percent(0), true},
		{count(9), count(9), true}, {count(10), count(9), false}, {count(10), count(0), true},
		{messages(9), messages(9), true}, {messages(10), messages(9), false}, {messages(10), messages(0), true},
		{percent(95), count(9), true}, {count(10), messages(9), true},
	} {
		s := policy.Defaults()
		s.WarnAt = policy.Thresholds{Approaching: tc.approaching, Limit: tc.limit}
		if err := s.Validate(); (err == nil) != tc.valid {
			t.Errorf("%s and %s: %v", tc.approaching, tc.limit, err)
		}
	}
}
