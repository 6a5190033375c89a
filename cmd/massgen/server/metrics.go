package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/metrics"
)

// tally counts the turns and refusals of a server, for GET /metrics.
type tally struct{ *metrics.Registry }

// turnFailed is the status in metrics of a turn that has no result.
const turnFailed = "error"

// expect creates, with the value 0, the series of each model and of each refusal that a client may answer by another try.
func (t tally) expect(models []Model) {
	for _, m := range models {
		metrics.ExpectTurns(t.Registry, m.ID, append(kernel.Statuses(), turnFailed)...)
	}
	for _, code := range []string{codeRateLimit, codeOverloaded, codeUnavailable, codeNoWorker} {
		t.Expect(metrics.RequestsRefusedTotal(), "code", code)
	}
	t.Expect(metrics.LimitWaitsTotal(), "limit", limitTurns)
}

// began counts a turn that begins.
func (t tally) began(model string) { t.Add(metrics.TurnsRunning(), 1, "model", model) }

// ended counts a turn that is over. A turn that its store has lost has no result.
func (t tally) ended(model string, took time.Duration, r massgen.Result, err error) {
	status := r.Status
	if err != nil {
		status = turnFailed
	}
	t.Add(metrics.TurnsRunning(), -1, "model", model)
	metrics.Turn{Model: model, Status: status, Took: took, Input: r.Usage.InputTokens, Output: r.Usage.OutputTokens, Cached: r.Usage.CachedInputTokens, Reasoning: r.Usage.ReasoningTokens, CostUSD: r.Usage.CostUSD}.Count(t.Registry)
}

// refused counts a request that was refused.
func (t tally) refused(err error) {
	var r refusal
	code := "internal_error"
	if errors.As(err, &r) {
		code = r.code
	}
	t.Add(metrics.RequestsRefusedTotal(), 1, "code", code)
}

// show answers GET /metrics in the text form of Prometheus.
func (t tally) show(w http.ResponseWriter, respond responder) {
	w.Header().Set("Content-Type", metrics.ContentType)
	respond.writeBytes(w, []byte(t.Text()))
}
