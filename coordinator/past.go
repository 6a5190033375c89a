package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// PastCall is a model call as recorded in the journal of its turn.
type PastCall struct {
	// Request is the input of the call, without headers and extra body, which may hold keys.
	// Its output limit is that of the last attempt, which a budget may have lowered. Lost says
	// why parts of the input are missing, or why it is the input that this program would send
	// instead of the recorded one.
	Request backends.Request
	Lost    error
	// Participants maps the agents' names in the request to their ids.
	Participants map[string]string
	// IsOver says that the call returned: with a Response, with a Failure in words, or with the
	// part of a response that had arrived.
	IsOver   bool
	Response backends.Response
	Failure  string
}

// ReadCalls reads the calls of a turn from its journal, in the order in which they returned,
// those without a result at the end. It calls nothing. A branch has no journal, and so no
// calls, of the turns before it. With an error ReadCalls returns the readable part.
func ReadCalls(ctx context.Context, r Recording, session string, number int) ([]PastCall, error) {
	events, damage := readJournal(ctx, r, session, number)
	f := newFollower(new(turn.Machine), r)
	f.trusts = true
	var calls []PastCall
	less := map[effect.Key]int{} // by how many tokens the budget shortened the output of a call's last attempt
	fail := func(err error) ([]PastCall, error) {
		return calls, fmt.Errorf("read turn %d of session %s: %w", number, session, err)
	}
	add := func(w driver.Work, reply *effect.ModelReply) error {
		past, err := f.past(ctx, r, w, reply)
		if err == nil {
			past.shorten(less[w.Key()])
			calls = append(calls, past)
		}
		return err
	}
	for _, ev := range events {
		if done, ok := ev.(turn.ModelDone); ok {
			if w, asked := f.modelCall(done.Key); asked {
				if err := add(w, &done.Reply); err != nil {
					return fail(err)
				}
			}
		}
		commands, err := f.follow(ctx, ev)
		if err != nil {
			return fail(err)
		}
		for _, c := range commands {
			if granted, ok := c.(turn.Granted); ok {
				less[granted.Key] = granted.Less
			}
		}
	}
	for _, w := range f.out {
		if _, ok := w.Effect.(effect.ModelCall); ok {
			if err := add(w, nil); err != nil {
				return fail(err)
			}
		}
	}
	if damage != nil {
		return fail(damage)
	}
	return calls, nil
}

// shorten lowers the call's output limit as the budget did.
func (p *PastCall) shorten(less int) {
	if most := p.Request.Params.MaxTokens; less > 0 && most != nil {
		p.Request.Params.MaxTokens = new(*most - less)
	}
}

// modelCall returns the model call with a key that has no result yet.
func (f *follower) modelCall(key effect.Key) (w driver.Work, asked bool) {
	i := slices.Index(f.keys, key)
	if i < 0 {
		return w, false
	}
	_, asked = f.out[i].Effect.(effect.ModelCall)
	return f.out[i], asked
}

// past reads a call and its reply, nil for none.
func (f *follower) past(ctx context.Context, r Recording, w driver.Work, reply *effect.ModelReply) (p PastCall, err error) {
	call, _ := w.Effect.(effect.ModelCall)
	ids := make([]string, len(w.Turn.Agents))
	for i, a := range w.Turn.Agents {
		ids[i] = a.ID
	}
	p.Participants = contextbuild.Participants(ids)
	if p.Request, err = f.inputs.Input(ctx, w.Turn, call); err != nil {
		return p, err
	}
	if reply == nil {
		return p, nil
	}
	p.IsOver = true
	if reply.Sent != nil {
		if digest, err := p.Request.Digest(); err != nil || digest != reply.Sent.Digest {
			p.readRecorded(ctx, f, *reply.Sent)
		}
	}
	return p, p.readReply(agents.LookupIn(ctx, r), *reply)
}

// readRecorded replaces the rebuilt input by the recorded one where they differ.
func (p *PastCall) readRecorded(ctx context.Context, f *follower, sent effect.Sent) {
	recorded, err := f.inputs.Recorded(ctx, sent)
	if err != nil {
		p.Lost = fmt.Errorf("this input is rebuilt, since the recorded one is lost: %w", err)
		return
	}
	recorded.Key = p.Request.Key
	p.Request = recorded
}

func (p *PastCall) readReply(texts agents.Lookup, reply effect.ModelReply) error {
	if reply.Failure != nil {
		p.Failure = reply.Failure.Kind + ": " + reply.Failure.Message
	}
	if u := reply.Usage; u != nil {
		p.Response.Usage = &backends.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedInputTokens: u.CachedInputTokens,
			ReasoningTokens: u.ReasoningTokens, CostUSD: u.CostUSD,
		}
	}
	switch {
	case reply.Message != (blob.Ref{}):
		data, err := texts(reply.Message)
		if err == nil {
			err = json.Unmarshal(data, &p.Response.Message)
		}
		if err != nil {
			return fmt.Errorf("read the reply of %s: %w", p.Request.Key, err)
		}
	case reply.Partial != (blob.Ref{}):
		data, err := texts(reply.Partial)
		if err != nil {
			return fmt.Errorf("read the partial reply of %s: %w", p.Request.Key, err)
		}
		p.Response.Message = backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Text{Text: string(data)}}}
	}
	return nil
}
