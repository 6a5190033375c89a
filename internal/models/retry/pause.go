package retry

import (
	"errors"
	"iter"
	"slices"

	"github.com/massgen/massgen/backends"
)

// mostContinuations is how often a call goes on with an answer that its provider paused. Each
// time sends the whole input again.
const mostContinuations = 5

// answer is one answer in pieces. A provider that runs tools itself may pause, and goes on when
// it is sent what the model has said so far.
type answer struct {
	yield func(backends.Event, error) bool
	// number counts the pieces before this one, and parts is what they said.
	number int
	parts  []backends.Part
	// before is the usage of the pieces before this one, nil if the usage of one is unknown. usage
	// is the usage of this piece.
	before, usage *backends.Usage
	calls         bool // whether the model calls tools, whose results have to come first
	paused        bool // whether this piece ended in a pause
}

// run makes the calls of all pieces. Each is made, limited and paid for like any other.
func (a *answer) run(first *call) error {
	req := first.req
	for {
		if a.number > 0 {
			req.Messages = append(slices.Clip(first.req.Messages), backends.Message{Role: backends.RoleAssistant, Parts: a.parts})
		}
		response, err := backends.Collect(a.piece(&call{Backend: first.Backend, ctx: first.ctx, req: req}), nil)
		if err != nil {
			return a.failed(err)
		}
		if !a.paused {
			return nil
		}
		a.parts = append(a.parts, response.Message.Parts...)
		a.before, a.usage, a.paused = a.total(), nil, false
		a.number++
	}
}

// piece makes a call, passes its events on, and yields them for the message of the piece.
func (a *answer) piece(c *call) iter.Seq2[backends.Event, error] {
	return func(collect func(backends.Event, error) bool) {
		c.yield = func(ev backends.Event, _ error) bool { return a.pass(ev) && collect(ev, nil) }
		if err := c.run(); err != nil {
			collect(nil, err)
		}
	}
}

// pass passes an event of a piece on as an event of the answer.
func (a *answer) pass(ev backends.Event) bool {
	switch e := ev.(type) {
	case backends.ToolCall:
		a.calls = true
	case backends.Usage:
		a.usage = &e
		return true // a later piece may make the sum unknown
	case backends.Finish:
		a.paused = e.Paused() && !a.calls && a.number < mostContinuations
		return a.paused || a.tellUsage() && a.yield(ev, nil)
	}
	return a.yield(ev, nil)
}

// total is the usage of all pieces until now, nil if it is unknown.
func (a *answer) total() *backends.Usage {
	if a.number == 0 || a.usage == nil {
		return a.usage
	}
	if a.before == nil {
		return nil
	}
	sum := a.before.Plus(*a.usage)
	return &sum
}

// tellUsage yields the usage, if it is known.
func (a *answer) tellUsage() bool {
	sum := a.total()
	return sum == nil || a.yield(*sum, nil)
}

// failed returns the error of the answer, after its usage. An answer that has begun was paid for,
// even if the call for its next piece was never sent. If that call cost nothing, the usage is that
// of the pieces before it.
func (a *answer) failed(err error) error {
	var e *backends.Error
	isService := errors.As(err, &e)
	if a.number > 0 && a.usage == nil && isService && e.Unbilled() {
		a.usage = &backends.Usage{CostUSD: new(float64)}
	}
	if errors.Is(err, errStopped) || !a.tellUsage() {
		return errStopped
	}
	if a.number == 0 || !isService {
		return err
	}
	out := *e
	out.Begun, out.Free, out.Unsent = true, false, false
	return &out
}
