package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/driver"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
)

// attendance says that a client has a person before it, whom it asks about a tool call.
type attendance struct {
	toTurn
	Key machine.Key `json:"key"`
}

// decision is a client's word about a tool call. Unattended says that it asked no person.
type decision struct {
	attendance
	Allow      bool   `json:"allow"`
	Reason     string `json:"reason,omitempty"`
	Unattended bool   `json:"unattended,omitempty"`
}

// question is one about a tool call, from the first word that is said to it: clients follow
// the journal, and may be sooner than the workflow, which learns later that what it has
// written is there.
type question struct {
	// attended counts how often a client has said that it asks a person.
	attended int
	// word is the first that counts, nil before it.
	word *decision
}

// questions are the questions about tool calls. Unattended says that a call may run which nobody can
// be asked about.
type questions struct {
	byKey      map[machine.Key]*question
	unattended bool
}

func newQuestions() questions { return questions{byKey: map[machine.Key]*question{}} }

func (q questions) question(key machine.Key) *question {
	if q.byKey[key] == nil {
		q.byKey[key] = &question{}
	}
	return q.byKey[key]
}

// nobodys is the word that stands when nobody has said one.
func (q questions) nobodys() decision {
	word := decision{Allow: q.unattended, Unattended: true}
	if !word.Allow {
		word.Reason = coordinator.UnattendedReason
	}
	return word
}

// take keeps the first word. What is said without a person does not count while one is
// asked.
func (q *question) take(d decision) {
	if q.word == nil && !(d.Unattended && q.attended > 0) {
		q.word = &d
	}
}

// ask waits for a word to a question, which becomes one event.
func (p *player) requestPermission(a machine.PermissionRequest) {
	workflow.Go(p.root, func(ctx workflow.Context) {
		letGo := p.keepSession(ctx)
		word := p.wordTo(ctx, a.Key)
		letGo()
		p.happened(happening{endsWork: true, event: func(at kernel.Time) turn.Event {
			return turn.Decided{At: at, Key: a.Key, Allow: word.Allow, Reason: word.Reason}
		}})
	})
}

// keepSession has some worker keep the session for the turn until letGo is called: while
// nobody but a person is at work, the session would be anybody's after a while.
func (p *player) keepSession(ctx workflow.Context) (letGo func()) {
	ctx, cancel := workflow.WithCancel(ctx)
	kept := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: p.in.Settings.EffectLimit, HeartbeatTimeout: p.in.Settings.Heartbeat,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	})
	workflow.ExecuteActivity(kept, keepName, p.held())
	return cancel
}

// wordTo returns the word to a question: none if it is taken back, and that of nobody if no
// client that asks a person is heard of for as long as the settings say.
func (p *player) wordTo(ctx workflow.Context, key machine.Key) decision {
	q := p.questions.question(key)
	isOpen := func() bool { return p.driver.Machine().IsPermissionOpen(key) }
	for {
		heard := q.attended
		happened, err := workflow.AwaitWithTimeout(ctx, p.in.Settings.AskPatience, func() bool {
			return q.word != nil || q.attended > heard || !isOpen()
		})
		switch {
		case !isOpen():
			return decision{}
		case q.word != nil:
			return *q.word
		case err != nil || !happened:
			nobodys := p.questions.nobodys()
			q.word = &nobodys
			return nobodys
		}
	}
}

// attendancesPerPatience is how often a client tells that it goes on asking, in the time after
// which nobody would be taken to: one or two may be late.
const attendancesPerPatience = 3

// unattendedDelay is how long a client without a person keeps its word back. Another client, whose
// person is asked, has told so by then, and the word does not count.
const unattendedDelay = 3 * time.Second

// Decide implements coordinator.Decider. While the server is away it tries again.
func (r *remote) Decide(ctx context.Context, key machine.Key, attended bool, ask func(context.Context) (coordinator.Decision, error)) error {
	about := attendance{toTurn{r.number}, key}
	var attending sync.WaitGroup
	asking, stop := context.WithCancel(ctx)
	if attended {
		attending.Go(func() { r.attend(asking, about) })
	}
	word, err := ask(ctx)
	stop()
	attending.Wait()
	if err != nil || ctx.Err() != nil {
		return err
	}
	if !attended {
		_ = sleep(ctx, unattendedDelay) // decide sends nothing once ctx is done
	}
	return r.decide(ctx, decision{attendance: about, Allow: word.Allowed, Reason: word.Reason, Unattended: !attended})
}

// attend tells until ctx is done that a person is asked.
func (r *remote) attend(ctx context.Context, about attendance) {
	ticker := time.NewTicker(r.engine.settings.withDefaults().AskPatience / attendancesPerPatience)
	defer ticker.Stop()
	for {
		_ = r.signal(ctx, attendSignal, about) // the next one may come through
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// decide tells the word, unless ctx is done first: then nobody wants it any more.
func (r *remote) decide(ctx context.Context, d decision) error {
	const pause = time.Second
	for ctx.Err() == nil {
		err := r.signal(ctx, decideSignal, d)
		if err == nil || errors.Is(err, driver.ErrOver) {
			return nil
		}
		if !isAway(err) && ctx.Err() == nil {
			return fmt.Errorf("send the answer: %w", err)
		}
		_ = sleep(ctx, pause) // that ctx is done ends the loop
	}
	return nil
}
