package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/backendtest"
)

// digs is a tool that is one function, and stands beside one that works.
type digs func(ctx context.Context) (string, error)

func (digs) Definition() backends.Tool {
	return backends.Tool{Name: "dig", Description: "Digs.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func (d digs) Call(ctx context.Context, _ string) (string, error) { return d(ctx) }

// deaf is how long a tool goes on that does not hear that it is to stop.
const deaf = time.Hour

func hole(context.Context) (string, error) { return "a hole", nil }

// toolFaultCase is a fault of a tool, or of its calls.
type toolFaultCase struct {
	name string
	dig  digs
	// calls are those of the model's first message: lookup and dig, if there are none.
	calls  []backends.ToolCall
	limits func(*effect.Limits)
	permit func(tool, arguments string) (effect.Permission, string)
	// want is a part of a result that the model is sent.
	want string
	// asText is set for a fault that can happen only where a service sends arguments as a text. Gemini's
	// are JSON, and it has the tool's usual call in place of the fault.
	asText bool
}

// of is the case as a service can have it.
func (f toolFaultCase) of(p protocol) toolFaultCase {
	if f.asText && p.name == "gemini" {
		f.calls = nil
	}
	return f
}

func toolFaults() []toolFaultCase {
	deny := func(p effect.Permission) func(string, string) (effect.Permission, string) {
		return func(tool, _ string) (effect.Permission, string) {
			if tool == "dig" {
				return p, "no digging"
			}
			return effect.Allowed, ""
		}
	}
	called := func(id, name, arguments string) backends.ToolCall {
		return backends.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	return []toolFaultCase{
		{name: "fails", dig: func(context.Context) (string, error) { return "", errors.New("the spade broke") }, want: "Error: the spade broke"},
		{name: "panics", dig: func(context.Context) (string, error) { panic("a pipe") }, want: "broke down (a pipe)"},
		{name: "hangs", dig: func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, want: "was stopped after 2m0s"},
		{name: "hangs and is deaf", dig: func(context.Context) (string, error) { time.Sleep(deaf); return "", nil }, want: "was stopped after 2m0s"},
		{name: "returns binary", dig: func(context.Context) (string, error) { return "\x00\x01\xff", nil }, want: "3 bytes that are no text"},
		{name: "returns odd bytes", dig: func(context.Context) (string, error) { return "a\x1b\xffb\u2028", nil }, want: "a\ufffd"},
		{name: "returns nothing", dig: func(context.Context) (string, error) { return "", nil }},
		{name: "returns too much", dig: func(context.Context) (string, error) { return strings.Repeat("earth ", 20_000), nil }, want: "bytes are left out here"},
		{name: "denied", dig: hole, permit: deny(effect.Denied), want: "not permitted (no digging)"},
		{name: "asked for, with nobody there", dig: hole, permit: deny(effect.Asked), want: "not permitted"},
		{name: "over the limit of calls", dig: hole, limits: func(l *effect.Limits) { l.MaxToolCalls = 1 }, want: "Exceeded maximum tool calls (1)"},
		{name: "told of the last turn", dig: hole, limits: func(l *effect.Limits) { l.MaxTurns = 2 }, want: "This is your FINAL turn"},
		{name: "unknown", dig: hole, calls: []backends.ToolCall{called("call_1", "sing", `{}`), called("call_2", "dig", `{}`)}, want: `there is no tool "sing" on offer`},
		{name: "with a name that cannot be", dig: hole, calls: []backends.ToolCall{called("call_1", "dig a hole!", `{}`)}, want: "on offer now"},
		{name: "with arguments that are no object", dig: hole, calls: []backends.ToolCall{called("call_1", "dig", `"deep"`), called("call_2", "dig", `[1]`)}, want: "a hole"},
		{name: "with arguments that are broken", dig: hole, calls: []backends.ToolCall{called("call_1", "dig", `{"deep":`)}, want: "a hole", asText: true},
		{name: "called twice with one id", dig: hole, calls: []backends.ToolCall{called("call_1", "dig", `{}`), called("call_1", "dig", `{}`)}, want: "a hole"},
		{name: "called without an id", dig: hole, calls: []backends.ToolCall{called("", "dig", `{}`), called("", "dig", `{}`)}, want: "a hole"},
	}
}

// message is what the model says first.
func (f toolFaultCase) message() backendtest.Reply {
	reply := toolCall("lookup", `{"word":"sun"}`)
	reply.ToolCalls = append(reply.ToolCalls, backends.ToolCall{ID: "call_2", Name: "dig", Arguments: `{}`})
	if f.calls != nil {
		reply.ToolCalls = f.calls
	}
	return reply
}

func (f toolFaultCase) options() coordinator.Options {
	opts := coordinator.Options{Store: sessions.NewMemory(), Rules: kernel.Defaults(), Limits: effect.DefaultLimits()}
	if f.limits != nil {
		f.limits(&opts.Limits)
	}
	return opts
}

// member is an agent whose server refuses what its service would.
func (f toolFaultCase) member(t *testing.T, p protocol, reply func(backendtest.Call) backendtest.Reply) (coordinator.Agent, *backendtest.Server) {
	server, adapter := p.serve(t, refusing(t, p, func(c backendtest.Call) backendtest.Reply {
		if c.Number == 1 {
			return thinking(p.model, f.of(p).message())
		}
		return reply(c)
	}))
	return coordinator.Agent{ID: p.name, Model: p.model, Backend: adapter, Tools: []agents.Tool{lookup{}, f.dig}, Permit: f.permit}, server
}

// check reports whether the model was told of the fault when it went on.
func (f toolFaultCase) check(t *testing.T, calls []backendtest.Call) {
	t.Helper()
	if len(calls) < 2 {
		t.Fatalf("%d calls: the loop did not go on", len(calls))
	}
	results := toolResults(calls[1].Messages())
	for _, m := range calls[1].Messages() {
		if m.Role == backends.RoleUser { // what is said behind the results
			results = append(results, m.Text())
		}
	}
	if !strings.Contains(strings.Join(results, "\n"), f.want) {
		t.Errorf("the results are %.500q, without %q", results, f.want)
	}
}

// TestEveryFaultOfAToolGivesValidRequests: whatever goes wrong with a call, the model is
// told, the loop goes on, and each list that is sent, in this turn and the next, has each
// call answered once and no result without a call.
func TestEveryFaultOfAToolGivesValidRequests(t *testing.T) {
	t.Parallel()
	for _, f := range toolFaults() {
		t.Run(f.name, func(t *testing.T) {
			perProtocol(t, func(t *testing.T, p protocol) {
				synctest.Test(t, func(t *testing.T) {
					agent, server := f.member(t, p, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "So it is."} })
					opts := f.options()
					opts.Agents = []coordinator.Agent{agent}
					asked := opened(t, opts)
					for _, question := range []string{"What is it?", "And now?"} {
						if r := asked.ask(t, question); r.Status != kernel.Completed || r.Answer != "So it is." {
							t.Errorf("%s: status %s, answer %q, %+v", question, r.Status, r.Answer, r.Failed)
						}
					}
					f.check(t, server.Calls())
					time.Sleep(deaf)
				})
			})
		})
	}
}

// TestToolCalledOnTheLastTurnGivesValidRequests: the turn ends with what the model said, and
// the next one is sent the refused calls with their results.
func TestToolCalledOnTheLastTurnGivesValidRequests(t *testing.T) {
	t.Parallel()
	f := toolFaultCase{dig: hole, limits: func(l *effect.Limits) { l.MaxTurns = 2 }}
	perProtocol(t, func(t *testing.T, p protocol) {
		synctest.Test(t, func(t *testing.T) {
			agent, server := f.member(t, p, func(c backendtest.Call) backendtest.Reply {
				reply := thinking(p.model, f.message())
				reply.Text = "I dig."
				if c.Number > 2 {
					reply = backendtest.Reply{Text: "So it is."}
				}
				return reply
			})
			opts := f.options()
			opts.Agents = []coordinator.Agent{agent}
			asked := opened(t, opts)
			if r := asked.ask(t, "What is it?"); r.Status != kernel.MaxTurns || r.Answer != "I dig." || r.Usage.Calls != 2 {
				t.Errorf("status %s, answer %q after %d calls", r.Status, r.Answer, r.Usage.Calls)
			}
			if r := asked.ask(t, "And now?"); r.Status != kernel.Completed || r.Answer != "So it is." || r.Usage.Calls != 1 {
				t.Errorf("status %s, answer %q after %d calls, %+v", r.Status, r.Answer, r.Usage.Calls, r.Failed)
			}
			results := strings.Join(toolResults(server.Calls()[2].Messages()), "\n")
			if want := `there is no tool "dig" on offer`; !strings.Contains(results, want) {
				t.Errorf("the results are %.500q, without %q", results, want)
			}
		})
	})
}

// TestEveryFaultOfAToolInAPanel is the same for three agents that answer and vote.
func TestEveryFaultOfAToolInAPanel(t *testing.T) {
	t.Parallel()
	for _, f := range toolFaults() {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := f.options()
				servers := map[string]*backendtest.Server{}
				for _, p := range protocols() {
					agent, server := f.member(t, p, func(c backendtest.Call) backendtest.Reply { return voting(google(), c) })
					opts.Agents, servers[p.name] = append(opts.Agents, agent), server
				}
				r := opened(t, opts).ask(t, "What is it?")
				if r.Status != kernel.Completed || r.Winner != "gemini" || len(r.Failed) > 0 {
					t.Errorf("status %s, winner %s, failed %+v", r.Status, r.Winner, r.Failed)
				}
				for _, server := range servers {
					f.check(t, server.Calls())
				}
				time.Sleep(deaf)
			})
		})
	}
}

func opened(t *testing.T, opts coordinator.Options) panel {
	t.Helper()
	built, err := coordinator.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return panel{Panel: built}
}

// TestCancelDuringAToolGivesValidRequests cancels a turn while its tool runs, which
// hears of it or not, and asks again.
func TestCancelDuringAToolGivesValidRequests(t *testing.T) {
	t.Parallel()
	for _, f := range toolFaults() {
		if !strings.HasPrefix(f.name, "hangs") {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			perProtocol(t, func(t *testing.T, p protocol) {
				synctest.Test(t, func(t *testing.T) {
					agent, server := f.member(t, p, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "So it is."} })
					opts := f.options()
					opts.Agents = []coordinator.Agent{agent}
					asked := opened(t, opts)
					turn, err := asked.Start(t.Context(), "s", "What is it?")
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
					turn.Cancel()
					if r, err := turn.Wait(t.Context()); err != nil || r.Status != kernel.Cut {
						t.Errorf("status %s, %v", r.Status, err)
					}
					if r := asked.ask(t, "And now?"); r.Status != kernel.Completed || r.Answer != "So it is." || len(server.Calls()) != 2 {
						t.Errorf("status %s, answer %q after %d calls", r.Status, r.Answer, len(server.Calls()))
					}
					time.Sleep(deaf)
				})
			})
		})
	}
}

// TestInterruptedToolGivesValidRequests goes on with a turn that was left after each
// event of its journal: while a call of the model, one of its tools or both were out.
func TestInterruptedToolGivesValidRequests(t *testing.T) {
	t.Parallel()
	f := toolFaultCase{name: "left", dig: hole, want: "a hole"}
	perProtocol(t, func(t *testing.T, p protocol) {
		synctest.Test(t, func(t *testing.T) {
			store := sessions.NewMemory()
			resumed := func() (panel, *backendtest.Server) {
				server, adapter := p.serve(t, refusing(t, p, func(c backendtest.Call) backendtest.Reply {
					if len(toolResults(c.Messages())) == 0 {
						return thinking(p.model, f.message())
					}
					return backendtest.Reply{Text: "So it is."}
				}))
				agent := coordinator.Agent{ID: p.name, Model: p.model, Backend: adapter, Tools: []agents.Tool{lookup{}, f.dig}}
				return opened(t, coordinator.Options{Store: store, Agents: []coordinator.Agent{agent}}), server
			}
			first, server := resumed()
			first.ask(t, "What is it?")
			f.check(t, server.Calls())
			journal, err := store.Journal(t.Context(), "s", 1, 0)
			if err != nil || len(journal) != 5 {
				t.Fatalf("a journal of %d events, %v", len(journal), err)
			}
			for n := 1; n <= len(journal); n++ {
				id := fmt.Sprintf("left after %d", n)
				leave(t, store, id, journal[:n])
				again, _ := resumed()
				turn, err := again.Resume(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if r, err := turn.Wait(t.Context()); err != nil || r.Answer != "So it is." || len(r.ToolCalls) != 2 {
					t.Errorf("%s: %v, answer %q, %+v", id, err, r.Answer, r.ToolCalls)
				}
				if r := again.askIn(t, id, "And now?"); r.Status != kernel.Completed {
					t.Errorf("%s: the next turn is %s: %+v", id, r.Status, r.Failed)
				}
			}
		})
	})
}

// leave writes the beginning of a journal to a session, as a process that was killed
// has left it.
func leave(t *testing.T, store *sessions.Store, session string, journal [][]byte) {
	t.Helper()
	_, err := store.Begin(t.Context(), session, "What is it?")
	for _, event := range journal {
		if err == nil {
			err = store.Append(t.Context(), session, 1, event)
		}
	}
	if err == nil {
		err = store.Leave(t.Context(), session, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
}
