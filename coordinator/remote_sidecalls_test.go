package coordinator

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// TestSidecallsOfARemoteTurn are made and kept there, and told of where the turn
// is watched. The result is the one that it would have been here, and does not wait for what
// follows it.
func TestSidecallsOfARemoteTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var there, told []string
		remote := &plain{t: t}
		here, _ := panelOf(t, 3, sidecalls, nil, func(o *Options) {
			o.Topic, o.Facts = sun(o.Agents[0].Backend), sun(o.Agents[0].Backend)
		})
		want := wait(t, start(t, here, "energy"))
		here.Wait()
		p, store := panelOf(t, 3, sidecalls, nil, func(o *Options) {
			o.Topic, o.Facts = keeping(o.Agents[0].Backend, &there), keeping(o.Agents[0].Backend, &there)
		})
		remote.worker, remote.store = p.Worker(p.opts.Store), store
		opts := p.opts
		opts.Remote, opts.Topic, opts.Facts = remote, keeping(opts.Agents[0].Backend, &told), keeping(opts.Agents[0].Backend, &told)
		watching, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		running := start(t, watching, "energy")
		r := wait(t, running)
		answered := time.Now()
		if len(there) != 1 || len(told) != 1 {
			t.Errorf("with the answer, kept %q, told %q", there, told)
		}
		if _, err := store.Begin(t.Context(), "s", "next"); !errors.Is(err, sessions.ErrBusy) {
			t.Errorf("another turn, while the facts are found: %v", err)
		}
		if r.Answer != want.Answer || r.Status != kernel.Completed || r.Usage.InputTokens != want.Usage.InputTokens || len(r.Answers) != len(want.Answers) {
			t.Errorf("the result is %+v, want %+v", r, want)
		}
		if watching.Wait(); time.Since(answered) < 4*time.Second {
			t.Errorf("all is over %v after the answer", time.Since(answered))
		}
		both := []string{"s: the sun", "s: likes the sun"}
		if !slices.Equal(there, both) || !slices.Equal(told, both) {
			t.Errorf("kept %q, told %q", there, told)
		}
		session, err := store.Session(t.Context(), "s")
		if err != nil || session.Usage.InputTokens != r.Usage.InputTokens+9 {
			t.Errorf("in the end the session is %+v, %v", session, err)
		}
		if turns, err := store.Turns(t.Context(), "s", 0); err != nil || turns[0].Question != "energy of the sun" {
			t.Errorf("the turn is kept as %+v, %v", turns, err)
		}
		if failed := eventsOf[report.SidecallFailed](t, running); len(failed) > 0 {
			t.Errorf("failed: %+v", failed)
		}
	})
}
