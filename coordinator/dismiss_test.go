package coordinator

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// lateAgent is agree, but for agent3, which answers after an hour.
const lateAgent = "rules:\n  - {when: {agent: agent3}, reply: {delay: 1h, new_answer: late}}" + agreement

// TestTurnGoesOnWithoutAgent whose call takes an hour, and says so. Who cannot be dismissed is
// refused with the reason.
func TestTurnGoesOnWithoutAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, lateAgent, nil, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.StragglerGrace = 0
		})
		running := start(t, p, "energy")
		dismiss := func(agent, want string) {
			t.Helper()
			if err := running.Dismiss(t.Context(), agent); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("dismiss %s: %v, want %s", agent, err, want)
			}
		}
		dismiss("agent9", "the panel has no such agent; its agents are agent1, agent2, agent3")
		time.Sleep(time.Minute)
		if err := running.Dismiss(t.Context(), "agent3"); err != nil {
			t.Fatal(err)
		}
		dismiss("agent3", "the turn goes on without it already")
		if err := running.Dismiss(t.Context(), "agent1"); err != nil {
			t.Fatal(err)
		}
		dismiss("agent2", "it is the last agent; end the turn instead")
		r := wait(t, running)
		if r.Status != kernel.Completed || r.Winner != "agent2" || r.DurationMS > 62_000 || len(r.Answers) != 2 {
			t.Errorf("%s, won by %s of %d answers after %d ms", r.Status, r.Winner, len(r.Answers), r.DurationMS)
		}
		var states []kernel.Act
		for _, a := range r.Agents {
			states = append(states, a.State)
		}
		if diff := cmp.Diff([]kernel.Act{kernel.ActDismissed, kernel.ActVoted, kernel.ActDismissed}, states); diff != "" {
			t.Errorf("the agents' states (-want +got):\n%s", diff)
		}
		var told []string
		for ev := range running.Events(t.Context()) {
			if d, ok := ev.(report.Dismissed); ok {
				told = append(told, d.Kind+" "+d.Agent)
			}
		}
		if diff := cmp.Diff([]string{"dismissed agent3", "dismissed agent1"}, told); diff != "" {
			t.Errorf("what is told (-want +got):\n%s", diff)
		}
		if err := running.Dismiss(t.Context(), "agent2"); !errors.Is(err, driver.ErrOver) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestDismissalSurvivesEveryKill: a process that resumes the turn after it has the result that
// there is without a kill.
func TestDismissalSurvivesEveryKill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		change := func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.StragglerGrace = 0
		}
		p, texts := panelOf(t, 3, lateAgent, nil, change)
		running := start(t, p, "energy")
		time.AfterFunc(time.Minute, func() {
			if err := running.Dismiss(t.Context(), "agent3"); err != nil {
				t.Error(err)
			}
		})
		want := wait(t, running)
		journal, err := texts.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(journal, func(data []byte) bool {
			ev, err := turn.Decode(data)
			_, ok := ev.(kernel.Dismissed)
			return err == nil && ok
		})
		if at < 0 {
			t.Fatal("the journal has no dismissal")
		}
		for n := at + 1; n <= len(journal); n++ {
			got, _ := resumeAfter(t, lateAgent, change, journal[:n], texts)
			if got.Agents[2].State != kernel.ActDismissed {
				t.Errorf("after %d of %d events: agent3 is %s", n, len(journal), got.Agents[2].State)
			}
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Errorf("after %d of %d events: the result (-want +got):\n%s", n, len(journal), diff)
			}
		}
	})
}
