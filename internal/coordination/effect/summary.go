package effect

import (
	"errors"

	"github.com/massgen/massgen/internal/system/blob"
)

// The purposes of the calls for a summary of a step's oldest part. As with tools, the final
// answer has its own, since the same agent may have worked earlier in the same round.
const (
	StepSummarizing      Purpose = "step_summary"
	FinalStepSummarizing Purpose = "final_step_summary"
)

// IsStepSummary reports whether a call requests a summary of a step's oldest part.
func (p Purpose) IsStepSummary() bool { return p == StepSummarizing || p == FinalStepSummarizing }

// StepSummarizer is the model that writes the summaries of steps.
type StepSummarizer struct {
	Model string `json:"model"`
	// Params is the JSON of backends.Params.
	Params blob.Ref `json:"params"`
	// Bytes is the room for the text to summarise, 0 if the model's window is unknown.
	Bytes int `json:"bytes,omitempty"`
}

// StepSummary is the text that replaces the oldest entries of a step's transcript.
type StepSummary struct {
	Entries int      `json:"entries"`
	Text    blob.Ref `json:"text"`
}

// SummaryFailure returns the reason why a reply has no summary, or nil.
func (r ModelReply) SummaryFailure() error {
	switch {
	case r.Failure != nil:
		return errors.New(r.Failure.Message)
	case r.Text == (blob.Ref{}):
		return errors.New("the summary is empty")
	}
	return nil
}
