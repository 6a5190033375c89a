package engine

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// foundNote asks whether the text of a note is in the store.
type foundNote struct {
	Owner string     `json:"owner"`
	Note  kernel.Ref `json:"note"`
}

// noted is a note to one turn: the workflows of all turns of a session have one id.
type noted struct {
	Turn int        `json:"turn"`
	Note kernel.Ref `json:"note"`
}

// Note implements coordinator.Play.
func (r *remote) Note(ctx context.Context, note kernel.Ref) error {
	if err := r.signal(ctx, noteSignal, noted{r.number, note}); err != nil {
		return fmt.Errorf("send the note: %w", err)
	}
	return nil
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
			var n noted
			signals.Receive(ctx, &n)
			if n.Turn != p.number {
				continue
			}
			p.hearing = true
			p.hearNote(ctx, n.Note)
			p.hearing = false
		}
	})
}

// hearNote passes a note on if its text can be had. Who sent it sees by the journal whether
// it was taken.
func (p *player) hearNote(ctx workflow.Context, note kernel.Ref) {
	patient := patiently(ctx)
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
	return p.hearing || workflow.GetSignalChannel(p.root, noteSignal).Len() > 0 || workflow.GetSignalChannel(p.root, pauseSignal).Len() > 0
}
