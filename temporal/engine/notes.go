package engine

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// newNote is the text of a note to store.
type newNote struct {
	Owner string `json:"owner"`
	Text  string `json:"text"`
}

// noted is a note to a turn.
type noted struct {
	toTurn
	ID   string `json:"id,omitempty"`
	Note string `json:"note"`
}

// Note implements coordinator.RemoteTurn.
func (r *remote) Note(ctx context.Context, id, text string) error {
	if err := r.signal(ctx, noteSignal, noted{toTurn{r.number}, id, text}); err != nil {
		return fmt.Errorf("send the note: %w", err)
	}
	return nil
}

// hearNote stores a note and puts it into the inbox. Its sender learns from the journal whether
// it was accepted.
func (p *player) hearNote(ctx workflow.Context, in noted) {
	p.hearing = true
	defer func() { p.hearing = false }()
	var note blob.Ref
	err := coordinator.CheckNote(in.Note)
	if err == nil {
		err = workflow.ExecuteLocalActivity(patiently(ctx, mostWrite), keepNoteName, newNote{p.in.Owner, in.Note}).Get(ctx, &note)
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn("a note was not taken", "error", err)
		return
	}
	p.happened(happening{event: func(at kernel.Time) turn.Event {
		if p.driver.Machine().Over() {
			return nil
		}
		return turn.Noted{At: at, Note: note, ID: in.ID}
	}})
}

// hasNotes reports whether some notes are not in the inbox yet.
func (p *player) hasNotes() bool {
	wait := func(name string) bool { return workflow.GetSignalChannel(p.root, name).Len() > 0 }
	return p.hearing || slices.ContainsFunc([]string{noteSignal, pauseSignal, dismissSignal}, wait)
}
