package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/step"
)

// TestStateOfAnyPrefix folds the events of random turns, with pieces of text among them, and looks at the state
// after each event.
func TestStateOfAnyPrefix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawTurn(t)
		s := report.NewState(w.ids...)
		at := time.UnixMilli(1000).UTC()
		open := map[string]report.CallStarted{} // by agent
		var told []report.Event
		for _, ev := range w.told {
			told = append(told, ev)
			switch ev := ev.(type) {
			case report.CallStarted:
				open[ev.Agent] = ev
			case report.CallEnded:
				delete(open, ev.Agent)
			}
			for _, id := range w.ids { // in the order of the panel
				if call, isOpen := open[id]; isOpen {
					told = append(told, drawPieces(t, call)...)
				}
			}
		}
		for i, ev := range told {
			at = at.Add(time.Millisecond)
			ev = report.Stamp(ev, at, rapid.IntRange(0, 9).Draw(t, "replayed") == 0)
			before := s.Clone()
			kept := s.Clone()
			s.Apply(ev)
			if diff := cmp.Diff(kept, before, cmpopts.IgnoreUnexported(report.State{}, report.AgentState{}, report.News{})); diff != "" {
				t.Fatalf("event %d changes a copy of the state:\n%s", i, diff)
			}
			checkState(t, s, ev)
		}
	})
}

// drawPieces returns what a call may tell while it is open.
func drawPieces(t *rapid.T, of report.CallStarted) (told []report.Event) {
	by := report.Actor{Agent: of.Agent, Round: of.Round}
	for range rapid.IntRange(0, 3).Draw(t, "pieces") {
		switch rapid.IntRange(0, 6).Draw(t, "piece") {
		case 0:
			told = append(told, report.Thinking{Actor: by, Call: of.Call, Text: "hm"})
		case 1:
			told = append(told, report.TextDelta{Actor: by, Call: of.Call, Text: strings.Repeat("é\n", rapid.IntRange(1, 3000).Draw(t, "length"))})
		case 2:
			told = append(told, report.TextDelta{Actor: by, Call: of.Call, Act: effect.NewAnswer, Text: "wi"})
		case 3:
			told = append(told, report.TextDelta{Actor: by, Call: of.Call, Act: effect.Vote, Text: "it is"})
		case 4:
			told = append(told, report.Retrying{Actor: by, Why: "busy", Wait: time.Second})
		case 5:
			told = append(told, report.FellBack{Actor: by, Why: "busy", To: "two/b"})
		case 6:
			told = append(told, report.ToolCalled{Actor: by, Call: of.Call, Tool: rapid.SampledFrom([]string{"find", effect.NewAnswer}).Draw(t, "tool")})
		}
	}
	return told
}

// checkState reports a state that contradicts itself, or the event that it has taken last.
func checkState(t *rapid.T, s *report.State, ev report.Event) {
	if _, err := json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	said := s.Sentence(ev)
	if said.Text == "" || strings.ContainsAny(said.String(), "\n\r\x1b") {
		t.Fatalf("the sentence of %T is %q", ev, said.String())
	}
	for _, a := range s.Agents {
		if a.Took > 0 && a.Phase.IsBusy() {
			t.Fatalf("%s is %s, and its step has ended", a.ID, a.Phase)
		}
		for i, p := range a.Text {
			if p.Tool != nil && p.Tool.Call == "" {
				t.Fatalf("a tool call of %s has no id", a.ID)
			}
			if len(p.Text) > 5000 {
				t.Fatalf("piece %d of %s has %d bytes", i, a.ID, len(p.Text))
			}
		}
		for _, p := range a.Text {
			if done := !a.Phase.IsBusy(); done && p.Tool != nil && p.Tool.IsOver && p.Tool.State == report.ToolRunning {
				t.Fatalf("%s's %s is over and runs", a.ID, p.Tool.Call)
			}
		}
	}
	isVoid := false
	for i := len(s.Acts) - 1; i >= 0; i-- {
		switch act := s.Acts[i]; {
		case act.Phase == step.PhaseAnswered && !act.Final:
			isVoid = true
		case act.Phase == step.PhaseVoted && isVoid && act.Void == "":
			t.Fatalf("%s's vote counts, and a newer answer was accepted", act.Agent)
		}
	}
	switch ev := ev.(type) {
	case report.Answered:
		if a := s.Agent(ev.Agent); ev.Void == "" && strings.TrimSpace(a.Answer()) != strings.TrimSpace(ev.Content) {
			t.Fatalf("the answer of %s is %q, not %q", a.ID, a.Answer(), ev.Content)
		} else if ev.Void != "" && a.Answer() != "" {
			t.Fatalf("the void answer of %s stands", a.ID)
		}
	case report.Retrying, report.Failed, report.Cancelled:
		a := s.Agent(ev.(interface{ By() report.Actor }).By().Agent)
		if a.Said()+a.Answer() != "" {
			t.Fatalf("the text of %s stands after %T", a.ID, ev)
		}
	}
}

// TestStateOfLongText: what is kept of a text that goes on does not grow with it, and its pieces are the end of it.
func TestStateOfLongText(t *testing.T) {
	t.Parallel()
	s := report.NewState("ada")
	by := report.Actor{Agent: "ada", Round: 1}
	s.Apply(report.StepStarted{Actor: by, Purpose: effect.Coordination})
	s.Apply(report.CallStarted{Actor: by, Call: "c"})
	const times = 500_000
	for i := range times {
		s.Apply(report.TextDelta{Actor: by, Call: "c", Act: effect.NewAnswer, Text: fmt.Sprintf("word number %d é\n", i)})
	}
	a := s.Agent("ada")
	kept := a.Answer()
	if len(kept) > 4<<20 || len(kept) < 2<<20 || a.Dropped == 0 {
		t.Errorf("%d bytes are kept, and %d pieces are dropped", len(kept), a.Dropped)
	}
	if !strings.HasSuffix(kept, fmt.Sprintf("word number %d é\nword number %d é\n", times-2, times-1)) {
		t.Errorf("the text ends with %q", kept[len(kept)-60:])
	}
	if a.Tail(9) != kept[len(kept)-9:] {
		t.Errorf("its tail is %q", a.Tail(9))
	}
	if a.Streamed < len(kept) {
		t.Errorf("%d bytes were streamed", a.Streamed)
	}
}

// TestLongAnswerIsAccepted: an answer whose beginning is no longer kept is what was streamed, and stands with the part
// that follows.
func TestLongAnswerIsAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ accepted, void string }{{"", ""}, {"\n\nSources: a", ""}, {"another", "the accepted answer differs"}} {
		s := report.NewState("ada")
		by := report.Actor{Agent: "ada", Round: 1}
		s.Apply(report.StepStarted{Actor: by, Purpose: effect.Conversation})
		s.Apply(report.CallStarted{Actor: by, Call: "c"})
		const line = "\na line of the answer, which is long "
		var streamed strings.Builder
		for i := range 5 << 20 / len(line) {
			text := line + fmt.Sprint(i)
			streamed.WriteString(text)
			s.Apply(report.TextDelta{Actor: by, Call: "c", Text: text})
		}
		answer := strings.TrimSpace(streamed.String()) + c.accepted
		if c.void != "" {
			answer = c.accepted
		}
		before := s.Agent("ada").Dropped
		s.Apply(report.Answered{StepEnd: report.StepEnd{Actor: by}, Label: "ada.1", Content: answer})
		a := s.Agent("ada")
		if a.Text[0].Void != c.void {
			t.Errorf("with %q, what was streamed is void: %q", c.accepted, a.Text[0].Void)
		}
		if kept := a.Answer(); before == 0 || c.void == "" && a.Dropped > before || !strings.HasSuffix(answer, strings.TrimSpace(kept)) {
			t.Errorf("with %q, %d pieces are dropped, later %d, and the answer has %d bytes", c.accepted, before, a.Dropped, len(kept))
		}
	}
}

// TestAcceptedAnswer: the answer of a panel of one stands once, also where it differs from what was streamed.
func TestAcceptedAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ streamed, accepted, answer, void string }{
		{"Wind.\n", "Wind.", "Wind.\n", ""},
		{"Wind.", "Wind.\n\nSources: a", "Wind.\n\nSources: a", ""},
		{"Win\x00d.", "Wind.", "Wind.", "Win\x00d."},
	} {
		s := report.NewState("ada")
		by := report.Actor{Agent: "ada", Round: 1}
		s.Apply(report.StepStarted{Actor: by, Purpose: effect.Conversation})
		s.Apply(report.CallStarted{Actor: by, Call: "c"})
		s.Apply(report.TextDelta{Actor: by, Call: "c", Text: c.streamed})
		s.Apply(report.Answered{StepEnd: report.StepEnd{Actor: by}, Label: "ada.1", Content: c.accepted})
		a, void := s.Agent("ada"), ""
		for _, p := range a.Text {
			if p.Void != "" {
				void += p.Text
			}
		}
		if got := a.Answer() + a.Said(); got != c.answer || void != c.void {
			t.Errorf("%+v: the answer is %q, void %q", c, got, void)
		}
	}
}

// TestAnswerGoesOnWhereItsTextEnds, and does not begin again.
func TestAnswerGoesOnWhereItsTextEnds(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]string{"Wind.": "", "\n\nWind.\n\nSources: a": "\n\nSources: a", "Sun.": "\n\nSun."} {
		var answer report.AnswerText
		by := report.Actor{Agent: "ada", Round: 1}
		answer.Apply(report.StepStarted{Actor: by, Purpose: effect.Conversation})
		answer.Apply(report.CallStarted{Actor: by, Call: "c"})
		answer.Apply(report.TextDelta{Actor: by, Call: "c", Text: "\n\nWind."})
		if rest := answer.Finish(accepted); rest != want {
			t.Errorf("%q follows for %q", rest, accepted)
		}
	}
}

// TestAnswerOfADismissedAgentStands: only its unfinished text is void.
func TestAnswerOfADismissedAgentStands(t *testing.T) {
	t.Parallel()
	for _, isFinished := range []bool{true, false} {
		s := report.NewState("ada", "bob")
		by := report.Actor{Agent: "ada", Round: 1}
		s.Apply(report.StepStarted{Actor: by, Purpose: effect.Coordination})
		s.Apply(report.CallStarted{Actor: by, Call: "c"})
		s.Apply(report.TextDelta{Actor: by, Call: "c", Act: effect.NewAnswer, Text: "Wind."})
		if isFinished {
			s.Apply(report.Answered{StepEnd: report.StepEnd{Actor: by}, Label: "ada.1", Content: "Wind."})
		}
		s.Apply(report.Dismissed{Actor: by})
		if got := s.Agent("ada").Answer(); (got == "Wind.") != isFinished {
			t.Errorf("the answer is %q; it was finished: %v", got, isFinished)
		}
	}
}

// TestSecretsAreMaskedBeforeTheyAreCut: a key stands at the place where a text is cut into pieces, and where a sentence
// ends.
func TestSecretsAreMaskedBeforeTheyAreCut(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-0123456789"
	s := report.NewState("ada")
	s.Mask = func(text string) string { return strings.ReplaceAll(text, key, "***") }
	by := report.Actor{Agent: "ada", Round: 1}
	s.Apply(report.StepStarted{Actor: by, Purpose: effect.Coordination})
	for at := range 2 * len(key) {
		tool := report.ToolCall{Name: "search", Arguments: strings.Repeat("x", 60-len(key)+at/2) + key}
		s.Apply(report.ToolEnded{Actor: by, Call: fmt.Sprint(at), Tool: tool})
		s.Apply(report.Consulted{StepEnd: report.StepEnd{Actor: by}, Purpose: effect.Judgement, Why: "best names " + key})
		s.Apply(report.Answered{StepEnd: report.StepEnd{Actor: by}, Label: "ada.1", Content: strings.Repeat("x", 4<<10-len(key)+at/2) + key})
	}
	data, err := json.Marshal(s)
	if err != nil || strings.Contains(string(data), "canary") || strings.Contains(string(data), "sk-") {
		t.Errorf("%v: the state has a part of the key", err)
	}
}

// TestLeadCountsTheNewestVotes of each agent that were cast after the newest answer, and are not void.
func TestLeadCountsTheNewestVotes(t *testing.T) {
	t.Parallel()
	s := report.NewState("ada", "bob", "cyd")
	end := func(id string) report.StepEnd { return report.StepEnd{Actor: report.Actor{Agent: id, Round: 1}} }
	for _, step := range []struct {
		ev   report.Event
		want string
	}{
		{report.Answered{StepEnd: end("bob"), Label: "bob.1"}, "null"},
		{report.Answered{StepEnd: end("ada"), Label: "ada.1"}, "null"},
		{report.Voted{StepEnd: end("ada"), Label: "bob.1", Void: "late"}, "null"},
		{report.Voted{StepEnd: end("bob"), Label: "bob.1"}, `{"labels":["bob.1"],"votes":1,"all":1}`},
		{report.Voted{StepEnd: end("cyd"), Label: "ada.1"}, `{"labels":["ada.1","bob.1"],"votes":1,"all":2}`},
		{report.Voted{StepEnd: end("bob"), Label: "ada.1"}, `{"labels":["ada.1"],"votes":2,"all":2}`},
		{report.Answered{StepEnd: end("ada"), Label: "ada.2"}, "null"},
	} {
		s.Apply(report.Stamp(step.ev, time.Time{}, false))
		if got, err := json.Marshal(s.Lead); err != nil || string(got) != step.want {
			t.Errorf("after %+v: %s, %v, want %s", step.ev, got, err, step.want)
		}
	}
}

// TestStateScripts folds events of testdata/state. A line is an event: KIND of its JSON, then its fields in JSON
// without the header. Commands:
//
//	begin ID ...       a new state
//	apply              the events of the input, one second apart; prints the news that follow
//	show               the state without news
func TestStateScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/state", func(t *testing.T, path string) {
		var s *report.State
		at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "begin":
				var ids []string
				for _, a := range d.CmdArgs {
					ids = append(ids, a.Key)
				}
				s = report.NewState(ids...)
				return ""
			case "apply":
				var b strings.Builder
				for line := range strings.Lines(d.Input) {
					at = at.Add(time.Second)
					ev := eventOf(t, strings.TrimSpace(line))
					s.Apply(report.Stamp(ev, at, d.HasArg("replayed")))
					fmt.Fprintf(&b, "%s\n", s.Sentence(ev))
				}
				return b.String()
			case "show":
				return drawn(t, s)
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// decoders read events from JSON, by their kinds.
var decoders = map[string]func([]byte) (report.Event, error){
	"step_started":         decode[report.StepStarted],
	"text":                 decode[report.TextDelta],
	"reasoning":            decode[report.Thinking],
	"tool_call":            decode[report.ToolCalled],
	"call_started":         decode[report.CallStarted],
	"call_ended":           decode[report.CallEnded],
	"tool_started":         decode[report.ToolStarted],
	"tool_progress":        decode[report.ToolProgress],
	"tool_ended":           decode[report.ToolEnded],
	"permission_requested": decode[report.PermissionRequested],
	"answered":             decode[report.Answered],
	"voted":                decode[report.Voted],
	"abstained":            decode[report.Abstained],
	"failed":               decode[report.Failed],
	"cancelled":            decode[report.Cancelled],
	"presented":            decode[report.Presented],
	"went_to_json":         decode[report.WentToJSON],
	"tools_changed":        decode[report.ToolsChanged],
	"tools_kept":           decode[report.ToolsKept],
	"retrying":             decode[report.Retrying],
	"fell_back":            decode[report.FellBack],
	"held_up":              decode[report.HeldUp],
	"awaited":              decode[report.Awaited],
	"panicked":             decode[report.Panicked],
	"session_updated":      decode[report.SessionUpdated],
	"context_warning":      decode[report.ContextWarned],
	"sidecall_started":     decode[report.SidecallStarted],
	"sidecall_ended":       decode[report.SidecallEnded],
	"sidecall_failed":      decode[report.SidecallFailed],
	"noted":                decode[report.Noted],
	"paused":               decode[report.Paused],
	"unpaused":             decode[report.Unpaused],
	"dismissed":            decode[report.Dismissed],
	"ended":                decode[report.Ended],
}

func decode[E report.Event](data []byte) (report.Event, error) {
	var ev E
	err := json.Unmarshal(data, &ev)
	return ev, err
}

func eventOf(t *testing.T, line string) report.Event {
	name, fields, _ := strings.Cut(line, " ")
	read := decoders[name]
	if read == nil {
		t.Fatalf("there is no event %s", name)
	}
	if fields == "" {
		fields = "{}"
	}
	ev, err := read([]byte(fields))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return ev
}

// drawn prints a state: a line for each agent, piece, act and so on.
func drawn(t *testing.T, s *report.State) string {
	c := s.Clone()
	var b strings.Builder
	put := func(what string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", what, data)
	}
	for _, a := range c.Agents {
		text := a.Text
		a.Text = nil
		put("agent", a)
		for _, p := range text {
			put("  piece", p)
		}
	}
	for _, r := range c.Rounds {
		put("round", r)
	}
	for _, a := range c.Acts {
		put("act", a)
	}
	for _, n := range c.News {
		put("news", n)
	}
	c.Agents, c.Rounds, c.Acts, c.News = nil, nil, nil, nil
	put("turn", c)
	return b.String()
}
