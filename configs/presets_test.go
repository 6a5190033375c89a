package configs

import (
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

const threeAgents = `
agents:
  - {id: a, backend: &b {type: openai}}
  - {id: b, backend: *b}
  - {id: c, backend: *b}
`

// TestPresetsLieOverTheConfig: keys of a lower layer that mean nothing are dropped and named, and the
// config itself stays as it is.
func TestPresetsLieOverTheConfig(t *testing.T) {
	t.Parallel()
	const layers = threeAgents + `
orchestrator:
  decision: majority
  max_rounds: 3
  final_answer_strategy: winner_present
  judge: b
  analysis: true
presets:
  mine: {strategy: judge, judge: c, final: synthesize}
`
	c, err := Parse("panel.yaml", []byte(layers), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		preset, strategy string
		want             func(kernel.Config) bool
		dropped          []string
	}{
		{"", "", func(r kernel.Config) bool { return r.Strategy() == "" && r.Judge == "b" && r.MaxRounds == 3 }, nil},
		{"council", "", func(r kernel.Config) bool {
			return r.Decider == kernel.Consensus && r.MaxRounds == 3 && r.Decision == election.Majority && r.Judge == "b"
		}, nil},
		{"blind", "", func(r kernel.Config) bool { return r.Decider == kernel.Blind && r.MaxRounds == 5 }, []string{"max_rounds"}},
		{"mine", "", func(r kernel.Config) bool {
			return r.Decider == kernel.ByJudge && r.Judge == "c" && r.Final == kernel.SynthesizeByJudge && r.Decision == election.AllVoted
		}, []string{"final_answer_strategy", "max_rounds", "decision"}},
		{"mine", "blind", func(r kernel.Config) bool {
			return r.Decider == kernel.Blind && r.Judge == "c" && r.Final == kernel.WinnerPresent && r.Decision == election.Majority
		}, []string{"final", "max_rounds"}},
		{"quick", "", func(r kernel.Config) bool {
			return r.Strategy() == kernel.Cascade && len(r.Stages) == 2 && slices.Equal(r.Stages[0], []int{0, 1}) &&
				slices.Equal(r.Stages[1], []int{0, 1, 2}) && r.Agree == kernel.AgreeByVerdict && r.Decider == kernel.ByJudge && r.ConsultationLimit == consultationLimit
		}, []string{"final_answer_strategy", "max_rounds", "decision"}},
		{"", "cascade", func(r kernel.Config) bool {
			return len(r.Stages) == 2 && r.Decider == kernel.Consensus && r.MaxRounds == 3
		}, nil},
	} {
		with, err := c.WithPreset(test.preset, test.strategy)
		if err != nil {
			t.Errorf("%s %s: %v", test.preset, test.strategy, err)
			continue
		}
		if !test.want(with.Orchestrator.Rules) {
			t.Errorf("%s %s: %+v", test.preset, test.strategy, with.Orchestrator.Rules)
		}
		var dropped []string
		for _, issue := range with.Dropped {
			message, isDropped := strings.CutPrefix(issue.Message, "dropped: ")
			if !isDropped {
				continue
			}
			name, _, _ := strings.Cut(message, " ")
			if dropped = append(dropped, name); issue.Line == 0 && name != "final" {
				t.Errorf("%s %s: %s has no line", test.preset, test.strategy, issue)
			}
		}
		slices.Sort(dropped)
		slices.Sort(test.dropped)
		if !slices.Equal(dropped, test.dropped) {
			t.Errorf("%s %s: dropped are %v, want %v", test.preset, test.strategy, dropped, test.dropped)
		}
	}
	if c.Orchestrator.Rules.MaxRounds != 3 || c.Orchestrator.Rules.Decider != "" {
		t.Errorf("the config has changed: %+v", c.Orchestrator.Rules)
	}
	if got := strings.Join(c.Presets(), " "); got != "council blind fusion pick quick mine" {
		t.Errorf("the presets are %s", got)
	}
}

// TestPresetsOfSmallPanels: quick needs three agents, and one agent decides nothing.
func TestPresetsOfSmallPanels(t *testing.T) {
	t.Parallel()
	for agents, want := range map[string]string{
		"[{id: a, backend: {type: openai}}, {id: b, backend: {type: openai}}]": "council blind fusion pick",
		"[{id: a, backend: {type: openai}}]":                                   "",
	} {
		c, err := Parse("panel.yaml", []byte("agents: "+agents), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Presets(), " "); got != want {
			t.Errorf("the presets of %s are %s", agents, got)
		}
	}
}
