package compare

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/providers"
)

// callName names a call that is the same under several strategies.
type callName struct {
	agent  string
	index  int
	digest string // of the request
}

// replies are the replies to the first calls of one question in one run, from the journals of the strategies
// that were played first. It is safe for concurrent use.
type replies struct {
	mu     sync.Mutex
	byCall map[callName][]backends.Event
}

func newReplies() *replies { return &replies{byCall: map[callName][]backends.Event{}} }

func (r *replies) of(name callName) (events []backends.Event, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events, ok = r.byCall[name]
	return events, ok
}

func (r *replies) keep(name callName, events []backends.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byCall[name] = events
}

// eventsOf returns the events of a stored reply.
func eventsOf(message []byte, reply effect.ModelReply) (events []backends.Event, err error) {
	var m backends.Message
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, err
	}
	for _, part := range m.Parts {
		switch part := part.(type) {
		case backends.Text:
			events = append(events, backends.TextDelta(part))
		case backends.Reasoning:
			events = append(events, backends.ReasoningDelta(part))
		case backends.ToolCall:
			events = append(events, part)
		case backends.Opaque:
			events = append(events, part)
		}
	}
	if u := reply.Usage; u != nil {
		events = append(events, backends.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens, ReasoningTokens: u.ReasoningTokens,
			CostUSD: u.CostUSD,
		})
	}
	finish := reply.Finish
	switch {
	case reply.Truncated:
		finish = "length"
	case finish == "":
		finish = "stop"
	}
	return append(events, backends.Finish{Reason: finish}), nil
}

// around returns the backend of an agent with the purse of the comparison, and with the shared replies. It runs
// while a panel is opened, which locks the runner.
func (r *runner) around(agent agentOf, m providers.Model) backends.Backend {
	r.models[agent] = m
	return &sharedBackend{runner: r, agent: agent.id, inner: m.Backend, shares: r.plan.shares(agent.id)}
}

// sharedBackend takes the replies to shared calls from those that other strategies have got.
type sharedBackend struct {
	runner *runner
	agent  string
	inner  backends.Backend
	shares bool
}

// Reserves reports whether the backend reserves each attempt with the budget of its context.
func (b *sharedBackend) Reserves() bool { return backends.Reserves(b.inner) }

// Stream implements backends.Backend.
func (b *sharedBackend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		known := b.runner.repliesFor(req.Key.Session)
		if known == nil || !b.shares || !isFirst(effect.Purpose(req.Key.Purpose), req.Key.Round) {
			b.runner.purse.stream(ctx, b.inner, req, yield)
			return
		}
		digest, err := req.Digest()
		if err != nil {
			yield(nil, err)
			return
		}
		events, ok := known.of(callName{b.agent, req.Key.Index, digest})
		if !ok {
			b.runner.purse.stream(ctx, b.inner, req, yield)
			return
		}
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// isFirst reports whether a call belongs to the first round of a panel.
func isFirst(purpose effect.Purpose, round int) bool {
	return purpose == effect.Coordination && round == 1
}
