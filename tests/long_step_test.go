package tests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// lexicon is a tool with much to say of everything.
type lexicon struct{ lookup }

func (l lexicon) Call(ctx context.Context, arguments string) (string, error) {
	found, err := l.lookup.Call(ctx, arguments)
	return found + strings.Repeat(" and more of it", 20), err
}

// longStep is how many messages of a step call the tool.
const longStep = 60

// looksOn calls the tool as long as it is offered, every third time twice at once, and
// thinks of it where the model does: one that thinks by a budget does so once.
func looksOn(model string, c backendtest.Call, last backendtest.Reply) backendtest.Reply {
	reply := last
	if slices.Contains(c.ToolNames(), "lookup") {
		reply = toolCall("lookup", fmt.Sprintf(`{"word":"%d"}`, c.Number))
		if c.Number%3 == 0 {
			reply.ToolCalls = append(reply.ToolCalls, backends.ToolCall{ID: "call_2", Name: "lookup", Arguments: `{"word":"wind"}`})
		}
	}
	if model == "claude-sonnet-4-5" && c.Number > 1 {
		return reply
	}
	return thinking(model, reply)
}

// longSteps are the contexts of a step that is too long for them.
func longSteps() map[policy.Kind]agents.Context {
	contexts := map[policy.Kind]agents.Context{}
	for _, kind := range []policy.Kind{policy.Full, policy.Window, policy.Prune, policy.Summarize} {
		c := agents.Context{Policy: policy.Defaults()}
		c.Policy.Kind = kind
		if kind == policy.Full {
			c.Window = 12_000
		}
		contexts[kind] = c
	}
	return contexts
}

// looking is an agent that looks on and on.
func looking(a coordinator.Agent, c agents.Context) coordinator.Agent {
	a.Tools, a.Context, a.Params.ReasoningEffort = []agents.Tool{lexicon{}}, c, "low"
	return a
}

func longLimits() coordinator.Options {
	limits := effect.DefaultLimits()
	limits.MaxTurns, limits.MaxToolCalls = longStep+1, 0
	return coordinator.Options{Store: sessions.NewMemory(), Rules: kernel.Defaults(), Limits: limits}
}

// TestLongStepIsAValidRequest has an agent alone call its tool in sixty messages, under
// every policy, against a server that refuses what its service would.
func TestLongStepIsAValidRequest(t *testing.T) {
	t.Parallel()
	budget := claude()
	budget.model = "claude-sonnet-4-5"
	for _, p := range append(protocols(), budget) {
		for kind, c := range longSteps() {
			t.Run(p.model+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server, adapter := p.serve(t, refusing(t, p, func(c backendtest.Call) backendtest.Reply {
						return looksOn(p.model, c, backendtest.Reply{Text: "So it is."})
					}))
					opts := longLimits()
					opts.Agents = []coordinator.Agent{looking(coordinator.Agent{ID: "agent1", Model: p.model, Backend: adapter}, c)}
					opts.Summarizer = &coordinator.Summarizer{SidecallModel: coordinator.SidecallModel{Backend: adapter, Model: p.model}}
					built, err := coordinator.New(opts)
					if err != nil {
						t.Fatal(err)
					}
					r := panel{Panel: built}.ask(t, "What is it?")
					if r.Status != kernel.Completed || r.Answer != "So it is." {
						t.Fatalf("status %s, answer %q, %+v", r.Status, r.Answer, r.Failed)
					}
					step, summaries := withoutSummaries(server.Calls())
					checkShortened(t, step, "What is it?")
					if made := summaries > 0; made != (kind == policy.Summarize) {
						t.Errorf("%d calls for summaries", summaries)
					}
				})
			})
		}
	}
}

// TestLongStepsOfAPanelAreValidRequests has the agents of all protocols do the same
// in one panel, before they answer.
func TestLongStepsOfAPanelAreValidRequests(t *testing.T) {
	t.Parallel()
	contexts := longSteps()
	policies := map[string]policy.Kind{"openai": policy.Full, "responses": policy.Prune, "claude": policy.Prune, "gemini": policy.Window}
	synctest.Test(t, func(t *testing.T) {
		opts := longLimits()
		servers := map[string]*backendtest.Server{}
		for _, p := range protocols() {
			server, adapter := p.serve(t, refusing(t, p, func(c backendtest.Call) backendtest.Reply {
				if c.Number > longStep+1 {
					return vote(anonymous(google()), "it is the clearest")
				}
				return looksOn(p.model, c, newAnswer("the answer of "+c.Model()))
			}))
			servers[p.name] = server
			opts.Agents = append(opts.Agents, looking(coordinator.Agent{ID: p.name, Model: p.model, Backend: adapter}, contexts[policies[p.name]]))
		}
		built, err := coordinator.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		r := panel{Panel: built}.ask(t, "What is it?")
		if r.Status != kernel.Completed || r.Winner != "gemini" || len(r.Failed) > 0 || len(r.Warnings) != len(servers) {
			t.Errorf("status %s, winner %s, failed %+v, warnings %q", r.Status, r.Winner, r.Failed, r.Warnings)
		}
		for _, server := range servers {
			checkShortened(t, server.Calls()[:longStep+1], "<ORIGINAL MESSAGE> What is it?")
		}
	})
}

// withoutSummaries leaves out the calls for summaries of a step, and counts them.
func withoutSummaries(calls []backendtest.Call) (step []backendtest.Call, summaries int) {
	for _, c := range calls {
		if strings.HasPrefix(c.System(), "You keep the memory of an agent") {
			summaries++
			continue
		}
		step = append(step, c)
	}
	return step, summaries
}

// checkShortened looks at the calls of a long step: the last of them have the question,
// a line about what is left out, the newest results and not the oldest.
func checkShortened(t *testing.T, calls []backendtest.Call, question string) {
	t.Helper()
	if len(calls) != longStep+1 {
		t.Fatalf("%d calls, want %d", len(calls), longStep+1)
	}
	for i, c := range calls[longStep-1:] {
		before := calls[longStep-2+i].Number
		results := toolResults(c.Messages())
		text := c.User()
		if !strings.Contains(text, question) || strings.Count(text, " left out]") != 1 {
			t.Errorf("call %d is sent the question as %q", c.Number, text)
		}
		newest := fmt.Sprintf(`found {"word":"%d"}`, before)
		if before%3 == 0 {
			newest = `found {"word":"wind"}`
		}
		if len(results) == 0 || len(results) >= longStep || !strings.HasPrefix(results[len(results)-1], newest) {
			t.Errorf("call %d is sent %d results, the newest of which is not %s", c.Number, len(results), newest)
		}
	}
}
