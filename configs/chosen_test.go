package configs_test

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

const chosenFrom = `# A panel.
agents:
  - {id: ada, backend: &m {type: demo, model: x, temperature: 0.5}} # the first
  - {id: bob, backend: {<<: *m, model: y}}
  - {id: cy, backend: *m}
orchestrator:
  strategy: judge
  judge: bob
  max_tool_calls: 7
presets:
  mine: {strategy: blind, decision: majority}
`

// TestChosenIsAConfig: what is written is read again, and decides as it says.
func TestChosenIsAConfig(t *testing.T) {
	t.Parallel()
	c, err := configs.Parse("panel.yaml", []byte(chosenFrom), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		agent, preset string
		keys          map[string]string
		agents        int
		check         func(o configs.Orchestrator) bool
		has, lacks    string
	}{
		{agent: "bob", agents: 1, check: func(o configs.Orchestrator) bool { return o.Rules.Strategy() == "" }, has: "model: y", lacks: "judge"},
		{agent: "cy", agents: 1, check: func(configs.Orchestrator) bool { return true }, has: "temperature: 0.5", lacks: "*m"},
		{keys: map[string]string{"strategy": "blind"}, agents: 3, has: "# the first", lacks: "!!merge", check: func(o configs.Orchestrator) bool {
			return o.Rules.Decider == kernel.Blind && o.Limits.MaxToolCalls == 7
		}},
		{keys: map[string]string{"strategy": "judge", "final": "synthesize"}, agents: 3, has: "judge: bob", check: func(o configs.Orchestrator) bool {
			return o.Rules.Final == kernel.SynthesizeByJudge && o.Rules.Judge == "bob"
		}},
		{keys: map[string]string{"strategy": "majority", "answer_pattern": `x: (\d+)`}, agents: 3, check: func(o configs.Orchestrator) bool {
			return o.Rules.Decider == kernel.ByValue && o.AnswerPattern == `x: (\d+)`
		}},
		{preset: "mine", agents: 3, lacks: "judge:", check: func(o configs.Orchestrator) bool {
			return o.Rules.Decider == kernel.Blind && o.Rules.Decision == "majority"
		}},
		{preset: "quick", agents: 3, has: "cascade: [[ada, bob], all]", check: func(o configs.Orchestrator) bool {
			return len(o.Rules.Stages) == 2 && o.Rules.Judge == "bob"
		}},
	} {
		text, err := c.Chosen(test.agent, test.preset, test.keys)
		if err != nil {
			t.Errorf("%s%s%v: %v", test.agent, test.preset, test.keys, err)
			continue
		}
		got, err := configs.Parse("chosen.yaml", text, configs.Options{})
		if err != nil || len(got.Agents) != test.agents || !test.check(got.Orchestrator) {
			t.Errorf("%s%s%v: %v\n%s", test.agent, test.preset, test.keys, err, text)
		}
		if !strings.Contains(string(text), test.has) || test.lacks != "" && strings.Contains(string(text), test.lacks) {
			t.Errorf("%s%s%v has no %q, or %q:\n%s", test.agent, test.preset, test.keys, test.has, test.lacks, text)
		}
	}
	if _, err := c.Chosen("dan", "", nil); err == nil {
		t.Error("an agent that there is not is written")
	}
	if _, err := configs.Default().Chosen("", "", nil); err == nil || !strings.Contains(err.Error(), "no config file") {
		t.Errorf("a panel without a file: %v", err)
	}
}

// TestWithPatternHoldsForStrategies that are laid over the config later.
func TestWithPatternHoldsForStrategies(t *testing.T) {
	t.Parallel()
	c, err := configs.Parse("panel.yaml", []byte(chosenFrom), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.WithPreset("", "majority"); err == nil {
		t.Fatal("majority needs no pattern")
	}
	with, err := c.WithPattern("a+").WithPreset("", "majority")
	if err != nil || with.Orchestrator.AnswerPattern != "a+" || c.Orchestrator.AnswerPattern != "" {
		t.Errorf("%v, %q, %q", err, with.Orchestrator.AnswerPattern, c.Orchestrator.AnswerPattern)
	}
}
