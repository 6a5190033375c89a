package talk

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/panels"
)

// TestOutOfTime has turns in which one agent answers in time, too late, or not at all, and
// another never does.
func TestOutOfTime(t *testing.T) {
	const nothing = "massgen: out of time after 0.2 s: there is no answer yet; --orchestrator-timeout gives more\n"
	for _, c := range []struct {
		reply string // that of the one agent
		code  int
		shown string
	}{
		{"{hang: true}", cmdline.ExitFailed, nothing},
		{"{delay: 201ms, new_answer: late}", cmdline.ExitFailed, nothing},
		{"{delay: 199ms, new_answer: early}", cmdline.ExitNoWinner, "massgen: warning: b failed: its call had not come back when the turn was ended\n" +
			"massgen: out of time: this is the best answer so far, by a; --orchestrator-timeout gives more\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var shown strings.Builder
			p := testProgram(t)
			p.Console.Err = &shown
			p.Options.Panel.Backend, p.Options.Panel.TurnLimit, p.Options.Display.NoDisplay = providers.Demo, 200*time.Millisecond, true
			s, err := openSession(t.Context(), p, "")
			if err != nil {
				t.Fatal(err)
			}
			script, err := debugbackend.ParseScript([]byte("rules: [{when: {agent: a, round: 1}, reply: " + c.reply + "}, {reply: {hang: true}}]"))
			if err != nil {
				t.Fatal(err)
			}
			scripted := debugbackend.NewScripted(script)
			limit := s.asked.config.Orchestrator.Rules
			replacePanel(t, s, []massgen.Agent{{ID: "a", Backend: scripted}, {ID: "b", Backend: scripted}}, massgen.WithRules(func(r *massgen.Rules) {
				r.TurnLimit, r.RoundGrace = limit.TurnLimit, limit.RoundGrace
			}))
			err = s.once(t.Context(), "question")
			var end cmdline.ExitError
			if !errors.As(err, &end) || end.Code != c.code || shown.String() != c.shown {
				t.Errorf("%s: %v, status %d, and shown is %q; want %d and %q", c.reply, err, end.Code, shown.String(), c.code, c.shown)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// replacePanel has a session ask agents in Go in place of its panel.
func replacePanel(t *testing.T, s *session, agents []massgen.Agent, options ...massgen.Option) {
	t.Helper()
	if err := s.asked.close(); err != nil {
		t.Fatal(err)
	}
	var err error
	s.asked.panel, err = massgen.New(t.Context(), agents, append(options, func(of *panels.Settings) { of.Store, of.Secrets = s.store, s.console.Secrets })...)
	if err != nil {
		t.Fatal(err)
	}
}
