package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// TestNotesReachTheAgents: a note that comes while a step runs is in its next input, all
// are in the first inputs of later steps, and the result says by whom each was seen.
func TestNotesReachTheAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 2, notable, nil, func(o *Options) {
			for i := range o.Agents {
				o.Agents[i].Backend = recorder.Wrap(o.Agents[i].Backend)
			}
		})
		turn := start(t, p, "energy")
		addNotes(t, turn, 500*time.Millisecond, 1500*time.Millisecond, 2500*time.Millisecond)
		r := wait(t, turn)
		want := []report.ResultNote{{Text: "note 1", SeenBy: 2}, {Text: "note 2", SeenBy: 2}, {Text: "note 3", SeenBy: 0}}
		if diff := cmp.Diff(want, r.Notes); diff != "" || r.Status != kernel.Completed {
			t.Errorf("%s, the notes (-want +got):\n%s", r.Status, diff)
		}
		if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "a note was seen by no agent") {
			t.Errorf("warnings %q", r.Warnings)
		}
		inputs := map[string][]string{} // the notes in each input, by its place in the turn
		for _, call := range recorder.Calls() {
			if call.Request.Key.Agent != "agent1" {
				continue
			}
			all := recordedText(call)
			place := call.Request.Key.String()
			for _, note := range []string{"note 1", "note 2", "note 3"} {
				if strings.Contains(all, "<NOTE from the user> "+note+" <END OF NOTE>") {
					inputs[place] = append(inputs[place], note)
				}
			}
		}
		wantInputs := map[string][]string{
			"turn 1, agent1, round 1, coordination 1": {"note 1"}, "turn 1, agent1, round 2, coordination 0": {"note 1", "note 2"},
		}
		if diff := cmp.Diff(wantInputs, inputs); diff != "" {
			t.Errorf("the notes in agent1's inputs (-want +got):\n%s", diff)
		}
		var told []string
		for _, ev := range eventsOf[report.Noted](t, turn) {
			told = append(told, ev.Text)
		}
		if diff := cmp.Diff([]string{"note 1", "note 2", "note 3"}, told); diff != "" {
			t.Errorf("what is told of (-want +got):\n%s", diff)
		}
		kept, err := ReadRecord(t.Context(), store, "s", 1)
		if diff := cmp.Diff(want, kept.Notes); diff != "" || err != nil {
			t.Errorf("kept are %v (-want +got):\n%s", err, diff)
		}
	})
}

func recordedText(call debugbackend.Call) string {
	var b strings.Builder
	for _, m := range call.Request.Messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

// TestNotesAreRefused: an empty note, a note that is too long, and any note after the end.
func TestNotesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 2, notable, nil, nil)
		turn := start(t, p, "energy")
		for text, want := range map[string]string{
			" \n": "the note is empty", strings.Repeat("x", maxNote+1): "has 16385 bytes, and the most is 16384",
		} {
			if err := turn.Note(t.Context(), text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.20q: %v", text, err)
			}
		}
		if err := turn.Note(t.Context(), strings.Repeat("y", maxNote)); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// The engine may be the quicker of the two.
		if err := turn.Note(ctx, "hello"); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("after its context: %v", err)
		}
		r := wait(t, turn)
		if len(r.Notes) == 0 || len(r.Notes[0].Text) != maxNote || r.Notes[0].SeenBy != 2 {
			t.Errorf("notes %d", len(r.Notes))
		}
		if err := turn.Note(t.Context(), "hello"); !errors.Is(err, driver.ErrOver) {
			t.Errorf("after the end: %v", err)
		}
		if kept, err := ReadRecord(t.Context(), store, "s", 1); err != nil || len(kept.Notes) != len(r.Notes) {
			t.Errorf("kept are %d, %v", len(kept.Notes), err)
		}
	})
}

// TestNoteWhileCallsEnd: after the end calls that were cancelled may still be out; a note
// is refused then, and does not break the turn.
func TestNoteWhileCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := backend(func(ctx context.Context, _ backends.Request) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return ctx.Err()
		})
		p, _ := panelOf(t, 1, notable, map[int]backends.Backend{0: slow}, nil)
		turn := start(t, p, "energy")
		time.Sleep(time.Second)
		turn.Cancel()
		synctest.Wait()
		if err := turn.Note(t.Context(), "too late"); !errors.Is(err, driver.ErrOver) {
			t.Errorf("after the cancel: %v", err)
		}
		if r := wait(t, turn); r.Status != kernel.Cut || len(r.Notes) != 0 {
			t.Errorf("%s, notes %v", r.Status, r.Notes)
		}
	})
}

// TestNoteRemote adds notes to a turn that another process plays: from a process that watches the
// turn, and from one that does not. The other process masks its keys in them, also keys that the
// sender does not know.
func TestNoteRemote(t *testing.T) {
	for name, add := range map[string]func(*plain, *Turn) error{
		"who watches": func(_ *plain, turn *Turn) error { return turn.Note(context.Background(), "in "+workersKey) },
		"who does not": func(e *plain, _ *Turn) error {
			return NoteRemote(context.Background(), e, e.store, "s", "in "+workersKey)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				remote := &plain{t: t, waits: true}
				p, store := panelOf(t, 2, notable, nil, func(o *Options) { o.Remote = remote })
				remote.worker, remote.store = p.Worker(p.opts.Store), store
				if err := NoteRemote(t.Context(), remote, store, "s", "too early"); !errors.Is(err, sessions.ErrNoSession) {
					t.Errorf("before the turn: %v", err)
				}
				turn := start(t, p, "energy")
				if err := add(remote, turn); err != nil {
					t.Fatal(err)
				}
				r := wait(t, turn)
				if diff := cmp.Diff([]report.ResultNote{{Text: "in [key]", SeenBy: 2}}, r.Notes); diff != "" {
					t.Errorf("the notes (-want +got):\n%s", diff)
				}
				if told := eventsOf[report.Noted](t, turn); len(told) != 1 || told[0].Text != "in [key]" {
					t.Errorf("told is %v", told)
				}
				p.Wait()
				if err := add(remote, turn); !errors.Is(err, driver.ErrOver) {
					t.Errorf("after the end: %v", err)
				}
				if err := NoteRemote(t.Context(), remote, store, "s", " "); err == nil || errors.Is(err, driver.ErrOver) {
					t.Errorf("an empty one: %v", err)
				}
			})
		})
	}
}
