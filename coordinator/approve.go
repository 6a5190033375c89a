package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// Approval is a tool call that needs a person's permission.
type Approval struct {
	Session string
	Turn    int
	Agent   string
	Round   int
	Tool    string
	// Arguments are the whole arguments, as the model wrote them.
	Arguments string
	// Why is the rule that leaves the call to a person.
	Why string
}

// Decision is a person's answer to an Approval. If the call is denied, its model gets the
// Reason, which may be empty.
type Decision struct {
	Allowed bool
	Reason  string
}

// permission is a person's decision about a tool call.
type permission struct {
	local    *localTurn
	key      effect.Key
	decision Decision
	listed   *toolListing
	err      error
}

// EndsWork implements driver.Post.
func (permission) EndsWork() bool { return true }

// Events implements driver.Post.
func (p permission) Events(at kernel.Time) ([]turn.Event, error) {
	if p.err != nil {
		return nil, fmt.Errorf("%s, approval: %w", p.local.id(p.key.Agent), p.err)
	}
	return append(p.local.acceptTools(p.listed, at), turn.Decided{At: at, Key: p.key, Allow: p.decision.Allowed, Reason: p.decision.Reason}), nil
}

// Reply implements driver.Post.
func (permission) Reply(error) {}

// requestPermission asks a person about a tool call, and posts the answer exactly once.
func (e *localTurn) requestPermission(a effect.PermissionRequest) {
	ctx, known := e.Of(a.Key.Agent), e.toolsVersion
	e.begin(func() (driver.Post, bool) {
		p := permission{local: e, key: a.Key}
		if p.decision, p.err = e.approve(ctx, a); p.err == nil {
			p.listed, p.err = e.listTools(ctx, known, func(l *toolListing) {
				p.listed = l
				e.turn.inbox.put(p)
			})
		}
		return p, false
	})
}

// approve returns a person's decision, with the reason that the model gets. The error is for a
// store that failed.
func (v *view) approve(ctx context.Context, a effect.PermissionRequest) (Decision, error) {
	if v.panel.opts.Approve == nil {
		if v.panel.opts.Unattended {
			return Decision{Allowed: true}, nil
		}
		return Decision{Reason: UnattendedReason}, nil
	}
	call := Approval{
		Session: v.turn.session, Turn: v.turn.number, Agent: v.id(a.Key.Agent), Round: a.Key.Round, Tool: a.Name, Why: a.Why,
	}
	eff := effect.ToolCall{Key: a.Key, Message: a.Message, Call: a.Call, Name: a.Name}
	arguments, err := agents.Arguments(agents.LookupIn(v.base, v.panel.opts.Store), eff)
	if err != nil {
		return Decision{}, err
	}
	call.Arguments = arguments
	said, err := v.askApproval(ctx, call)
	select {
	case <-ctx.Done(): // the question was withdrawn
		return Decision{}, nil
	default:
	}
	switch {
	case err != nil:
		return Decision{Reason: contextbuild.Clean("nobody could be asked: " + err.Error())}, nil //nolint:nilerr // the error denies the call, and does not end the turn
	case said.Allowed:
		return Decision{Allowed: true}, nil
	}
	return Decision{Reason: refusal(said.Reason)}, nil
}

// mostReason is the most bytes of a reason that a model gets.
const mostReason = 4 << 10

// refusal returns the text that a model gets when a person denies its call.
func refusal(reason string) string {
	const no = "the user said no"
	if reason = strings.TrimSpace(contextbuild.Clean(reason)); reason == "" {
		return no
	}
	return no + ": " + strings.ToValidUTF8(reason[:min(len(reason), mostReason)], "")
}

// askApproval returns a person's decision, or why there is none. Like an effect, an Approve that
// ignores the end of ctx is abandoned.
func (v *view) askApproval(ctx context.Context, call Approval) (Decision, error) {
	type answer struct {
		Decision
		err error
	}
	said := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("Options.Approve ended its goroutine")}
		defer func() { said <- a }() // also after runtime.Goexit
		a.err = guarded("Options.Approve", func() (err error) {
			a.Decision, err = v.panel.opts.Approve(ctx, call)
			return err
		})
	}()
	var a answer
	select {
	case a = <-said:
	case <-ctx.Done():
		patience := time.NewTimer(agents.AbandonAfter)
		defer patience.Stop()
		select {
		case a = <-said:
		case <-patience.C:
			return Decision{}, errors.New("Options.Approve did not return after its context ended")
		}
	}
	return a.Decision, a.err
}
