package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// The names of what a note passes through.
const (
	noteSignal   = "note"
	findNoteName = "massgen.find_note"
)

// foundNote asks whether the text of a note is in the store.
type foundNote struct {
	Owner string     `json:"owner"`
	Note  kernel.Ref `json:"note"`
}

// Note implements coordinator.Play.
func (r *remote) Note(ctx context.Context, note kernel.Ref) error {
	err := r.engine.client.SignalWorkflow(ctx, r.run.GetID(), "", noteSignal, note)
	var gone *serviceerror.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &gone):
		return coordinator.ErrOver
	}
	return fmt.Errorf("signal the workflow: %w", err)
}

// findNote says whether a note can be taken. A journal that names a text which is not in
// the store could not be written.
func (h *hands) findNote(ctx context.Context, n foundNote) (bool, error) {
	if n.Note.Bytes > coordinator.MaxNote {
		return false, nil
	}
	_, err := h.as(n.Owner).Get(ctx, n.Note)
	if errors.Is(err, sessions.ErrNoText) {
		return false, nil
	}
	return err == nil, err
}

// hearNotes takes the notes that are signalled, in their order.
func (p *player) hearNotes() {
	workflow.Go(p.root, func(ctx workflow.Context) {
		signals := workflow.GetSignalChannel(ctx, noteSignal)
		for {
			var note kernel.Ref
			signals.Receive(ctx, &note)
			p.hearing = true
			p.hearNote(ctx, note)
			p.hearing = false
		}
	})
}

// hearNote passes a note on if its text can be had. Who sent it sees by the journal whether
// it was taken.
func (p *player) hearNote(ctx workflow.Context, note kernel.Ref) {
	patient := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 30 * time.Second, ScheduleToCloseTimeout: storePatience, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	})
	var found bool
	err := workflow.ExecuteLocalActivity(patient, findNoteName, foundNote{p.in.Owner, note}).Get(ctx, &found)
	if err != nil || !found {
		workflow.GetLogger(ctx).Warn("a note was not taken: its text is not in the store", "note", note.SHA256, "error", err)
		return
	}
	p.happened(happening{event: func(at kernel.Time) turn.Event {
		if p.over {
			return nil
		}
		return turn.Noted{At: at, Note: note}
	}})
}

// hasNotes says that there are notes that are not in the inbox yet.
func (p *player) hasNotes() bool {
	return p.hearing || workflow.GetSignalChannel(p.root, noteSignal).Len() > 0
}
