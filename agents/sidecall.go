package agents

import (
	"context"
	"errors"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/plain"
)

// Sidecall makes the calls of a purpose that belong to no agent (DESIGN §1).
type Sidecall struct {
	Member
	// Read returns the changes of a reply, which may be empty, to the turn. Its error is the
	// failure of the call.
	Read func(ctx context.Context, turn *effect.Turn, sidecall effect.Sidecall, reply backends.Message) (effect.Change, error)
}

// sidecallRequest returns the input of a sidecall.
func (b *inputBuilder) sidecallRequest(a effect.Sidecall) backends.Request {
	return backends.Request{
		Key:      backends.Key{Session: b.turn.Session, Turn: b.turn.Turn, Purpose: string(a.Purpose)},
		Model:    a.Model,
		Params:   decoded[backends.Params](&b.textStore, a.Params),
		Messages: decoded[[]backends.Message](&b.textStore, a.Messages),
		Tools:    decoded[[]backends.Tool](&b.textStore, a.Tools),
	}
}

// stepSummaryRequest returns the input of the call that summarizes the omitted part of a step.
func (b *inputBuilder) stepSummaryRequest(call effect.ModelCall) backends.Request {
	by, limits := b.turn.StepSummarizer, b.turn.Agent(b.reader).Step
	if by == nil || limits == nil {
		b.err = errors.New("the turn has no summarizer for steps")
		return backends.Request{}
	}
	req := backends.Request{Key: keyOf(b.turn, call), Model: by.Model, Params: decoded[backends.Params](&b.textStore, by.Params)}
	from := 0
	if call.Summary != nil {
		from = call.Summary.Entries
	}
	part := contextbuild.StepPart{
		Task:     b.text(b.turn.Question), // empty if the question stands in a conversation
		Earlier:  b.stepSummary(call.Summary),
		Messages: b.transcript(call.Transcript[from:]),
	}
	req.Messages = contextbuild.StepSummaryCall(part, limits.SummaryWords, by.Bytes)
	return req
}

// stepSummary returns the part of a summary that is sent, empty without a summary.
func (b *inputBuilder) stepSummary(summary *effect.StepSummary) string {
	if summary == nil {
		return ""
	}
	return plain.CutBytes(b.text(summary.Text), b.turn.Agent(b.reader).Step.SummaryBytes())
}

// DescribeSidecall stores the input of a sidecall, and returns it as the turn refers to it.
func DescribeSidecall(ctx context.Context, blobs Blobs, purpose effect.Purpose, model string, params backends.Params, messages []backends.Message, tools []backends.Tool) (effect.Sidecall, error) {
	s := newTextStore(ctx, blobs)
	sidecall := effect.Sidecall{Purpose: purpose, Model: model, Params: s.encodeParams(params), Messages: s.encode(messages)}
	if len(tools) > 0 {
		sidecall.Tools = s.encode(tools)
	}
	return sidecall, s.err
}
