package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// begun returns a turn whose agents have their tools, if any, on this worker.
func (h *activities) begun(ctx context.Context, t *turnAtWork, number int, in request, accepted []byte) (begun, error) {
	b := begun{Number: number, Accepted: accepted, Unattended: h.panel.Unattended()}
	ev, err := turn.Decode(accepted)
	if err != nil {
		return b, err
	}
	first, ok := ev.(turn.Accepted)
	if ok && needsHome(first.Turn.Agents) {
		b.Home = h.home
		h.homed.add(ctx, activity.GetInfo(ctx).WorkflowExecution.ID, held{in.Session, in.Owner, number}, h.as)
	}
	if ok && in.Form >= turnsByTexts {
		if b.Described, err = agents.PutJSON(ctx, t.store, first.Turn); err == nil {
			err = t.store.flush(ctx)
		}
		if err == nil {
			b.Packed, err = compress(accepted)
			b.Accepted = nil
		}
	}
	return b, err
}

// accepted returns the first event.
func (b begun) accepted() (turn.Event, error) {
	data := b.Accepted
	if b.Packed != nil {
		var err error
		if data, err = decompress(b.Packed); err != nil {
			return nil, err
		}
	}
	return turn.Decode(data)
}

// needsHome reports whether agents have tools or files.
func needsHome(agents []effect.Agent) bool {
	return slices.ContainsFunc(agents, func(a effect.Agent) bool { return a.Tools != blob.Ref{} || a.Workspace })
}

// The most agents of a turn: the server refuses more activities at once than mostAtOnce, and ends a
// history of more than mostEvents. A call takes about eventsOfCall of them (a turn of 1,000 agents had
// 7,500 events for 2,000 calls).
const (
	mostAtOnce   = 2000
	mostEvents   = 51_200
	eventsOfCall = 4
)

// checkSize refuses a panel whose turn no history can hold, before anything is paid for. A small panel
// goes on in new runs.
func checkSize(rules kernel.Config) error {
	n, rounds := len(rules.Agents), max(rules.MaxRounds, 1)
	if n <= mostAgentsOfRuns || n <= min(mostAtOnce, mostEvents/(eventsOfCall*rounds)) {
		return nil
	}
	return fmt.Errorf("the panel has %d agents, and a turn of workers with max_rounds %d has at most %d: leave some out, allow fewer rounds, or use --engine local",
		n, rounds, max(mostAgentsOfRuns, min(mostAtOnce, mostEvents/(eventsOfCall*rounds))))
}

// lateAfter is how long after the request a turn may be prepared without a look whether another worker has played it.
const lateAfter = time.Second

// checkUnplayed releases the session and refuses the request if the turn was played meanwhile. A worker may be frozen
// before it holds the session; another then begins the turn and ends it. A session has one workflow at a time, so a turn
// that began after this request, with its question, is this request's own.
func checkUnplayed(ctx context.Context, store Store, in request, b sessions.Begun) error {
	const most = 10 // turns, in the time that a worker is frozen
	asked := time.UnixMilli(int64(in.At))
	if b.Turn == 1 || time.Since(asked) < lateAfter {
		return nil
	}
	last, err := store.Turns(ctx, in.Session, most)
	question := string(store.Mask(in.Question))
	isOwn := func(t sessions.Turn) bool {
		return t.Number < b.Turn && t.Question == question && !t.Started.Before(asked)
	}
	if err != nil || !slices.ContainsFunc(last, isOwn) {
		return err
	}
	err = store.End(context.WithoutCancel(ctx), in.Session, b.Turn, sessions.Ended{Status: kernel.AllFailed}) // stores nothing
	return refusal(refusedKind, errors.Join(errors.New("another worker has played the turn"), err))
}

// accept writes the first event.
func accept(ctx context.Context, t *turnAtWork, in request, b sessions.Begun) ([]byte, error) {
	store := t.store
	if err := checkSize(in.Terms.Rules); err != nil {
		return nil, err
	}
	accepted, err := t.worker.Prepare(ctx, in.Session, string(in.Question), b, in.Terms)
	if err != nil {
		return nil, err
	}
	accepted.At = in.At
	data, err := turn.Encode(accepted)
	if err == nil && in.Form >= turnsByTexts { // begun needs it, and it is stored with the event's texts
		_, err = agents.PutJSON(ctx, store, accepted.Turn)
	}
	if err != nil {
		return nil, err
	}
	ctx = sessions.WithMetadata(ctx, in.Session, in.Terms.Metadata)
	if err := store.AppendAt(ctx, in.Session, b.Turn, 0, data); err != nil {
		return nil, err
	}
	journal, err := store.Journal(ctx, in.Session, b.Turn, 0) // another worker may have been faster
	if err != nil {
		return nil, err
	}
	return journal[0], nil
}
