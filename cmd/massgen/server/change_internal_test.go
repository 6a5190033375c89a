package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/plain"
)

// decoded returns what a client reads.
func decoded(t rapid.TB, v any) map[string]any {
	t.Helper()
	line, err := plain.JSONLine(v)
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := json.Unmarshal([]byte(line), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// applied changes a state as the page does.
func applied(state, change map[string]any) map[string]any {
	setFields(state, change["fields"])
	for _, name := range []string{"rounds", "acts", "notes", "sidecalls", "news"} {
		state[name] = spliced(state[name], change[name])
	}
	agents, _ := state["agents"].([]any)
	changes, _ := change["agents"].([]any)
	for _, c := range changes {
		of := c.(map[string]any)
		var agent map[string]any
		for _, a := range agents {
			if a := a.(map[string]any); a["id"] == of["id"] {
				agent = a
			}
		}
		if agent == nil {
			agent = map[string]any{}
			agents = append(agents, agent)
		}
		setFields(agent, of["fields"])
		agent["text"] = spliced(agent["text"], of["text"])
	}
	state["agents"] = agents
	return state
}

func setFields(of map[string]any, fields any) {
	changes, _ := fields.(map[string]any)
	for name, value := range changes {
		if value == nil {
			delete(of, name)
		} else {
			of[name] = value
		}
	}
}

func spliced(list, tail any) any {
	items, _ := list.([]any)
	change, isChanged := tail.(map[string]any)
	if !isChanged {
		return list
	}
	drop, _ := change["drop"].(float64)
	keep := change["keep"].(float64)
	items = items[int(drop):int(drop+keep)]
	if grow, _ := change["grow"].(string); grow != "" {
		last := items[len(items)-1].(map[string]any)
		text, _ := last["text"].(string)
		last["text"] = text + grow
	}
	return append(items[:len(items):len(items)], change["add"].([]any)...)
}

// TestChangesAddUpToTheState: a snapshot and all changes after it give the last state, whenever a client is sent one.
func TestChangesAddUpToTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := report.NewState(rapid.SampledFrom([][]string{nil, {"ada"}, {"ada", "bob", "cyd"}}).Draw(t, "agents")...)
		at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
		step := func() {
			at = at.Add(time.Second)
			state.Apply(report.Stamp(drawEvent(t), at, false))
		}
		for range rapid.IntRange(0, 9).Draw(t, "before") {
			step()
		}
		sent := state.Clone()
		read := decoded(t, sent)
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			for range rapid.IntRange(0, 9).Draw(t, "events") {
				step()
			}
			c, err := diff(sent, state)
			if err != nil {
				t.Fatal(err)
			}
			sent = state.Clone()
			want := decoded(t, sent)
			read = applied(read, decoded(t, c))
			if difference := cmp.Diff(want, read, cmpopts.EquateEmpty()); difference != "" {
				t.Fatalf("the client has another state (-server +client):\n%s", difference)
			}
			if again, err := diff(sent, state); err != nil || !again.isEmpty() {
				t.Fatalf("two equal states differ by %+v, %v", again, err)
			}
		}
	})
}

func drawEvent(t *rapid.T) report.Event {
	by := report.Actor{Agent: rapid.SampledFrom([]string{"ada", "bob", "cyd"}).Draw(t, "agent"), Round: rapid.IntRange(1, 2).Draw(t, "round")}
	end := report.StepEnd{Actor: by, Elapsed: time.Second}
	end.Usage.Calls = 1
	call := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "call")
	text := strings.Repeat("wörd\n", rapid.SampledFrom([]int{1, 1, 1, 300, 1000}).Draw(t, "words"))
	switch rapid.IntRange(0, 20).Draw(t, "event") {
	case 0:
		return report.StepStarted{Actor: by, Purpose: effect.Coordination}
	case 1:
		return report.CallStarted{Actor: by, Call: call, Number: 1}
	case 2:
		return report.CallEnded{Actor: by, Call: call, Number: 1, Model: "m", Usage: end.Usage}
	case 3:
		return report.Thinking{Actor: by, Text: text}
	case 4, 5, 6:
		return report.TextDelta{Actor: by, Act: effect.NewAnswer, Text: text}
	case 7:
		return report.TextDelta{Actor: by, Act: effect.Vote, Text: text}
	case 8:
		return report.TextDelta{Actor: by, Text: text}
	case 9:
		return report.Retrying{Actor: by, Why: "busy", Wait: time.Second}
	case 10:
		return report.FellBack{Actor: by, Why: "busy", To: "two/b"}
	case 11:
		return report.ToolStarted{Actor: by, Call: call, Tool: report.ToolCall{Name: "find", State: report.ToolRunning}}
	case 12:
		return report.ToolProgress{Actor: by, Call: call, Tool: "find", Text: text, Fraction: 0.5}
	case 13:
		return report.ToolEnded{Actor: by, Call: call, Tool: report.ToolCall{Name: "find", State: effect.ToolRan, Result: text}}
	case 14:
		return report.Answered{StepEnd: end, Label: by.Agent + ".1", Content: text, Void: rapid.SampledFrom([]string{"", "", "too late"}).Draw(t, "void")}
	case 15:
		return report.Voted{StepEnd: end, Label: "ada.1", Reason: "clear"}
	case 16:
		return report.Noted{Text: "in winter"}
	case 17:
		return rapid.SampledFrom([]report.Event{report.Paused{}, report.Unpaused{}, report.Awaited{Agents: []string{"ada"}, Within: time.Minute}}).Draw(t, "of the turn")
	case 18:
		return report.Dismissed{Actor: by}
	case 19:
		return report.SidecallStarted{Actor: report.Actor{Agent: "summary"}, Purpose: effect.Summarizing}
	}
	return report.Failed{StepEnd: end, Reason: "the key is wrong"}
}

// TestChangeOfALongTextIsShort: a piece more of a long answer costs a client as little as one of a short answer, also
// when the server drops the beginning.
func TestChangeOfALongTextIsShort(t *testing.T) {
	state := report.NewState("ada")
	by := report.Actor{Agent: "ada", Round: 1}
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	apply := func(ev report.Event) { state.Apply(report.Stamp(ev, now, false)) }
	apply(report.StepStarted{Actor: by, Purpose: effect.Coordination})
	apply(report.CallStarted{Actor: by, Call: "c", Number: 1})
	sent := state.Clone()
	read := decoded(t, sent)
	size := func() int {
		c, err := diff(sent, state)
		if err != nil {
			t.Fatal(err)
		}
		sent = state.Clone()
		read = applied(read, decoded(t, c))
		line, err := plain.JSONLine(c)
		if err != nil {
			t.Fatal(err)
		}
		return len(line)
	}
	size()
	for i := range 20 {
		for n := range 50 {
			apply(report.TextDelta{Actor: by, Call: "c", Act: effect.NewAnswer, Text: strings.Repeat(fmt.Sprintln(i, n), 1000)})
		}
		for range 600 {
			apply(report.Paused{})
		}
		size()
		apply(report.TextDelta{Actor: by, Call: "c", Act: effect.NewAnswer, Text: "word "})
		if n := size(); n > 300 {
			t.Errorf("a word after %d bytes has %d bytes", state.Agents[0].Streamed, n)
		}
	}
	if state.Agents[0].Dropped == 0 || state.News[0].Number == 1 {
		t.Error("nothing was dropped")
	}
	if difference := cmp.Diff(decoded(t, state), read, cmpopts.EquateEmpty()); difference != "" {
		t.Errorf("the client has another state (-server +client):\n%.2000s", difference)
	}
}

// TestStateHidesSecrets, also if the agents are known by the turn's journal only: a sentence that was cut has half a secret.
func TestStateHidesSecrets(t *testing.T) {
	seen := newSight(nil, func(text string) string { return strings.ReplaceAll(text, "sk-secret", "***") })
	seen.name([]string{"ada"})
	seen.apply(report.Stamp(report.Failed{StepEnd: report.StepEnd{Actor: report.Actor{Agent: "ada"}}, Reason: "sk-secret is refused"}, time.Now(), false))
	if text := seen.now().News[0].Text; text != "ada failed: *** is refused" {
		t.Errorf("the sentence is %q", text)
	}
}

// TestStateIsSentAtMostEvery50ms, and a client that takes a second for each change still comes to the last state.
func TestStateIsSentAtMostEvery50ms(t *testing.T) {
	for name, slow := range map[string]time.Duration{"fast": 0, "slow": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := newSight([]string{"ada"}, nil)
				var times []time.Time
				var read map[string]any
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					seen.follow(func(v any, fields ...string) {
						times = append(times, time.Now())
						if fields[0] == "event: snapshot" {
							read = decoded(t, v)
						} else {
							read = applied(read, decoded(t, v))
						}
						time.Sleep(slow)
					}, func(fault string) { t.Error(fault) })
				}()
				by := report.Actor{Agent: "ada", Round: 1}
				seen.apply(report.Stamp(report.StepStarted{Actor: by, Purpose: effect.Coordination}, time.Now(), false))
				for i := range 3000 {
					time.Sleep(time.Millisecond)
					seen.apply(report.Stamp(report.TextDelta{Actor: by, Act: effect.NewAnswer, Text: fmt.Sprintln(i)}, time.Now(), false))
				}
				close(seen.over)
				<-ended
				for i := range len(times) - 2 { // the last one follows at once
					if gap := times[i+1].Sub(times[i]); gap < changeEvery {
						t.Errorf("change %d follows after %v", i+1, gap)
					}
				}
				if n := len(times); slow == 0 && (n < 55 || n > 62) {
					t.Errorf("in 3 s there are %d changes", n)
				}
				if difference := cmp.Diff(decoded(t, seen.now()), read, cmpopts.EquateEmpty()); difference != "" {
					t.Errorf("the client has another state (-server +client):\n%s", difference)
				}
			})
		})
	}
}
