package coordinator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// setPausedAfter pauses a turn, or lets it go on, after a time from now.
func setPausedAfter(t *testing.T, after time.Duration, set func(context.Context) error) {
	time.AfterFunc(after, func() {
		if err := set(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestPausedTurnBeginsNoCall and no time of it passes: calls under way come back, and a
// note that comes meanwhile is in the next ones.
func TestPausedTurnBeginsNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, _ := panelOf(t, 2, notable, nil, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.TurnLimit = time.Minute
			for i := range o.Agents {
				o.Agents[i].Backend = recorder.Wrap(o.Agents[i].Backend)
			}
		})
		turn := start(t, p, "energy")
		setPausedAfter(t, 500*time.Millisecond, turn.Pause)
		setPausedAfter(t, 600*time.Millisecond, turn.Pause) // which changes nothing
		addNotes(t, turn, 30*time.Minute)
		time.Sleep(time.Hour)
		if n := len(recorder.Calls()); n != 2 {
			t.Errorf("%d calls had begun when the turn was paused for an hour", n)
		}
		if err := turn.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := wait(t, turn)
		if r.Status != kernel.Completed || r.DurationMS > 10_000 || len(r.Notes) != 1 || r.Notes[0].SeenBy != 2 {
			t.Errorf("%s after %d ms, notes %+v", r.Status, r.DurationMS, r.Notes)
		}
		var told []string
		for ev := range turn.Events(t.Context()) {
			switch ev.(type) {
			case report.Paused, report.Unpaused, report.Noted:
				told = append(told, ev.Head().Kind)
			}
		}
		if diff := cmp.Diff([]string{"paused", "noted", "unpaused"}, told); diff != "" {
			t.Errorf("what is told (-want +got):\n%s", diff)
		}
		if err := turn.Pause(t.Context()); !errors.Is(err, driver.ErrOver) {
			t.Errorf("to pause it after its end: %v", err)
		}
	})
}

// TestPausedTurnCanBeCancelled with the best so far.
func TestPausedTurnCanBeCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 3, agree, nil, nil)
		turn := start(t, p, "energy")
		setPausedAfter(t, 500*time.Millisecond, turn.Pause)
		time.AfterFunc(time.Hour, turn.Cancel)
		if r := wait(t, turn); r.Status != kernel.Cut || r.Answer == "" {
			t.Errorf("%s with %q", r.Status, r.Answer)
		}
	})
}

// TestPausedTurnIsResumedFromEveryEvent: a process that resumes a turn lets it go on, with
// the result that it has without a kill, and makes no call again whose result was there.
func TestPausedTurnIsResumedFromEveryEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		change := func(o *Options) { o.Rules = kernel.Defaults() }
		p, texts := panelOf(t, 3, agree, nil, change)
		turn := start(t, p, "energy")
		setPausedAfter(t, 500*time.Millisecond, turn.Pause)
		setPausedAfter(t, time.Hour, turn.Resume)
		want := wait(t, turn)
		journal, err := texts.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= len(journal); n++ {
			got, calls := resumeAfter(t, agree, change, journal[:n], texts)
			for key, times := range calls {
				if times > 1 {
					t.Errorf("after %d of %d events: %v was called %d times", n, len(journal), key, times)
				}
			}
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Errorf("after %d of %d events: the result (-want +got):\n%s", n, len(journal), diff)
			}
		}
	})
}
