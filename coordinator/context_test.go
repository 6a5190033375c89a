package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// talks answers each question at some length.
const talks = `
rules:
  - {when: {}, reply: {text: "All there is to be said of {{.Question}}, which is quite a lot, as it turns out."}}
`

// small is the context of a model that can read very little.
func small(kind policy.Kind) agents.Context {
	settings := policy.Defaults()
	settings.Kind = kind
	return agents.Context{Policy: settings, Window: 250}
}

var weather = []string{"rain", "snow", "hail", "wind", "fog"}

// ask asks the questions in turn, and returns the last turn.
func ask(t *testing.T, p *Panel, questions []string) *Turn {
	t.Helper()
	var last *Turn
	for _, question := range questions {
		last = start(t, p, question)
		wait(t, last)
	}
	return last
}

// about returns which of the questions the messages of a request are about.
func about(req backends.Request) (found []string) {
	for _, question := range weather {
		if slices.ContainsFunc(req.Messages, func(m backends.Message) bool { return strings.Contains(m.Text(), question) }) {
			found = append(found, question)
		}
	}
	return found
}

// lastInputs returns the requests of the first call of each agent in a turn.
func lastInputs(r *debugbackend.Recorder, number int) map[string]backends.Request {
	first := map[string]backends.Request{}
	for _, call := range r.Calls() {
		if key := call.Request.Key; key.Turn == number && key.Round <= 1 && key.Index == 0 {
			first[key.Agent] = call.Request
		}
	}
	return first
}

func recorded(r *debugbackend.Recorder, contexts ...agents.Context) func(*Options) {
	return func(o *Options) {
		for i := range o.Agents {
			o.Agents[i].Backend = r.Wrap(o.Agents[i].Backend)
			if i < len(contexts) {
				o.Agents[i].Context = contexts[i]
			}
		}
	}
}

// eventsOf returns the events of one kind of a turn that is over.
func eventsOf[E report.Event](t *testing.T, turn *Turn) (found []E) {
	t.Helper()
	for ev := range turn.Events(t.Context()) {
		if ev, ok := ev.(E); ok {
			found = append(found, ev)
		}
	}
	return found
}

// headless compares events without their headers.
func headless() cmp.Option { return cmpopts.IgnoreTypes(report.Header{}) }

// TestHistoryIsCutToTheContextWindow asks a model with a small window five questions.
func TestHistoryIsCutToTheContextWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 1, talks, nil, recorded(recorder, small(policy.Full)))
		first := ask(t, p, weather[:1])
		if got := eventsOf[report.ContextWarned](t, first); len(got) > 0 {
			t.Errorf("the first turn warns: %+v", got[0].Context)
		}
		last := ask(t, p, weather[1:])
		if got := about(lastInputs(recorder, 5)["agent1"]); !slices.Equal(got, []string{"hail", "wind", "fog"}) {
			t.Errorf("the fifth turn shows %v", got)
		}
		warned := []report.ContextWarned{{Actor: report.Actor{Agent: "agent1"}, Context: report.ContextWarning{
			SessionID: "s", MessageCount: 9, EstimatedTokens: 96, Warning: policy.AtLimit, Estimated: true, Window: 250, Limit: 125,
		}}}
		if diff := cmp.Diff(warned, eventsOf[report.ContextWarned](t, last), headless()); diff != "" {
			t.Errorf("the warnings (-want +got):\n%s", diff)
		}
		updated := eventsOf[report.SessionUpdated](t, last)
		if len(updated) != 1 || updated[0].Session.SessionID != "s" || updated[0].Session.MessageCount != 10 || updated[0].Session.UsageTotal.Calls != 5 {
			t.Errorf("the session is told as %+v", updated)
		}
		want := []string{"not all of the conversation was shown to agent1; policy full: shown the last 4 messages, from turn 3 on; what is older would not fit and is left out"}
		r := wait(t, last)
		if diff := cmp.Diff(want, r.Warnings); diff != "" {
			t.Errorf("the result's warnings (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]report.AgentContextWarning{{Agent: "agent1", ContextWarning: warned[0].Context}}, r.ContextWarnings); diff != "" {
			t.Errorf("the result's warnings of the context (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(&updated[0].Session, r.Session); diff != "" {
			t.Errorf("the result's session (-want +got):\n%s", diff)
		}
		rebuilds(t, store, recorder, len(weather))
	})
}

// TestContextWarningComesBeforeTheLoss asks until something is left out: under each policy that
// leaves out what does not fit, an earlier turn has warned that the limit is near.
func TestContextWarningComesBeforeTheLoss(t *testing.T) {
	for name, c := range map[string]struct {
		agents, window int
		kind           policy.Kind
	}{
		"one":             {1, 1200, policy.Full},
		"one that prunes": {1, 1200, policy.Prune},
		"a panel":         {3, 3000, policy.Full},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				context := small(c.kind)
				context.Window = c.window
				script := talks
				if c.agents > 1 {
					script = agree
				}
				p, _ := panelOf(t, c.agents, script, nil, recorded(debugbackend.NewRecorder(debugbackend.Options{}), context))
				hasWarned := false
				for n := range 60 {
					r := wait(t, start(t, p, fmt.Sprintf("question %d, which is as long as questions are", n)))
					isCut := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "not all of the conversation") })
					switch {
					case isCut && !hasWarned:
						t.Fatalf("turn %d is the first that warns, and leaves something out: %q", n+1, r.Warnings)
					case isCut:
						return
					}
					hasWarned = hasWarned || slices.ContainsFunc(r.ContextWarnings, func(w report.AgentContextWarning) bool {
						return w.Warning == policy.ApproachingLimit && w.EstimatedTokens <= w.Limit
					})
				}
				t.Error("nothing was ever left out")
			})
		})
	}
}

// rebuilds checks that the journals of the turns give the inputs that were sent.
func rebuilds(t *testing.T, store journaled, recorder *debugbackend.Recorder, turns int) {
	t.Helper()
	inputs := map[string]string{}
	for number := range turns {
		_, turnInputs := replay(t, store, "s", number+1)
		for key, input := range turnInputs {
			inputs[key] = input
		}
	}
	if diff := cmp.Diff(recordedInputs(t, recorder), inputs); diff != "" {
		t.Errorf("the inputs that were rebuilt differ (-sent +rebuilt):\n%s", diff)
	}
}

// threeContexts are of three policies.
func threeContexts() []agents.Context {
	window := agents.Context{Policy: policy.Defaults()}
	window.Policy.Kind, window.Policy.WindowCharacters = policy.Window, 12
	prune := agents.Context{Policy: policy.Defaults()}
	prune.Policy.Kind, prune.Policy.MaxMessages, prune.Policy.KeepRecent = policy.Prune, 6, 2
	prune.Policy.WarnAt.Approaching = policy.Threshold{Messages: 9}
	return []agents.Context{{}, window, prune}
}

// TestPreviewIsWhatTheNextTurnIsShown looks before each question at what the turn is
// shown then.
func TestPreviewIsWhatTheNextTurnIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 3, agree, nil, recorded(recorder, threeContexts()...))
		var head blob.Ref
		for i, question := range weather {
			previews, err := p.Preview(t.Context(), "s", head)
			if err != nil {
				t.Fatal(err)
			}
			last := ask(t, p, []string{question})
			warned := map[string]policy.Warning{}
			for _, ev := range eventsOf[report.ContextWarned](t, last) {
				warned[ev.Agent] = ev.Context.Warning
			}
			inputs := lastInputs(recorder, i+1)
			for _, v := range previews {
				sent := inputs[v.Agent]
				if section := contextbuild.HistorySection(v.History); !strings.HasPrefix(sent.Messages[1].Text(), section) || (section == "") != (i == 0) {
					t.Errorf("turn %d: %s was sent\n%s\nand foretold\n%s", i+1, v.Agent, sent.Messages[1].Text(), section)
				}
				if v.Shown.String() != sent.History || v.Context.Warning != warned[v.Agent] || v.Context.EstimatedTokens < 100 {
					t.Errorf("turn %d: %s is foretold %q, %+v; it is %q, %q", i+1, v.Agent, v.Shown, v.Context, sent.History, warned[v.Agent])
				}
			}
			turns, err := store.Turns(t.Context(), "s", 1)
			if err != nil {
				t.Fatal(err)
			}
			head = turns[0].Link
		}
	})
}

// TestEachAgentHasAContextOfItsOwn has three policies on one panel.
func TestEachAgentHasAContextOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 3, agree, nil, recorded(recorder, threeContexts()...))
		last := ask(t, p, weather)
		inputs := lastInputs(recorder, 5)
		for agent, want := range map[string][]string{"agent1": weather, "agent2": {"wind", "fog"}, "agent3": {"wind", "fog"}} {
			if got := about(inputs[agent]); !slices.Equal(got, want) {
				t.Errorf("%s is shown %v, want %v", agent, got, want)
			}
		}
		if text := inputs["agent2"].Messages[1].Text(); strings.Count(text, "\nAssistant: ") != 2 || !strings.Contains(text, "...\n") {
			t.Errorf("the window is not of three messages that are cut:\n%s", text)
		}
		warned := eventsOf[report.ContextWarned](t, last)
		if len(warned) != 1 || warned[0].Agent != "agent3" || warned[0].Context.Warning != policy.ApproachingLimit || warned[0].Context.MessageCount != 9 {
			t.Errorf("the warnings: %+v", warned)
		}
		rebuilds(t, store, recorder, len(weather))
	})
}

// TestResumedTurnIsShownWhatItWasBegunWith resumes a turn with another policy than
// that of the process that began it.
func TestResumedTurnIsShownWhatItWasBegunWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 1, talks, nil, recorded(debugbackend.NewRecorder(debugbackend.Options{}), small(policy.Full)))
		ask(t, p, weather[:4])
		begun, err := store.Begin(t.Context(), "s", weather[4])
		if err != nil {
			t.Fatal(err)
		}
		begins := newTurn("s", begun.Turn, weather[4])
		described, err := p.prepare(t.Context(), begins, begun)
		if err != nil {
			t.Fatal(err)
		}
		event, err := turn.Encode(turn.Accepted{At: kernel.Time(time.Now().UnixMilli()), Rules: p.opts.Rules, Turn: described})
		if err == nil {
			err = store.Append(t.Context(), "s", begun.Turn, event)
		}
		if err == nil {
			err = store.Leave(t.Context(), "s", begun.Turn)
		}
		if err != nil {
			t.Fatal(err)
		}
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		other, _ := panelOf(t, 1, talks, nil, func(o *Options) {
			o.Store = store
			recorded(recorder)(o)
		})
		resumed, err := other.Resume(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		wait(t, resumed)
		if got := about(lastInputs(recorder, 5)["agent1"]); !slices.Equal(got, []string{"hail", "wind", "fog"}) {
			t.Errorf("the resumed turn shows %v", got)
		}
	})
}

func TestNewRefusesAPolicyThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*policy.Settings){
		"agent a: the policy summarize needs a summarizer": func(s *policy.Settings) { s.Kind = policy.Summarize },
		`agent a: the policy "all" is none of`:             func(s *policy.Settings) { s.Kind = "all" },
	} {
		a := Agent{ID: "a", Backend: debugbackend.Demo(), Context: agents.Context{Policy: policy.Defaults()}}
		change(&a.Context.Policy)
		if _, err := New(Options{Agents: []Agent{a}, Store: openStore(t, t.TempDir()+"/s.db")}); err == nil || !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
