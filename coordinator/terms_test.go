package coordinator

import (
	"context"
	"errors"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// forgetful is a Remote that has forgotten the texts of the terms in its first tries.
type forgetful struct {
	plain
	tries, forgets int
}

func (f *forgetful) Begin(ctx context.Context, session, question string, terms TurnOptions) (RemoteTurn, error) {
	if f.tries++; f.tries <= f.forgets {
		return nil, sessions.NoText(blob.Ref{})
	}
	return f.plain.Begin(ctx, session, question, terms)
}

// TestForgottenTextsAreStoredAgain, twice: the files of a question reach the worker by the store.
func TestForgottenTextsAreStoredAgain(t *testing.T) {
	t.Parallel()
	for forgets := range 4 {
		remote := &forgetful{plain: plain{t: t}, forgets: forgets}
		p, store := panelOf(t, 3, sidecalls, nil, func(o *Options) { o.Remote = remote })
		remote.worker, remote.store = p.Worker(p.opts.Store), store
		ctx := attach.With(t.Context(), []backends.File{{File: blob.File{Name: "notes.txt", MediaType: "text/plain"}, Data: []byte("the notes")}})
		running, err := p.Start(ctx, "s", "energy")
		if forgets == 3 {
			if !errors.Is(err, sessions.ErrNoText) || remote.tries != 3 {
				t.Errorf("after %d tries: %v", remote.tries, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		wait(t, running)
		p.Wait()
		events, err := readJournal(t.Context(), store, "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := firstEvent(events)
		if err != nil || len(accepted.Turn.Files) != 1 || accepted.Turn.Files[0].Name != "notes.txt" || remote.tries != forgets+1 {
			t.Errorf("%v after %d tries: %+v", err, remote.tries, accepted.Turn.Files)
		}
	}
}
