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
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/sleep"
)

// attendance says that a client asks a person about a tool call.
type attendance struct {
	toTurn
	Key effect.Key `json:"key"`
}

// decision is a client's answer about a tool call. Unattended says that the client asked no
// person.
type decision struct {
	attendance
	Allow      bool   `json:"allow"`
	Reason     string `json:"reason,omitempty"`
	Unattended bool   `json:"unattended,omitempty"`
}

// question is a question about a tool call. It exists from its first message on: clients follow
// the journal, and may be faster than the workflow, which learns later that its events are
// stored.
type question struct {
	// attended counts the messages of clients that ask a person.
	attended int
	// word is the first answer that counts, nil before it.
	word *decision
}

// questions are the questions about tool calls. Unattended says that a call may run if no
// person can be asked.
type questions struct {
	byKey      map[effect.Key]*question
	unattended bool
}

func newQuestions() questions { return questions{byKey: map[effect.Key]*question{}} }

func (q questions) question(key effect.Key) *question {
	if q.byKey[key] == nil {
		q.byKey[key] = &question{}
	}
	return q.byKey[key]
}

// nobodys returns the answer that counts if no client gave one.
func (q questions) nobodys() decision {
	word := decision{Allow: q.unattended, Unattended: true}
	if !word.Allow {
		word.Reason = coordinator.UnattendedReason
	}
	return word
}

// take keeps the first answer. An answer without a person does not count while a client asks a
// person.
func (q *question) take(d decision) {
	if q.word == nil && !(d.Unattended && q.attended > 0) {
		q.word = &d
	}
}

// requestPermission waits for the answer to a question, which becomes one event.
func (p *player) requestPermission(a effect.PermissionRequest) {
	workflow.Go(p.root, func(ctx workflow.Context) {
		letGo := p.keepSession(ctx)
		word := p.wordTo(ctx, a.Key)
		letGo()
		p.happened(happening{endsWork: true, event: func(at kernel.Time) turn.Event {
			return turn.Decided{At: at, Key: a.Key, Allow: word.Allow, Reason: word.Reason}
		}})
	})
}

// keepSession lets some worker keep the session for the turn until letGo is called: while the
// turn only waits for a person, any process could take the session after a while.
func (p *player) keepSession(ctx workflow.Context) (letGo func()) {
	ctx, cancel := workflow.WithCancel(ctx)
	kept := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: p.in.Settings.EffectLimit, HeartbeatTimeout: p.in.Settings.Heartbeat,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	})
	workflow.ExecuteActivity(kept, keepName, p.held())
	return cancel
}

// wordTo returns the answer to a question: none if the question is withdrawn, and nobody's if
// the workflow has no message from a client that asks a person for as long as the settings say.
func (p *player) wordTo(ctx workflow.Context, key effect.Key) decision {
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

// attendancesPerPatience is how often, within AskPatience, a client reports that it still asks
// a person: one or two reports may be late.
const attendancesPerPatience = 3

// unattendedDelay is how long a client without a person delays its answer. By then another
// client has reported that its person is asked, and the answer does not count.
const unattendedDelay = 3 * time.Second

// Decide implements coordinator.Decider. It repeats while the server is away.
func (r *remote) Decide(ctx context.Context, key effect.Key, attended bool, ask func(context.Context) (coordinator.Decision, error)) error {
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
		_ = sleep.For(ctx, unattendedDelay) // decide sends nothing once ctx is done
	}
	return r.decide(ctx, decision{attendance: about, Allow: word.Allowed, Reason: word.Reason, Unattended: !attended})
}

// attend reports until ctx is done that a person is asked.
func (r *remote) attend(ctx context.Context, about attendance) {
	ticker := time.NewTicker(r.engine.settings.withDefaults().AskPatience / attendancesPerPatience)
	defer ticker.Stop()
	for {
		_ = r.signal(ctx, attendSignal, about) // the next one may arrive
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// decide sends the answer, unless ctx is done first: then nobody needs it.
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
		_ = sleep.For(ctx, pause) // the loop ends when ctx is done
	}
	return nil
}
