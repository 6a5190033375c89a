package agents

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/models/prices"
)

// Context controls how much of the history an agent gets.
type Context struct {
	Policy policy.Settings
	// Window is the number of tokens that the agent's model can read, 0 if unknown.
	Window int
	// Counter counts tokens for the model; the zero value estimates.
	Counter prices.Counter
}

// chooses reports whether counting can change anything: without a limit the agent gets the
// whole history, which need not be read for that.
func (c Context) chooses() bool {
	approaching, limit := c.Policy.WarnAt.Approaching, c.Policy.WarnAt.Limit
	return c.Policy.Kind != policy.Full || c.Window > 0 ||
		approaching.Tokens > 0 || limit.Tokens > 0 || approaching.Messages > 0 || limit.Messages > 0
}

// Chosen is the selection of the history for an agent in a turn.
type Chosen struct {
	Selection policy.Selection
	// Tokens counts the agent's first input with that selection. It is not counted if the whole
	// history is shown in any case, and no warning depends on it.
	Tokens prices.Count
	// Limit is the number of tokens of the largest first input that is sent whole, 0 if unknown.
	Limit int
	// Step limits what the agent's steps may add; nil if nothing was counted.
	Step *policy.StepLimits
	// NewSummary are the turns that a new summary must cover; zero if no summary is needed.
	NewSummary policy.Range
}

// Choose selects the history that an agent gets in a turn. It reads the history from its newest
// turn, and no further than the first turn that is not shown.
func Choose(ctx context.Context, blobs Blobs, turn *effect.Turn, agent int, c Context) (Chosen, error) {
	if !c.chooses() {
		return Chosen{}, nil
	}
	return Count(ctx, blobs, turn, agent, c)
}

// Count is Choose, but always counts.
func Count(ctx context.Context, blobs Blobs, turn *effect.Turn, agent int, c Context) (Chosen, error) {
	call := effect.ModelCall{
		Key: effect.Key{Agent: agent, Round: 1, Purpose: effect.Coordination}, Offer: kernel.Offer{MayAnswer: true}, OwnTools: true,
	}
	if len(turn.Agents) == 1 {
		call.Key.Purpose = effect.Conversation
	}
	if carry := turn.Agent(agent).Carry; carry != nil && len(turn.Agents) > 1 {
		call.Carried = carry.Earlier
	}
	b := newInputBuilder(ctx, newShared(turn, blobs), turn, call)
	b.isBlank = true
	first, err := b.build(call)
	if err != nil {
		return Chosen{}, err
	}
	sum := c.Counter.Request(first)
	output := 0
	if first.Params.MaxTokens != nil {
		output = *first.Params.MaxTokens
	}
	room := policy.Room(c.Window, sum.Tokens, output, len(turn.Agents))
	count := func(m backends.Message) int {
		n := c.Counter.Message(m)
		sum.Estimated = sum.Estimated || n.Estimated
		return n.Tokens
	}
	summary, err := measuredSummary(ctx, blobs, turn, count)
	if err != nil {
		return Chosen{}, err
	}
	picker := policy.NewPicker(c.Policy, room, summary)
	for exchange, err := range exchanges(ctx, blobs, turn, math.MaxInt, func(string) {}) {
		if err != nil {
			return Chosen{}, fmt.Errorf("choose the history for %s: %w", turn.Agent(agent).ID, err)
		}
		if !picker.Add(contextbuild.Measure(exchange, c.Policy.Cut(), count)) {
			break
		}
	}
	selection := picker.Selection()
	sum.Tokens += selection.Tokens
	step := c.Policy.StepLimits(c.Window, sum.Tokens, output, prices.BytesPerToken)
	chosen := Chosen{Selection: selection, Tokens: sum, Limit: policy.FirstLimit(c.Window, output, len(turn.Agents)), Step: &step}
	chosen.NewSummary, _ = picker.NewSummary()
	return chosen, nil
}

// measuredSummary returns the size of the turn's summary, zero for a turn without one.
func measuredSummary(ctx context.Context, blobs Blobs, turn *effect.Turn, count contextbuild.Counter) (policy.Summary, error) {
	if turn.Summary == nil {
		return policy.Summary{}, nil
	}
	exchange, err := readSummary(ctx, blobs, *turn.Summary)
	return policy.Summary{Range: turn.Summary.Range, Tokens: contextbuild.Measure(exchange, 0, count).Tokens()}, err
}

// Unsummarized returns the turn's summary, zero for a turn without one, and the later turns of its
// history up to number last, oldest first.
func Unsummarized(ctx context.Context, blobs Blobs, turn *effect.Turn, last int) (earlier contextbuild.Exchange, turns []contextbuild.Exchange, err error) {
	if turn.Summary != nil {
		if earlier, err = readSummary(ctx, blobs, *turn.Summary); err != nil {
			return earlier, nil, err
		}
	}
	for exchange, err := range exchanges(ctx, blobs, turn, math.MaxInt, func(string) {}) {
		if err != nil {
			return earlier, nil, err
		}
		if exchange.Turn <= earlier.LastTurn {
			break
		}
		if exchange.Turn <= last {
			turns = append(turns, exchange)
		}
	}
	slices.Reverse(turns)
	return earlier, turns, nil
}

// ShownHistory returns the history that an agent gets in a turn, oldest turn first.
func ShownHistory(ctx context.Context, blobs Blobs, turn *effect.Turn, agent int) ([]contextbuild.Exchange, error) {
	b := newInputBuilder(ctx, newShared(turn, blobs), turn, effect.ModelCall{Key: effect.Key{Agent: agent}})
	shown := b.history().turns
	if b.err != nil {
		return nil, fmt.Errorf("read the history for %s: %w", turn.Agent(agent).ID, b.err)
	}
	return shown, nil
}
