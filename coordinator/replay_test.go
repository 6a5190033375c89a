package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// replays are runs with something of everything in them.
var replays = map[string]struct {
	script  string
	change  func(*Options)
	cancels time.Duration
	notes   []time.Duration // when a person adds them
}{
	"consensus": {script: agree},
	"improvement and tool errors": {script: `
rules:
  - {when: {round: 1, index: 0}, reply: {delay: 1s, vote: {agent: agent1, reason: "nobody has answered"}}}
  - {when: {round: 1, index: 1}, reply: {text: "{{.Agent}} only talks"}}
  - {when: {round: 1, agent: agent3}, reply: {delay: 3s, new_answer: "third"}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} on {{.Question}}"}}
  - {when: {round: 2, agent: agent1}, reply: {delay: 2s, new_answer: "a better answer"}}
  - {when: {}, reply: {delay: 1s, vote: {agent: agent1, reason: "good"}}}
`},
	"time limits": {script: `
rules:
  - {when: {round: 1, agent: agent3}, reply: {hang: true}}
  - {when: {round: 1}, reply: {delay: 1s, new_answer: "{{.Agent}}"}}
  - {when: {}, reply: {delay: 5s, vote: {agent: agent1, reason: "good"}}}
`, change: func(o *Options) { o.Rules.FirstRoundLimit, o.Rules.RoundGrace = 10*time.Second, 5*time.Second }},
	"eager": {script: `
rules:
  - {when: {round: 1, agent: agent1}, reply: {delay: 1s, new_answer: "first"}}
  - {when: {round: 1, agent: agent2}, reply: {delay: 3s, new_answer: "second"}}
  - {when: {round: 1, agent: agent3}, reply: {delay: 9s, new_answer: "third"}}
  - {when: {}, reply: {delay: 2500ms, vote: {agent: agent1, reason: "good"}}}
`, change: func(o *Options) { o.Rules.Pace = kernel.PaceEager }},
	"presentation": {script: agree + "  - {when: {}, reply: {text: \"\"}}\n", change: func(o *Options) { o.Rules.Final = kernel.WinnerPresent }},
	"cancelled":    {script: agree, cancels: 1500 * time.Millisecond},
	"topic and facts": {script: sidecalls, change: func(o *Options) {
		o.Topic, o.Facts = sun(o.Agents[0].Backend), sun(o.Agents[0].Backend)
	}},
	"workspaces": {script: `
rules:
  - {when: {round: 1, index: 0}, reply: {tool_calls: [{id: a, name: work, arguments: {do: it}}]}}
  - {when: {round: 2, agent: agent1}, reply: {delay: 2s, new_answer: "a better answer"}}
  - {when: {purpose: presentation}, reply: {text: "presented"}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}}"}}
  - {when: {}, reply: {delay: 1s, vote: {agent: agent1, reason: "good"}}}
`, change: func(o *Options) {
		o.Rules.Final = kernel.WinnerPresent
		for i := range o.Agents {
			o.Agents[i].Tools = []agents.Tool{slow{}}
		}
		o.Agents[0].Snapshot = placed
		o.Agents[1].Snapshot = func(context.Context, agents.CallInfo) (agents.Snapshot, error) {
			return agents.Snapshot{}, errors.New("no room")
		}
	}},
	"JSON objects": {script: `
rules:
  - {when: {round: 1, index: 0}, reply: {delay: 1s, text: "I talk."}}
  - {when: {round: 1, index: 1}, reply: {delay: 1s, text: "I talk on."}}
  - {when: {round: 1, index: 2}, reply: {delay: 1s, text: '{"action":{"name":"new_answer","content":""}}'}}
  - {when: {round: 1}, reply: {delay: 1s, text: '{"action":{"name":"new_answer","content":"{{.Agent}}"}}'}}
  - {when: {}, reply: {delay: 1s, text: '{"action":{"name":"vote","agent_id":"agent1","reason":"good"}}'}}
`, change: func(o *Options) {
		o.Limits = effect.DefaultLimits()
		o.Limits.MaxAttempts = 5
		for i := range o.Agents {
			o.Agents[i].ToolMode = effect.ToolsAuto
		}
	}},
	"a note": {script: notable, notes: []time.Duration{500 * time.Millisecond}},
	"notes": {script: notable, notes: []time.Duration{1500 * time.Millisecond, 1600 * time.Millisecond, 2500 * time.Millisecond}, change: func(o *Options) {
		o.Rules.Final = kernel.WinnerPresent
	}},
	"notes to the eager": {script: `
rules:
  - {when: {round: 1, agent: agent1}, reply: {delay: 1s, new_answer: "first"}}
  - {when: {round: 1, agent: agent2, index: 0}, reply: {delay: 1700ms, text: "I talk."}}
  - {when: {round: 1, agent: agent2}, reply: {delay: 1300ms, new_answer: "second"}}
  - {when: {round: 1, agent: agent3}, reply: {delay: 9s, new_answer: "third"}}
  - {when: {}, reply: {delay: 2500ms, vote: {agent: agent1, reason: "good"}}}
`, notes: []time.Duration{1500 * time.Millisecond, 5 * time.Second}, change: func(o *Options) { o.Rules.Pace = kernel.PaceEager }},
	"failed": {script: `
rules:
  - {when: {}, reply: {delay: 1s, error: {kind: auth, message: "wrong key"}}}
`},
}

// notable has steps of two calls, between which a note is told.
const notable = `
rules:
  - {when: {round: 1, index: 0}, reply: {delay: 1s, text: "I talk."}}
  - {when: {round: 1}, reply: {delay: 1s, new_answer: "{{.Agent}}"}}
  - {when: {purpose: presentation}, reply: {delay: 1s, text: "presented"}}
  - {when: {}, reply: {delay: 1s, vote: {agent: agent1, reason: "good"}}}
`

func TestJournalReplaysToTheSameCommandsAndInputs(t *testing.T) {
	t.Parallel()
	for name, run := range replays {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := debugbackend.NewRecorder(debugbackend.Options{})
				p, store := panelOf(t, 3, run.script, nil, func(o *Options) {
					o.Rules = kernel.Defaults()
					if run.change != nil {
						run.change(o)
					}
					for i := range o.Agents {
						o.Agents[i].Backend = recorder.Wrap(o.Agents[i].Backend)
					}
					for _, sidecall := range []*Sidecall{o.Topic, o.Facts} {
						if sidecall != nil {
							sidecall.Backend = recorder.Wrap(sidecall.Backend)
						}
					}
				})
				live := runTurn(t, p, run.cancels, run.notes...)
				fresh, inputs := replay(t, store, "s", live.view.turn.number)
				if diff := cmp.Diff(stateOf(t, live.view.machine), stateOf(t, fresh)); diff != "" {
					t.Errorf("the state after the replay differs (-live +replayed):\n%s", diff)
				}
				if diff := cmp.Diff(recordedInputs(t, recorder), inputs); diff != "" {
					t.Errorf("the inputs of the replay differ (-live +replayed):\n%s", diff)
				}
				isRecorded(t, store, live.view.turn.number)
			})
		})
	}
}

// runTurn runs a turn on an engine that the test can look into afterwards.
func runTurn(t *testing.T, p *Panel, cancelAfter time.Duration, notes ...time.Duration) *localTurn {
	t.Helper()
	if _, err := p.opts.Store.Begin(t.Context(), "s", "hello"); err != nil {
		t.Fatal(err)
	}
	first := sessions.Ended{Status: kernel.Completed, Winner: "agent1", Answer: "hi"}
	if err := p.opts.Store.End(t.Context(), "s", 1, first); err != nil {
		t.Fatal(err)
	}
	begun, err := p.opts.Store.Begin(t.Context(), "s", "energy")
	if err != nil {
		t.Fatal(err)
	}
	handle := newTurn("s", begun.Turn, "energy")
	described, err := p.prepare(t.Context(), handle, begun)
	if err != nil {
		t.Fatal(err)
	}
	e := newLocalTurn(t.Context(), p, handle)
	if err := e.accept(p.opts.Rules, described, budget.Allowance{Limits: p.opts.Budget.Turn}); err != nil {
		t.Fatal(err)
	}
	if cancelAfter > 0 {
		time.AfterFunc(cancelAfter, handle.Cancel)
	}
	addNotes(t, handle, notes...)
	e.open(t.Context())
	p.Wait()
	if _, err := handle.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// addNotes adds notes to a turn at these times from now.
func addNotes(t *testing.T, turn *Turn, after ...time.Duration) {
	for i, d := range after {
		time.AfterFunc(d, func() {
			if err := turn.Note(t.Context(), fmt.Sprintf("note %d", i+1)); err != nil {
				t.Error(err)
			}
		})
	}
}

// journaled is a store that can be replayed from.
type journaled interface {
	agents.Blobs
	Journal(ctx context.Context, session string, turn, from int) ([][]byte, error)
}

// replay feeds a turn's journal to a fresh machine and returns it with the input
// of each model call that it commanded, by key.
func replay(t *testing.T, store journaled, session string, number int) (*turn.Machine, map[string]string) {
	t.Helper()
	journal, err := store.Journal(t.Context(), session, number, 0)
	if err != nil || len(journal) == 0 {
		t.Fatalf("journal of %d events: %v", len(journal), err)
	}
	m, inputs := &turn.Machine{}, map[string]string{}
	for _, data := range journal {
		ev, err := turn.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		commands, err := m.Apply(ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			run, ok := c.(turn.Run)
			if !ok {
				continue
			}
			call, ok := run.Effect.(effect.ModelCall)
			if !ok {
				continue
			}
			req, err := agents.NewRebuilder(store).Input(t.Context(), m.Turn(), call)
			if err != nil {
				t.Fatal(err)
			}
			inputs[req.Key.String()] = encode(t, req)
		}
	}
	return m, inputs
}

// isRecorded checks that a turn of the session "s" replays, and that its journal has each
// of its inputs to the byte without the code that builds inputs.
func isRecorded(t *testing.T, store *sessions.Store, number int) {
	t.Helper()
	turns, err := store.Turns(t.Context(), "s", 0)
	if err != nil {
		t.Fatal(err)
	}
	replayed, err := Replay(t.Context(), store, "s", turns[number-1])
	if err != nil || replayed.Unchecked > 0 || replayed.Inputs == 0 || replayed.Answer != turns[number-1].Answer {
		t.Errorf("turn %d replays as %+v, %v", number, replayed, err)
	}
	events, err := readJournal(t.Context(), store, "s", number)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		done, ok := ev.(turn.ModelDone)
		if !ok || done.Reply.Sent == nil { // which Replay has counted
			continue
		}
		req, err := agents.Recorded(t.Context(), store, *done.Reply.Sent)
		if err != nil {
			t.Fatal(err)
		}
		if digest, err := req.Digest(); err != nil || digest != done.Reply.Sent.Digest {
			t.Errorf("turn %d: the input of %s is recorded as another, %v:\n%s", number, done.Key, err, encode(t, req))
		}
	}
}

func recordedInputs(t *testing.T, r *debugbackend.Recorder) map[string]string {
	t.Helper()
	inputs := map[string]string{}
	for _, call := range r.Calls() {
		key := call.Request.Key.String()
		if _, twice := inputs[key]; twice {
			t.Errorf("%s was called twice", key)
		}
		inputs[key] = encode(t, call.Request)
	}
	return inputs
}

func encode(t *testing.T, req backends.Request) string {
	t.Helper()
	data, err := json.MarshalIndent(req, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func stateOf(t *testing.T, m *turn.Machine) string {
	t.Helper()
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryRunIsJournaledFromAcceptedToItsLastResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, nil, nil)
		wait(t, start(t, p, "energy"))
		journal, err := store.Journal(context.Background(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, data := range journal {
			ev, err := turn.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", ev), "turn."), "kernel."))
		}
		want := append([]string{"Accepted"}, slices.Repeat([]string{"ModelDone"}, 6)...)
		if !slices.Equal(kinds, want) {
			t.Errorf("the journal has %v, want %v", kinds, want)
		}
	})
}
