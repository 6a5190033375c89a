package coordinator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// removing is a panel of agents that each want to remove a file, and then agree.
const removing = `
rules:
  - {when: {round: 1, index: 0}, reply: {tool_calls: [{name: remove, arguments: {file: "{{.Agent}}"}}]}}
` + agreement

// remover counts what it removes.
type remover struct{ removed chan string }

func (remover) Definition() backends.Tool {
	return backends.Tool{Name: "remove", Schema: []byte(`{"type":"object"}`)}
}

func (remover) Idempotent() bool { return true } // what is removed twice is removed

func (r remover) Call(_ context.Context, arguments string) (string, error) {
	r.removed <- arguments
	return "removed", nil
}

// askFirst leaves every call to a person.
func askFirst(string, string) (effect.Permission, string) { return effect.Asked, "remove asks" }

func approving(t *testing.T, approve func(context.Context, Approval) (Decision, error)) (*Panel, chan string, *debugbackend.Recorder) {
	t.Helper()
	removed := make(chan string, 10)
	recorder := debugbackend.NewRecorder(debugbackend.Options{})
	p, _ := panelOf(t, 3, removing, nil, func(o *Options) {
		recorded(recorder)(o)
		for i := range o.Agents {
			o.Agents[i].Tools, o.Agents[i].Permit = []agents.Tool{remover{removed}}, askFirst
		}
		o.Approve = approve
	})
	return p, removed, recorder
}

// TestPersonIsAskedOneAtATime, and what they allow runs, and nothing else.
func TestPersonIsAskedOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asking := make(chan struct{}, 1)
		p, removed, recorder := approving(t, func(_ context.Context, a Approval) (Decision, error) {
			select {
			case asking <- struct{}{}:
			default:
				t.Error("two questions at a time")
			}
			time.Sleep(time.Second)
			<-asking
			if a.Tool != "remove" || a.Arguments != fmt.Sprintf(`{"file":%q}`, a.Agent) || a.Why != "remove asks" || a.Session != "s" || a.Turn != 1 || a.Round != 1 {
				t.Errorf("asked about %+v", a)
			}
			return Decision{Allowed: a.Agent == "agent2", Reason: map[string]string{"agent3": " keep it\n"}[a.Agent]}, nil
		})
		turn := start(t, p, "energy")
		r := wait(t, turn)
		if got := <-removed; got != `{"file":"agent2"}` || len(removed) > 0 || r.Status != kernel.Completed {
			t.Errorf("%s, removed %q and %d more", r.Status, got, len(removed))
		}
		var told []string
		for _, c := range recorder.Calls() {
			if c.Request.Key.Round == 1 && c.Request.Key.Index == 1 {
				last := c.Request.Messages[len(c.Request.Messages)-1]
				told = append(told, c.Request.Key.Agent+": "+last.Parts[0].(backends.ToolResult).Content)
			}
		}
		slices.Sort(told)
		no := "Error: this call is not permitted (the user said no), and was not run. Go on without it, or in another way."
		if diff := cmp.Diff([]string{"agent1: " + no, "agent2: removed", "agent3: " + strings.Replace(no, "said no", "said no: keep it", 1)}, told); diff != "" {
			t.Errorf("what the models are told (-want +got):\n%s", diff)
		}
		if time.Since(turn.Started()) < 3*time.Second {
			t.Errorf("three questions took %v", time.Since(turn.Started()))
		}
	})
}

// TestNobodyToAskMeansNo, and so does somebody who breaks down.
func TestNobodyToAskMeansNo(t *testing.T) {
	t.Parallel()
	for name, approve := range map[string]func(context.Context, Approval) (Decision, error){
		"nobody": nil,
		"error": func(context.Context, Approval) (Decision, error) {
			return Decision{Allowed: true}, errors.New("no terminal")
		},
		"panic":                func(context.Context, Approval) (Decision, error) { panic("no terminal") },
		"end of its goroutine": func(context.Context, Approval) (Decision, error) { runtime.Goexit(); return Decision{}, nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			p, removed, _ := approving(t, approve)
			if r := wait(t, start(t, p, "energy")); r.Status != kernel.Completed || len(removed) > 0 {
				t.Errorf("%s: %s, and %d calls ran", name, r.Status, len(removed))
			}
		})
	}
}

// TestQuestionEndsWithItsTurn: whoever is asked hears that it is over.
func TestQuestionEndsWithItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, removed, _ := approving(t, func(ctx context.Context, _ Approval) (Decision, error) {
			<-ctx.Done()
			return Decision{Allowed: true}, ctx.Err()
		})
		turn := start(t, p, "energy")
		time.Sleep(time.Minute)
		turn.Cancel()
		if r := wait(t, turn); r.Status != kernel.Cut || len(removed) > 0 {
			t.Errorf("%s, and %d calls ran", r.Status, len(removed))
		}
	})
}

// TestAskerThatIgnoresTheEndIsLeftBehind, as a tool is.
func TestAskerThatIgnoresTheEndIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, removed, _ := approving(t, func(context.Context, Approval) (Decision, error) {
			time.Sleep(time.Hour)
			return Decision{Allowed: true}, nil
		})
		turn := start(t, p, "energy")
		time.Sleep(time.Minute)
		turn.Cancel()
		cancelled := time.Now()
		if r := wait(t, turn); r.Status != kernel.Cut || len(removed) > 0 || time.Since(cancelled) > agents.AbandonAfter {
			t.Errorf("%s after %v, and %d calls ran", r.Status, time.Since(cancelled), len(removed))
		}
		time.Sleep(2 * time.Hour) // what was left behind ends at last
	})
}

// TestDecisionsAreResumed: what a person has said is not asked again.
func TestDecisionsAreResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		change := func(o *Options) {
			for i := range o.Agents {
				o.Agents[i].Tools, o.Agents[i].Permit = []agents.Tool{remover{make(chan string, 10)}}, askFirst
			}
			o.Approve = func(_ context.Context, a Approval) (Decision, error) {
				asked = append(asked, a.Agent)
				return Decision{Allowed: true}, nil
			}
		}
		p, store := panelOf(t, 3, removing, nil, change)
		want := wait(t, start(t, p, "energy"))
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= len(journal); n++ {
			asked = nil
			decided := strings.Count(string(joined(journal[:n])), `"type":"decided"`)
			got, _ := resumeAfter(t, removing, change, journal[:n], store)
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Errorf("after %d of %d events: the result (-want +got):\n%s", n, len(journal), diff)
			}
			if len(asked) != 3-decided {
				t.Errorf("after %d of %d events, with %d decisions: asked %q", n, len(journal), decided, asked)
			}
		}
	})
}

// TestQuestionThatWasTakenBackIsNotAskedOnResume: its agent is in another step by then.
func TestQuestionThatWasTakenBackIsNotAskedOnResume(t *testing.T) {
	t.Parallel()
	script := `
rules:
  - {when: {round: 2, agent: agent1}, reply: {tool_calls: [{name: remove, arguments: {}}]}}
  - {when: {round: 2, agent: agent2}, reply: {delay: 1s, new_answer: "a better one"}}
` + agreement
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		change := func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.RoundLimit, o.Rules.RoundGrace = 10*time.Second, 5*time.Second
			o.Agents[0].Tools, o.Agents[0].Permit = []agents.Tool{remover{make(chan string, 10)}}, askFirst
			o.Approve = func(ctx context.Context, _ Approval) (Decision, error) {
				asked++
				<-ctx.Done()
				return Decision{}, ctx.Err()
			}
		}
		p, store := panelOf(t, 3, script, nil, change)
		want := wait(t, start(t, p, "energy"))
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		decided := slices.IndexFunc(journal, func(ev []byte) bool { return strings.Contains(string(ev), `"type":"decided"`) })
		if asked != 1 || want.Rounds != 3 || decided < 0 {
			t.Fatalf("%d questions, %d rounds, the decision is event %d", asked, want.Rounds, decided)
		}
		if strings.Contains(string(journal[decided]), "reason") {
			t.Errorf("nobody said anything, and the journal has %s", journal[decided])
		}
		asked = 0
		got, _ := resumeAfter(t, script, change, journal[:decided], store)
		if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" || asked > 0 {
			t.Errorf("asked %d times, the result (-want +got):\n%s", asked, diff)
		}
	})
}

func joined(events [][]byte) (all []byte) {
	for _, ev := range events {
		all = append(all, ev...)
	}
	return all
}
