package report_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// TestOneProjectionHoweverAJournalIsRead plays random turns. What people see of one is the
// same whether its journal is read in one go, event by event with a look after each, or up
// to any place and from there on in another process.
func TestOneProjectionHoweverAJournalIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawTurn(t)
		want := seen(t, w.report)
		whole, err := report.Project(w.journal, source())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, seen(t, whole)); diff != "" {
			t.Fatalf("read in one go (-played +read):\n%s", diff)
		}
		cut := rapid.IntRange(0, len(w.journal)).Draw(t, "cut")
		again, err := report.Project(w.journal[:cut], source())
		if err != nil {
			t.Fatal(err)
		}
		var told []report.Event
		for _, ev := range w.journal[cut:] {
			commands, err := again.Machine().Apply(ev)
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, again.Apply(ev, commands)...)
		}
		if diff := cmp.Diff(want, seen(t, again)); diff != "" {
			t.Fatalf("resumed after %d events (-played +resumed):\n%s", cut, diff)
		}
		if diff := cmp.Diff(w.told[len(w.told)-len(told):], told, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("told after %d events (-played +resumed):\n%s", cut, diff)
		}
	})
}

// sight is what people see of a turn.
type sight struct {
	Result report.Result
	Record report.Record
}

func seen(t *rapid.T, r *report.Report) (s sight) {
	var err error
	if s.Result, err = r.Result(report.Unjournaled{}); err != nil {
		t.Fatal(err)
	}
	if s.Record, err = r.Record(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Result.Activity, s.Record.Activity); diff != "" {
		t.Fatalf("the result has another activity than the journal:\n%s", diff)
	}
	return s
}

// drawTurn plays a turn whose models, tools and person do anything.
func drawTurn(t *rapid.T) *world {
	w := newWorld([]string{"ada", "bob", "cyd"}[:rapid.IntRange(1, 3).Draw(t, "agents")]...)
	accepted := w.accepted()
	accepted.Rules.MaxRounds = 3
	for i := range accepted.Turn.Agents {
		accepted.Turn.Agents[i].Workspace = rapid.Bool().Draw(t, "workspace")
		accepted.Turn.Agents[i].Step = &policy.StepLimits{Kind: policy.Prune, Messages: 3, Keep: 1, FirstTokens: 90, Window: 100}
	}
	if rapid.IntRange(0, 3).Draw(t, "summary") == 0 {
		accepted.Turn.Sidecalls = []effect.Sidecall{{Purpose: effect.Summarizing}}
	}
	w.take(t, accepted)
	for len(w.out) > 0 || !w.machine.Over() {
		w.at += 10
		w.take(t, w.drawEvent(t))
		seen(t, w.report) // which changes nothing
	}
	return w
}

func (w *world) take(t *rapid.T, ev turn.Event) {
	if _, err := w.apply(ev); err != nil {
		t.Fatal(err)
	}
}

// mayDismiss reports whether the turn can go on without its first agent.
func (w *world) mayDismiss() bool {
	_, err := w.machine.MayDismiss(w.ids[0])
	return err == nil
}

func (w *world) drawEvent(t *rapid.T) turn.Event {
	switch what := rapid.IntRange(0, 59).Draw(t, "what"); {
	case w.machine.IsPaused() && (what < 20 || len(w.out) == 0):
		return turn.Unpaused{At: w.at}
	case w.ask != nil && (what < 40 || len(w.out) == 0):
		key := w.ask.Key
		w.ask = nil
		return turn.Decided{At: w.at, Key: key, Allow: rapid.Bool().Draw(t, "allow"), Reason: "the user said no"}
	case what == 0:
		return kernel.Interrupted{At: w.at}
	case what < 3 && !w.machine.Over():
		return turn.Noted{At: w.at, Note: ref(fmt.Sprint("note ", len(w.journal)))}
	case what < 5 && !w.machine.Over() && !w.machine.IsPaused():
		return turn.Paused{At: w.at}
	case what < 7:
		return turn.Resumed{At: w.at}
	case what == 9 && w.mayDismiss():
		return kernel.Dismissed{At: w.at}
	case what < 9:
		return turn.ToolsChanged{At: w.at, Agent: rapid.IntRange(0, len(w.ids)-1).Draw(t, "agent"), Tools: tools("find", fmt.Sprint("tool", what))}
	}
	eff := w.out[rapid.IntRange(0, len(w.out)-1).Draw(t, "effect")]
	key := eff.EffectKey()
	if _, ok := eff.(effect.ToolCall); !ok {
		return turn.ModelDone{At: w.at, Key: key, Reply: w.drawReply(t)}
	}
	reply := effect.ToolReply{Result: ref("found"), Error: rapid.IntRange(0, 4).Draw(t, "error") == 0}
	if key.Purpose.IsSnapshot() && !reply.Error {
		reply = kept(key.String())
	}
	reply.Index = key.Index
	return turn.ToolDone{At: w.at, Key: key, Reply: reply}
}

func (w *world) drawReply(t *rapid.T) effect.ModelReply {
	if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
		return failed(rapid.SampledFrom([]string{"network", "timeout"}).Draw(t, "kind"), rapid.SampledFrom([]string{"", "half a"}).Draw(t, "partial"))
	}
	var calls []call
	for range rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "calls") {
		calls = append(calls, call{
			name:       rapid.SampledFrom([]string{effect.NewAnswer, effect.Vote, effect.Vote, "find", "find"}).Draw(t, "call"),
			text:       rapid.SampledFrom([]string{"wind", "rain", "snow", "fog"}).Draw(t, "text"),
			target:     rapid.IntRange(0, len(w.ids)-1).Draw(t, "target"),
			permission: rapid.SampledFrom([]effect.Permission{effect.Allowed, effect.Asked, effect.Denied}).Draw(t, "permission"),
		})
	}
	reply := w.reply(rapid.SampledFrom([]string{"", "so it is"}).Draw(t, "said"), calls...)
	reply.Truncated = rapid.IntRange(0, 9).Draw(t, "truncated") == 0
	if rapid.IntRange(0, 9).Draw(t, "fallback") == 0 {
		reply.Fallback = &effect.Fallback{From: "one/a", To: "two/b", Reason: "busy"}
	}
	return reply
}
