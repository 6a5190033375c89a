package coordinator

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/sessions"
)

// summing answers each question, and sums up what it is asked to.
const summing = `
rules:
  - {when: {purpose: summary, turn: 4}, reply: {text: "They spoke of the weather."}}
  - {when: {purpose: summary}, reply: {text: "They spoke of more weather."}}
  - {when: {round: 1}, reply: {new_answer: "All of {{.Question}}."}}
  - {when: {}, reply: {vote: {agent: agent1, reason: "good"}}}
`

// summed are the settings of a panel that sums up all but the last turn as soon as there
// are more than two.
func summed() agents.Context {
	settings := policy.Defaults()
	settings.Kind, settings.MaxMessages, settings.KeepRecent = policy.Summarize, 5, 2
	return agents.Context{Policy: settings}
}

func summingPanel(t *testing.T, n int, script string, r *debugbackend.Recorder) (*Panel, *sessions.Store) {
	return panelOf(t, n, script, nil, func(o *Options) {
		recorded(r, summed(), summed(), summed())(o)
		o.Summarizer = &Summarizer{SidecallModel: SidecallModel{Backend: o.Agents[0].Backend, Model: "small"}}
	})
}

// summaries returns the requests for summaries.
func summaries(r *debugbackend.Recorder) (found []backends.Request) {
	for _, call := range r.Calls() {
		if call.Request.Key.Purpose == "summary" {
			found = append(found, call.Request)
		}
	}
	slices.SortFunc(found, func(a, b backends.Request) int { return a.Key.Turn - b.Key.Turn })
	return found
}

// TestOlderTurnsAreSummarized, each in one summary, whatever the number of agents.
func TestOlderTurnsAreSummarized(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			recorder := debugbackend.NewRecorder(debugbackend.Options{})
			script := summing
			if n == 1 {
				script = strings.Replace(script, "new_answer", "text", 1)
			}
			p, store := summingPanel(t, n, script, recorder)
			shown := [][]string{{"rain"}, {"rain", "snow"}, {"rain", "snow", "hail"}, {"hail", "wind"}, {"hail", "wind", "fog"}}
			for i, question := range weather {
				wait(t, start(t, p, question))
				for agent, req := range lastInputs(recorder, i+1) {
					if agent != "" && !slices.Equal(about(req), shown[i]) {
						t.Errorf("%d agents: %s is shown %q in turn %d, want %q", n, agent, about(req), i+1, shown[i])
					}
					isSummary := func(m backends.Message) bool {
						return strings.Contains(m.Text(), "Summary of turns 1 to 2: They spoke of the weather.")
					}
					if agent != "" && slices.ContainsFunc(req.Messages, isSummary) != (i >= 3) {
						t.Errorf("%d agents: %s in turn %d: %v", n, agent, i+1, req.Messages)
					}
				}
			}
			asked := summaries(recorder)
			if len(asked) != 1 || !slices.Equal(about(asked[0]), []string{"rain", "snow"}) || asked[0].Model != "small" {
				t.Errorf("%d agents: asked for the summaries %v", n, asked)
			}
			wait(t, start(t, p, "storm"))
			again := summaries(recorder)
			if len(again) != 2 || !strings.Contains(again[1].Messages[1].Text(), "They spoke of the weather.") || !slices.Equal(about(again[1]), []string{"hail", "wind"}) {
				t.Errorf("%d agents: asked for the second summary with %v", n, again)
			}
			history, err := store.History(t.Context(), "s")
			if err != nil || len(history) != 6 || history[0].Answer != "All of rain." {
				t.Errorf("%d agents: the store has %+v, %v", n, history, err)
			}
			session, err := store.Session(t.Context(), "s")
			if want := `{"first_turn":1,"last_turn":4,"text":"They spoke of more weather.",`; err != nil || !strings.HasPrefix(session.Metadata[MetaSummary], want) {
				t.Errorf("%d agents: the session keeps %q, %v; want %s", n, session.Metadata[MetaSummary], err, want)
			}
			rebuilds(t, store, recorder, 6)
		})
	}
}

// TestSummaryThatFails leaves the newest turns, and says so.
func TestSummaryThatFails(t *testing.T) {
	t.Parallel()
	replies := map[string]string{
		"error": `{error: {kind: auth, message: "wrong key"}}`, "empty": `{text: "  "}`,
		"too long to be kept": `{text: "` + strings.Repeat("They spoke. ", 6000) + `"}`,
	}
	for name, reply := range replies {
		synctest.Test(t, func(t *testing.T) {
			recorder := debugbackend.NewRecorder(debugbackend.Options{})
			script := strings.Replace(summing, `{text: "They spoke of the weather."}`, reply, 1)
			p, _ := summingPanel(t, 3, script, recorder)
			ask(t, p, weather[:3])
			r := wait(t, start(t, p, weather[3]))
			if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "not all of the conversation was shown to agent1, agent2, agent3; policy summarize") ||
				!strings.Contains(r.Warnings[1], "the call for the summary came to nothing") {
				t.Errorf("%s: the warnings are %q", name, r.Warnings)
			}
			if got := about(lastInputs(recorder, 4)["agent2"]); !slices.Equal(got, []string{"snow", "hail", "wind"}) {
				t.Errorf("%s: shown %q", name, got)
			}
			// The next turn asks again.
			if wait(t, start(t, p, weather[4])); len(summaries(recorder)) != 2 {
				t.Errorf("%s: asked for %d summaries", name, len(summaries(recorder)))
			}
		})
	}
}

// TestSummaryThatIsCut is used, and said to be cut.
func TestSummaryThatIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := strings.Replace(summing, `{text: "They spoke of the weather."}`, `{text: "They spoke of the", finish: length}`, 1)
		p, _ := summingPanel(t, 3, script, debugbackend.NewRecorder(debugbackend.Options{}))
		r := wait(t, ask(t, p, weather[:4]))
		if want := []string{"the reply for the summary was cut at its max_tokens: what it says may be incomplete"}; !slices.Equal(r.Warnings, want) {
			t.Errorf("the warnings are %q, want %q", r.Warnings, want)
		}
	})
}

// TestContextWarningsWaitForTheSummary: they are told once, as they are beside it, and
// also if none is made.
func TestContextWarningsWaitForTheSummary(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		want  []policy.Warning
	}{
		"short": {`{text: "Wet."}`, nil},
		"long":  {`{text: "` + strings.Repeat("Wet. ", 80) + `"}`, []policy.Warning{policy.AtLimit}},
		"error": {`{error: {kind: auth, message: "wrong key"}}`, []policy.Warning{policy.AtLimit}},
	} {
		synctest.Test(t, func(t *testing.T) {
			script := "rules:\n  - {when: {purpose: summary}, reply: " + c.reply + "}" + strings.TrimPrefix(talks, "\nrules:")
			p, _ := panelOf(t, 1, script, nil, func(o *Options) {
				o.Agents[0].Context = small(policy.Summarize)
				o.Summarizer = &Summarizer{SidecallModel: SidecallModel{Backend: o.Agents[0].Backend, Model: "small"}}
			})
			turn := ask(t, p, weather[:4])
			if len(eventsOf[report.SidecallStarted](t, turn)) != 1 {
				t.Fatalf("%s: no summary is asked for in turn 4", name)
			}
			var told, kept []policy.Warning
			for _, ev := range eventsOf[report.ContextWarned](t, turn) {
				told = append(told, ev.Context.Warning)
			}
			for _, w := range wait(t, turn).ContextWarnings {
				kept = append(kept, w.Warning)
			}
			if !slices.Equal(told, c.want) || !slices.Equal(kept, c.want) {
				t.Errorf("%s: told %q, and the result has %q; want %q", name, told, kept, c.want)
			}
		})
	}
}

// TestSummaryThatCannotBeRead, as an import may have one, is made anew.
func TestSummaryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, kept := range []string{"x", "null", `{"first_turn":2,"last_turn":1,"text":"x"}`, `{"first_turn":-1,"last_turn":1,"text":"x"}`} {
		synctest.Test(t, func(t *testing.T) {
			recorder := debugbackend.NewRecorder(debugbackend.Options{})
			p, store := summingPanel(t, 3, summing, recorder)
			ask(t, p, weather[:4])
			if err := store.SetMetadata(t.Context(), "s", map[string]string{MetaSummary: kept}); err != nil {
				t.Fatal(err)
			}
			wait(t, start(t, p, weather[4]))
			asked := summaries(recorder)
			if len(asked) != 2 || !slices.Equal(about(asked[1]), []string{"rain", "snow", "hail"}) {
				t.Errorf("%s: asked for the summaries %v", kept, asked)
			}
		})
	}
}

// TestSummaryOfTurnsThatABranchHasNot is not used in the branch, also when that has as
// many turns of its own.
func TestSummaryOfTurnsThatABranchHasNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := summingPanel(t, 3, summing, recorder)
		ask(t, p, weather[:4])
		if _, err := store.Branch(t.Context(), "s", 1, "early"); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Branch(t.Context(), "s", 4, "late"); err != nil {
			t.Fatal(err)
		}
		for session, shown := range map[string][][]string{"early": {{"rain", "fog"}, {"rain", "wind", "fog"}}, "late": {{"hail", "wind", "fog"}}} {
			for i, want := range shown {
				turn, err := p.Start(t.Context(), session, weather[4-i])
				if err != nil {
					t.Fatal(err)
				}
				wait(t, turn)
				for _, call := range recorder.Calls() {
					key := call.Request.Key
					if key.Session == session && key.Turn == turn.Number() && key.Round == 1 && !slices.Equal(about(call.Request), want) {
						t.Errorf("%s: %s is shown %q in turn %d, want %q", session, key.Agent, about(call.Request), key.Turn, want)
					}
				}
			}
		}
	})
}
