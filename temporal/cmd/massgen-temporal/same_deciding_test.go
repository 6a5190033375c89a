package main

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// decidingScenarios are turns that a judge, a cascade or a check decides.
func decidingScenarios() []scenario {
	const judge = `judge: {backend: {base_url: "$URL", model: judge}}`
	return []scenario{
		{name: "judge writes", agents: 3, reply: deciding, config: []string{
			"orchestrator: {strategy: judge, final: synthesize, answer_order: shuffled, seed: 7, " + judge + "}",
		}, turns: []string{"agent3 agent1 agent2 judge judge", "agent1 agent2 agent3 judge judge"}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			if r.Answer != "Written better by judge." || r.Usage.Calls != 5 || r.Analysis == nil || r.Analysis.Best != "agent2.1" {
				t.Errorf("%q after %d calls, by %+v", r.Answer, r.Usage.Calls, r.Analysis)
			}
		}},
		{name: "judge selects", agents: 3, reply: decidingLate, config: []string{"orchestrator: {strategy: judge, final: select, judge: agent3}"}, turns: []string{
			"agent2 agent1 agent3 agent3 agent3",
		}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			if r.Answer != "the answer of agent2" || r.Usage.Calls != 5 || r.Analysis == nil || !r.Analysis.Consensus[0].Quotes[0].Found || r.Analysis.Consensus[0].Quotes[1].Found {
				t.Errorf("%q after %d calls, by %+v", r.Answer, r.Usage.Calls, r.Analysis)
			}
		}},
		{name: "analysis", agents: 3, reply: deciding, config: []string{"orchestrator: {strategy: blind, analysis: true, decision: approval, " + judge + "}"}, turns: []string{
			"agent1 agent3 agent2 agent3 agent2 agent1 judge",
		}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			if r.Analysis == nil || r.Analysis.Best != "agent2.1" || strings.Join(r.Votes[0].Others, " ") != "agent3.1" {
				t.Errorf("the analysis is %+v, the votes %+v", r.Analysis, r.Votes)
			}
		}},
		{name: "verdict", agents: 3, reply: deciding, config: []string{
			`orchestrator: {strategy: cascade, cascade: [[agent1, agent2], all], agree: verdict, verdict: {backend: {base_url: "$URL", model: verdict}}, then: judge, ` + judge + `}`,
		}, turns: []string{"agent2 agent1 verdict", "agent1 agent2 verdict agent3 verdict judge"}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			if r.Stage != 2 || r.Usage.Calls != 6 {
				t.Errorf("it ends in stage %d after %d calls", r.Stage, r.Usage.Calls)
			}
		}},
		{name: "pattern", agents: 3, reply: learning, config: []string{"orchestrator: {strategy: blind, check: {pattern: better}}"}, turns: []string{
			"agent1 agent2 agent1 agent2 agent3 agent3 agent3 agent1 agent2",
		}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			checkChecks(t, r, "agent1.1 true", "agent2.1 true", "agent3.1 false")
		}},
	}
}

// checkChecks compares the checks of a result with "LABEL PASSED".
func checkChecks(t testing.TB, r report.Result, want ...string) {
	t.Helper()
	var got []string
	for _, c := range r.Checks {
		got = append(got, c.Label+" "+map[bool]string{true: "true", false: "false"}[c.Passed])
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the checks are %+v, want %s", r.Checks, want)
	}
}

// deciding has agents answer and vote for agent2, and a judge prefer it. A verdict says that the answers
// of the first question are the same.
func deciding(c backendtest.Call) backendtest.Reply {
	system := c.Messages()[0].Text()
	usage := &backends.Usage{InputTokens: 100, OutputTokens: 10}
	last := c.Messages()[len(c.Messages())-1].Text()
	switch {
	case strings.HasPrefix(last, "Now write the final response"):
		return backendtest.Reply{Text: "Written better by " + c.Model() + ".", Usage: usage}
	case strings.Contains(system, "You judge the CURRENT ANSWERS"):
		return backendtest.Reply{Text: `{"consensus":[{"claim":"It is an answer.","answers":["agent1","agent2"],"quotes":[{"answer":"agent2","text":"the answer of agent2"},{"answer":"agent1","text":"made up"}]}],` +
			`"partial":[],"unique":[],"contradictions":[],"blind_spots":["why"],"best":"agent2","why":"It is clear."}`, Usage: usage}
	case strings.Contains(system, "You decide whether the CURRENT ANSWERS"):
		if strings.Contains(c.User(), "question 2") {
			return backendtest.Reply{Text: `{"same":false}`, Usage: usage}
		}
		return backendtest.Reply{Text: `{"same":true}`, Usage: usage}
	case isBlind(c):
		return agreeable(c)
	}
	return act("vote", `{"agent_id":"agent2","reason":"it is the clearest","others":["agent3","agent9"]}`)
}

// decidingLate has a judge whose first reply does not fit.
func decidingLate(c backendtest.Call) backendtest.Reply {
	if strings.Contains(c.Messages()[0].Text(), "You judge") && len(c.Messages()) < 3 {
		return backendtest.Reply{Text: "The second."}
	}
	return deciding(c)
}

// learning has all but agent3 give a better answer after their first has failed its check.
func learning(c backendtest.Call) backendtest.Reply {
	if isBlind(c) && c.Model() != "agent3" {
		return step(c, newAnswer("the answer of %s", c.Model()), newAnswer("a better answer of %s", c.Model()))
	}
	return agreeable(c)
}
