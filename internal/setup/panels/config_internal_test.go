package panels

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

func TestRulesAreTheConfigs(t *testing.T) {
	c, err := configs.Parse("test", []byte(`
agents: [{backend: {type: demo}}, {backend: {type: demo}}, {backend: {type: demo}}]
orchestrator:
  pace: eager
  decision: majority
  max_rounds: 7
  straggler_grace: 11s
  max_new_answers_per_agent: 2
  max_new_answers_global: 5
  self_vote: false
  answer_novelty_requirement: balanced
  final_answer_strategy: synthesize
  max_turns: 4
  max_attempts: 6
  max_tool_calls: 8
  max_tool_result_bytes: 9000
timeout_settings:
  orchestrator_timeout_seconds: 100
  initial_round_timeout_seconds: 20
  subsequent_round_timeout_seconds: 30
  round_timeout_grace_seconds: 40
  tool_timeout_seconds: 2.5
`), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := kernel.Config{
		Pace: kernel.PaceEager, Decision: election.Majority, Final: kernel.Synthesize, MaxRounds: 7,
		StragglerGrace: 11 * time.Second, MaxNewAnswersPerAgent: 2, MaxNewAnswersGlobal: 5,
		FirstRoundLimit: 20 * time.Second, RoundLimit: 30 * time.Second, RoundGrace: 40 * time.Second, TurnLimit: 100 * time.Second,
	}
	if diff := cmp.Diff(want, c.Orchestrator.Rules); diff != "" {
		t.Errorf("rules (-want +got)\n%s", diff)
	}
	if got := c.Orchestrator.Limits; got != (effect.Limits{MaxTurns: 4, MaxAttempts: 6, MaxToolCalls: 8, ToolLimit: 2500, ResultLimit: 9000, MaxOverlap: 700}) {
		t.Errorf("limits %+v", got)
	}
	standard := kernel.Defaults()
	standard.TurnLimit, standard.RoundGrace = 30*time.Minute, 2*time.Minute
	if diff := cmp.Diff(standard, configs.Default().Orchestrator.Rules); diff != "" {
		t.Errorf("the default rules (-want +got)\n%s", diff)
	}
	if got := configs.Default().Orchestrator.Limits; got != effect.DefaultLimits() {
		t.Errorf("the default limits are %+v", got)
	}
}
