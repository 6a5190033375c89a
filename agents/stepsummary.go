package agents

import (
	"errors"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
)

// stepSummaryRequest returns the input of the call that summarizes the omitted part of a step.
func (b *inputBuilder) stepSummaryRequest(call effect.ModelCall) backends.Request {
	by, limits := b.turn.StepSummarizer, b.turn.Agents[b.reader].Step
	if by == nil || limits == nil {
		b.err = errors.New("the turn has no summarizer for steps")
		return backends.Request{}
	}
	req := backends.Request{Key: b.keyOf(call), Model: by.Model}
	b.decode(by.Params, &req.Params)
	from := 0
	if call.Summary != nil {
		from = call.Summary.Entries
	}
	req.Messages = contextbuild.StepSummaryCall(contextbuild.StepPart{
		Task: b.task(), Earlier: b.stepSummary(call.Summary), Messages: b.transcript(call.Transcript[from:]),
	}, limits.SummaryWords, by.Bytes)
	return req
}

// task returns the question, which a conversation that goes on has in its messages.
func (b *inputBuilder) task() string {
	if b.turn.Question == (blob.Ref{}) {
		return ""
	}
	return b.text(b.turn.Question)
}

// stepSummary returns the part of a summary that is sent, "" for none.
func (b *inputBuilder) stepSummary(summary *effect.StepSummary) string {
	if summary == nil {
		return ""
	}
	return plain.CutBytes(b.text(summary.Text), b.turn.Agents[b.reader].Step.SummaryBytes())
}
