package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// asking is a turn of one agent, which calls a tool about which a person is to be asked, and
// then answers.
type asking struct {
	*testsuite.TestWorkflowEnvironment
	unattended bool
	budget     budget.Allowance
	// onJournal is called before an event is written.
	onJournal func(turn.Event)
	// slow says which calls last until they are cancelled, following which come after the
	// answer.
	slow      func(effect.Key) bool
	following []effect.Sidecall
	finished  int
	began     time.Time
	decided   []turn.Decided
	// after is how long the question was open, ran counts the calls of the tool.
	after time.Duration
	ran   int
}

// askedKey is the key of its question.
func askedKey() effect.Key { return effect.Key{Round: 1, Purpose: effect.Tool} }

func newAsking() *asking {
	a := &asking{TestWorkflowEnvironment: newEnvironment(), onJournal: func(turn.Event) {}, slow: func(effect.Key) bool { return false }}
	a.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
	for name, run := range map[string]any{prepareName: a.prepare, performName: a.perform, journalName: a.journal, concludeName: a.conclude, finishName: a.finish} {
		a.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
	return a
}

func (a *asking) prepare(_ context.Context, in request) (begun, error) {
	rules := kernel.Defaults()
	rules.Agents = []string{"alone"}
	accepted, err := turn.Encode(turn.Accepted{At: in.At, Rules: rules, Budget: a.budget, Turn: effect.Turn{
		Session: in.Session, Turn: 3, Agents: []effect.Agent{{ID: "alone"}}, Limits: effect.DefaultLimits(),
	}})
	return begun{Number: 3, Accepted: accepted, Unattended: a.unattended}, err
}

func (a *asking) perform(ctx context.Context, w work) (result, error) {
	if w.Effect.Model != nil && a.slow(w.Effect.Model.Key) {
		<-ctx.Done()
		return result{}, ctx.Err()
	}
	text := sessions.RefOf([]byte("a text"))
	if w.Effect.Tool != nil {
		a.ran++
		return result{Tool: &effect.ToolReply{Index: w.Effect.Tool.Key.Index, Result: text}}, nil
	}
	reply := effect.ModelReply{Message: text, Text: text, Hash: "h"}
	if w.Effect.Model.Key.Index == 0 {
		reply.Calls = []effect.Call{{ID: "call_1", Name: "remove", Own: true, Permission: effect.Asked, Why: "a rule"}}
	}
	return result{Model: &reply}, nil
}

func (a *asking) journal(_ context.Context, e entry) error {
	for _, data := range e.Events {
		ev, err := turn.Decode(data)
		if err != nil {
			return err
		}
		a.onJournal(ev)
		if d, ok := ev.(turn.Decided); ok {
			a.after = a.Now().Sub(a.began)
			d.At = 0
			a.decided = append(a.decided, d)
		}
	}
	return nil
}

func (a *asking) conclude(context.Context, ending) (concluded, error) {
	return concluded{Following: a.following}, nil
}

func (a *asking) finish(context.Context, held) error {
	a.finished++
	return nil
}

func (a *asking) play() error {
	a.began = a.Now()
	a.ExecuteWorkflow(workflowName, request{Session: "s", Owner: "o"})
	if !a.IsWorkflowCompleted() {
		return errors.New("the turn does not end")
	}
	return a.GetWorkflowError()
}

// say has a client say something at a moment of the turn.
func (a *asking) say(after time.Duration, d decision) {
	if d.Turn == 0 {
		d.Turn = 3
	}
	d.Key = askedKey()
	a.RegisterDelayedCallback(func() { a.SignalWorkflow(decideSignal, d) }, after)
}

// attend has a client tell now and then that it asks a person, up to a moment of the turn.
func (a *asking) attend(until time.Duration) {
	for at := 10 * time.Second; at < until; at += defaultAskPatience / attendancesPerPatience {
		a.RegisterDelayedCallback(func() { a.SignalWorkflow(attendSignal, attendance{toTurn{3}, askedKey()}) }, at)
	}
}

// TestQuestionGetsOneWord: the first that counts, and that of nobody if none comes in time.
func TestQuestionGetsOneWord(t *testing.T) {
	yes, nobodysYes := decision{Allow: true}, decision{Allow: true, Unattended: true}
	elsewhere := decision{attendance: attendance{toTurn: toTurn{2}}, Allow: true}
	no := decision{Reason: "the user said no"}
	nobody := turn.Decided{Key: askedKey(), Reason: coordinator.UnattendedReason}
	allowed := turn.Decided{Key: askedKey(), Allow: true}
	refused := turn.Decided{Key: askedKey(), Reason: no.Reason}
	cases := map[string]struct {
		prepare func(*asking)
		want    turn.Decided
		after   time.Duration
	}{
		"nobody is there":               {func(*asking) {}, nobody, defaultAskPatience},
		"nobody, and the config allows": {func(a *asking) { a.unattended = true }, allowed, defaultAskPatience},
		"a person":                      {func(a *asking) { a.attend(time.Hour); a.say(time.Hour, yes) }, allowed, time.Hour},
		"a person who leaves":           {func(a *asking) { a.attend(time.Hour) }, nobody, time.Hour - 10*time.Second + defaultAskPatience},
		"a second word":                 {func(a *asking) { a.say(time.Second, no); a.say(time.Second, yes) }, refused, time.Second},
		"a client without a terminal":   {func(a *asking) { a.say(time.Second, nobodysYes) }, allowed, time.Second},
		"one beside a person":           {func(a *asking) { a.attend(time.Minute); a.say(20*time.Second, nobodysYes); a.say(40*time.Second, no) }, refused, 40 * time.Second},
		"a word to another turn":        {func(a *asking) { a.say(time.Second, elsewhere) }, nobody, defaultAskPatience},
		"a word that is sooner": {func(a *asking) {
			a.onJournal = func(ev turn.Event) {
				if done, ok := ev.(turn.ModelDone); ok && done.Key.Index == 0 {
					a.SignalWorkflow(decideSignal, decision{attendance: attendance{toTurn{3}, askedKey()}, Allow: true})
				}
			}
		}, allowed, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAsking()
			c.prepare(a)
			if err := a.play(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]turn.Decided{c.want}, a.decided); diff != "" {
				t.Errorf("decided (-want +got):\n%s", diff)
			}
			if off := a.after - c.after; off < 0 || off > time.Second {
				t.Errorf("after %v, want %v", a.after, c.after)
			}
			if (a.ran == 1) != c.want.Allow {
				t.Errorf("the tool ran %d times", a.ran)
			}
		})
	}
}

// TestFirstWordCounts also of two that come before the question is looked at.
func TestFirstWordCounts(t *testing.T) {
	var q question
	q.take(decision{Reason: "no"})
	q.take(decision{Allow: true})
	if q.word.Allow {
		t.Error("it is the second")
	}
}

// TestQuestionOfATurnThatIsInterrupted is taken back at once. A yes that comes with the
// interrupt has nothing run.
func TestQuestionOfATurnThatIsInterrupted(t *testing.T) {
	for _, alsoYes := range []bool{false, true} {
		a := newAsking()
		a.RegisterDelayedCallback(func() { a.SignalWorkflow(interruptSignal, toTurn{3}) }, time.Second)
		if alsoYes {
			a.say(time.Second, decision{Allow: true})
		}
		if err := a.play(); err != nil {
			t.Fatal(err)
		}
		want := []turn.Decided{{Key: askedKey()}}
		if diff := cmp.Diff(want, a.decided); diff != "" || a.ran > 0 || a.after > 2*time.Second {
			t.Errorf("after %v, %d calls, decided (-want +got):\n%s", a.after, a.ran, diff)
		}
	}
}

// TestOpenQuestionKeepsItsRun: the turn does not go on as a new run while a question is open.
func TestOpenQuestionKeepsItsRun(t *testing.T) {
	a := newAsking()
	a.SetContinueAsNewSuggested(true)
	a.attend(10 * time.Minute)
	a.say(10*time.Minute, decision{Allow: true})
	var next *workflow.ContinueAsNewError
	if err := a.play(); !errors.As(err, &next) || len(a.decided) != 1 || !a.decided[0].Allow || a.ran > 0 {
		t.Errorf("%v, %d calls, decided %v", err, a.ran, a.decided)
	}
}
