package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// mostPayload is above which Temporal warns; it refuses what is eight times as large.
const mostPayload = 256 << 10

// TestLargestWorkIsSmall: of 16 agents that have all answered, one is at the end of the
// longest step that the default limits allow, with news of the others in each message.
func TestLargestWorkIsSmall(t *testing.T) {
	const agents = 16
	ref := sessions.RefOf([]byte("a text"))
	ref.Bytes = 10 << 20
	w := work{Session: strings.Repeat("s", 200), Owner: "temporal/" + strings.Repeat("o", 26)}
	call := effect.ModelCall{Key: effect.Key{Agent: agents - 1, Round: 5, Purpose: effect.Coordination, Index: 50}, OwnTools: true}
	for i := range agents {
		w.Turn.Agents = append(w.Turn.Agents, effect.Agent{ID: fmt.Sprintf("agent number %d", i), System: ref, Model: strings.Repeat("m", 100), Params: ref, Tools: ref})
		call.Offer.Shown = append(call.Offer.Shown, kernel.Answer{Agent: i, Text: ref, Work: ref})
	}
	limits := effect.DefaultLimits()
	for i := range limits.MaxTurns + limits.MaxAttempts {
		call.Transcript = append(call.Transcript, effect.Entry{Kind: effect.Assistant, Text: ref})
		for range limits.MaxToolCalls / limits.MaxTurns {
			call.Transcript = append(call.Transcript, effect.Entry{
				Kind: effect.Result, Text: ref, CallID: strings.Repeat("c", 60), Name: strings.Repeat("n", 64), ElapsedMS: 120_000,
			})
		}
		call.Transcript[len(call.Transcript)-1].Update = &kernel.Offer{Shown: call.Offer.Shown, Set: i}
	}
	w.Effect = effectOf(call)
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(data))
	if len(data) > mostPayload {
		t.Errorf("the largest work has %d bytes, more than %d", len(data), mostPayload)
	}
}

// TestDescriptionOfALargePanelIsSmall: a message over InlineLimit would be a text, which a replay may miss.
func TestDescriptionOfALargePanelIsSmall(t *testing.T) {
	rules := kernel.Config{}
	f := newFleetOf(t, fleetScript, func(f *fleet) {
		f.change = func(o *coordinator.Options) {
			first := o.Agents[0]
			o.Agents = nil
			for i := range mostAtOnce { // each has two texts of its own
				first.ID = fmt.Sprint("agent number ", i)
				first.SystemMessage, first.Params.Seed = fmt.Sprint("system ", i), new(int64(i))
				o.Agents = append(o.Agents, first)
				rules.Agents = append(rules.Agents, first.ID)
			}
		}
	})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(f.workers[0].prepare)
	rules.Agents = rules.Agents[:mostAtOnce] // each of the two workers has added them
	value, err := env.ExecuteLocalActivity(f.workers[0].prepare, request{Form: turnsByTexts, Session: "s", Owner: "o", Question: []byte("energy?"), Terms: coordinator.TurnOptions{Rules: rules}})
	f.check(err)
	var b begun
	f.check(value.Get(&b))
	data, err := json.Marshal(b)
	f.check(err)
	if _, err := b.accepted(); err != nil || len(data) > defaultInlineLimit {
		t.Errorf("it has %d bytes, more than %d, or %v", len(data), defaultInlineLimit, err)
	}
}

// TestReplyWithTooManyCallsIsAFailure, whose usage is kept.
func TestReplyWithTooManyCallsIsAFailure(t *testing.T) {
	reply := effect.ModelReply{Usage: &effect.Usage{InputTokens: 1}}
	for i := range 10_000 {
		reply.Calls = append(reply.Calls, effect.Call{ID: fmt.Sprint("call_", i), Name: "search", Own: true})
	}
	got := bounded(reply)
	if got.Failure == nil || len(got.Calls) > 0 || got.Usage == nil || !strings.Contains(got.Failure.Message, "10000 tool calls") {
		t.Errorf("%+v", got.Failure)
	}
	small := effect.ModelReply{Calls: reply.Calls[:50]}
	if got := bounded(small); got.Failure != nil || len(got.Calls) != 50 {
		t.Errorf("50 calls: %+v", got.Failure)
	}
}
