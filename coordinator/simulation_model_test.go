package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// simModel is the service of all agents: each call waits until the simulation says what
// comes of it.
type simModel struct{ s *simulation }

// simOutput is the limit of each call's output.
const simOutput = 1000

// reckon is what an attempt costs at most: a dollar and a token for each 1,000 bytes of
// text, and a dollar for 1,000 tokens of output.
func (m simModel) reckon(req backends.Request) backends.Cost {
	size := 1
	for _, message := range req.Messages {
		size += len(message.Text()) / 1000
	}
	usd := float64(size) + float64(*req.Params.MaxTokens)/1000
	return backends.Cost{Tokens: size + *req.Params.MaxTokens, USD: &usd}
}

func (m simModel) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		m.s.checkRequest(req)
		most := *m.reckon(req).USD
		m.s.sent(most)
		reply := m.s.park("model "+req.Key.String(), ctx, req)
		if reply.err != nil {
			m.s.billed(most, reply.cost)
			yield(nil, reply.err)
			return
		}
		m.s.billed(most, reply.cost)
		for _, ev := range reply.events {
			if !yield(ev, nil) {
				return
			}
		}
		if reply.late != nil {
			yield(nil, reply.late)
		}
	}
}

// simReply is what comes of a call: an error, or events and perhaps an error behind them.
// Of a tool or a person it is a text.
type simReply struct {
	err, late error
	events    []backends.Event
	text      string
	cost      float64
	panics    bool
}

// modelReply draws what comes of a model call that costs most at most.
func (s *simulation) modelReply(p *parked) simReply {
	most := *simModel{s}.reckon(p.req).USD
	if p.ctx.Err() != nil {
		return simReply{err: &backends.Error{Kind: backends.KindCancelled, Provider: "sim", Err: p.ctx.Err()}, cost: most}
	}
	if s.plan.faults && s.rarely(6) {
		return s.modelFault(most)
	}
	cost := most * float64(s.below(11)) / 10
	events := s.message(p.req)
	if !s.rarely(8) {
		events = append(events, backends.Usage{InputTokens: 1, OutputTokens: 1, CostUSD: &cost})
	} else {
		cost = most // nobody says what it was
	}
	return simReply{events: append(events, backends.Finish{Reason: pick(s.choices, "stop", "tool_calls", "length")}), cost: cost}
}

func (s *simulation) modelFault(most float64) simReply {
	failed := func(e backends.Error) *backends.Error { e.Provider = "sim"; return &e }
	switch s.below(6) {
	case 0:
		return simReply{err: failed(backends.Error{Kind: backends.KindOverloaded, Status: 529})}
	case 1:
		return simReply{err: failed(backends.Error{Kind: backends.KindAuth, Status: 401, Message: "wrong key"})}
	case 2:
		return simReply{err: failed(backends.Error{Kind: backends.KindNetwork, Message: "reset"}), cost: most}
	case 3:
		return simReply{err: failed(backends.Error{Kind: backends.KindTooLong, Status: 400})}
	case 4: // cut
		return simReply{events: []backends.Event{backends.TextDelta{Text: "half a"}}, late: failed(backends.Error{Kind: backends.KindNetwork, Begun: true}), cost: most}
	}
	return simReply{events: []backends.Event{backends.Finish{Reason: "stop"}}, cost: most} // empty
}

// message draws what a model says.
func (s *simulation) message(req backends.Request) (events []backends.Event) {
	if s.rarely(4) {
		events = append(events, backends.TextDelta{Text: pick(s.choices, "well", " ", "let me see")})
	}
	if effect.Purpose(req.Key.Purpose).IsConsultation() && !s.rarely(4) {
		return append(events, backends.TextDelta{Text: s.opinion(effect.Purpose(req.Key.Purpose))})
	}
	if s.plan.agents == 1 && s.below(3) == 0 {
		return append(events, backends.TextDelta{Text: fmt.Sprintf("the answer %d", s.below(4))})
	}
	for range pick(s.choices, 1, 1, 1, 0, 2, 3) {
		events = append(events, s.call(req))
	}
	return events
}

// opinion draws the reply of a consultant, which may be about an agent without an answer.
func (s *simulation) opinion(purpose effect.Purpose) string {
	if purpose == effect.Review {
		return pick(s.choices, `{"action":"submit"}`, `{"action":"restart_orchestration","reason":"It is wrong.","instructions":"Be right."}`)
	}
	if s.rarely(2) {
		return pick(s.choices, `{"same":true}`, `{"same":false}`)
	}
	return fmt.Sprintf(`{"best":"agent%d","why":"so","consensus":[{"claim":"it is","answers":["agent1"],"quotes":[{"answer":"agent1","text":"answer"}]}]}`, 1+s.below(4))
}

func (s *simulation) call(req backends.Request) backends.ToolCall {
	s.calls++
	c := backends.ToolCall{ID: fmt.Sprintf("c%d", s.calls)}
	if s.rarely(10) {
		c.ID = "again" // two calls may have one id
	}
	c.Name, c.Arguments = s.callOf(req.Key.Round > 1)
	if s.rarely(12) {
		c.Arguments = pick(s.choices, "", "{", `"text"`, `{"content":5}`, `{"agent_id":"agent9"}`)
	}
	return c
}

// callOf draws a name and arguments that fit. Votes come only after the first round.
func (s *simulation) callOf(votes bool) (name, arguments string) {
	answer := fmt.Sprintf(`{"content":"answer %d%s"}`, s.below(5), strings.Repeat(" and so on", s.below(3)))
	switch n := s.below(6); {
	case n < 3 && votes:
		if others := []election.Rule{election.Approval, election.Ranked}; slices.Contains(others, s.plan.rules.Decision) {
			return effect.Vote, fmt.Sprintf(`{"agent_id":"agent%d","reason":"r","others":["agent%d",%d,"me"]}`, 1+s.below(4), 1+s.below(4), 1+s.below(3))
		}
		return effect.Vote, fmt.Sprintf(`{"agent_id":"agent%d","reason":"r"}`, 1+s.below(4))
	case n < 4:
		return effect.NewAnswer, answer
	case n == 4:
		return "look", fmt.Sprintf(`{"at":%d}`, s.below(3))
	}
	return pick(s.choices, "change", "nothing"), "{}"
}

// simTool waits as models do.
type simTool struct {
	s    *simulation
	name string
}

func (t simTool) Definition() backends.Tool {
	return backends.Tool{Name: t.name, Description: "It is simulated.", Schema: []byte(`{"type":"object"}`)}
}

func (t simTool) Call(ctx context.Context, arguments string) (string, error) {
	r := t.s.park("tool "+t.name+" "+arguments, ctx, backends.Request{})
	if r.panics {
		panic("the tool broke")
	}
	return r.text, r.err
}

// lookingTool may be called twice.
type lookingTool struct{ simTool }

func (lookingTool) Idempotent() bool { return true }

// snapshot waits as tools do.
func (s *simulation) snapshot(ctx context.Context, info agents.CallInfo) (agents.Snapshot, error) {
	r := s.park("snapshot "+info.Agent, ctx, backends.Request{})
	return agents.Snapshot{Dir: fmt.Sprintf("%s.%d", info.Agent, info.Round)}, r.err
}

// checkAnswer waits as tools do.
func (s *simulation) checkAnswer(ctx context.Context, _ []string, _, answer string, _ time.Duration) (int, string, error) {
	r := s.park("check "+answer, ctx, backends.Request{})
	return len(r.text) % 2, r.text, r.err
}

// toolReply draws what comes of a tool's call.
func (s *simulation) toolReply(p *parked) simReply {
	if p.ctx.Err() != nil {
		return simReply{err: p.ctx.Err()}
	}
	switch s.below(8) {
	case 5:
		return simReply{err: errors.New("it is not there")}
	case 6:
		return simReply{text: pick(s.choices, "\x00\x01", strings.Repeat("long ", 500), "", "\xff\xfe")}
	case 7:
		return simReply{panics: true}
	}
	return simReply{text: fmt.Sprintf("found %d", s.below(3))}
}

// checkRequest refuses what no service takes, and a call whose result is in the journal.
func (s *simulation) checkRequest(req backends.Request) {
	// Adapters mend ids and arguments; a call without a result is nothing to be mended.
	if _, notes := backends.RepairNoting(req.Messages); len(notes) > 0 {
		s.fail("an invalid list of messages was sent for %s: %s", req.Key, strings.Join(notes, "; "))
	}
	s.checkTools(req)
	key := effect.Key{Agent: effect.NoAgent, Purpose: effect.Purpose(req.Key.Purpose)}
	if req.Key.Agent != "" {
		agent := slices.Index(append(s.ids(), kernel.JudgeID), req.Key.Agent)
		key = effect.Key{Agent: agent, Round: req.Key.Round, Purpose: effect.Purpose(req.Key.Purpose), Index: req.Key.Index}
	}
	if s.store.finished(key) {
		s.fail("%s was finished, and is called again", req.Key)
	}
}
