package coordinator

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/sessions"
)

// recordedEngine plays a journal again, event by event. A decision comes after its question was
// answered, or after patience.
type recordedEngine struct {
	worker   *Worker
	store    *sessions.Store
	journal  [][]byte
	patience time.Duration
	answered chan struct{}

	mu sync.Mutex
	// words are the decisions, and attended reports for each whether a person made it.
	words    []string
	attended []bool
}

func (e *recordedEngine) Attach(context.Context, string) (RemoteTurn, error) {
	return nil, sessions.ErrNoSession
}

func (e *recordedEngine) Begin(ctx context.Context, session, _ string, _ TurnOptions) (RemoteTurn, error) {
	begun, err := e.store.Begin(ctx, session, "energy")
	if err != nil {
		return nil, err
	}
	remote := &decidedTurn{plainTurn{number: begun.Turn, done: make(chan struct{}), grown: make(chan struct{}, 1)}, e}
	go func() {
		defer close(remote.done)
		ctx := context.WithoutCancel(ctx)
		for _, ev := range e.journal {
			if strings.Contains(string(ev), `"type":"decided"`) {
				select {
				case <-e.answered:
				case <-time.After(e.patience):
				}
			}
			if remote.err = e.store.Append(ctx, session, begun.Turn, ev); remote.err != nil {
				return
			}
			remote.grow()
		}
		_, remote.err = e.worker.Conclude(ctx, session, begun.Turn)
	}()
	return remote, nil
}

type decidedTurn struct {
	plainTurn
	local *recordedEngine
}

func (p *decidedTurn) Decide(ctx context.Context, _ effect.Key, attended bool, ask func(context.Context) (Decision, error)) error {
	said, err := ask(ctx)
	p.local.mu.Lock()
	defer p.local.mu.Unlock()
	word := "no: " + said.Reason
	if said.Allowed {
		word = "yes"
	}
	if ctx.Err() != nil {
		word = "taken back"
	} else {
		p.local.answered <- struct{}{}
	}
	p.local.words, p.local.attended = append(p.local.words, word), append(p.local.attended, attended)
	return err
}

// watchRecorded has a turn with three questions watched by a panel that is changed.
func watchRecorded(t *testing.T, patience time.Duration, change func(*Options)) *recordedEngine {
	t.Helper()
	p, store := panelOf(t, 3, removing, nil, func(o *Options) {
		for i := range o.Agents {
			o.Agents[i].Tools, o.Agents[i].Permit = []agents.Tool{remover{make(chan string, 10)}}, askFirst
		}
		o.Approve = func(context.Context, ApprovalRequest) (Decision, error) { return Decision{Allowed: true}, nil }
	})
	want := wait(t, start(t, p, "energy"))
	journal, err := store.Journal(t.Context(), "s", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := &recordedEngine{worker: p.Worker(store), store: store, journal: journal, patience: patience, answered: make(chan struct{}, 10)}
	opts := p.opts
	opts.Remote, opts.Approve = e, nil
	change(&opts)
	watching, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := watching.Start(t.Context(), "watched", "energy")
	if err != nil {
		t.Fatal(err)
	}
	got := wait(t, turn)
	got.SessionID, want.SessionID = "", ""
	if got.Session != nil && want.Session != nil {
		got.Session.SessionID, want.Session.SessionID = "", ""
	}
	if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
		t.Errorf("the result (-want +got):\n%s", diff)
	}
	return e
}

// TestQuestionsOfARemoteTurn are put to a person one at a time, and each
// once.
func TestQuestionsOfARemoteTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		e := watchRecorded(t, time.Hour, func(o *Options) {
			o.Approve = func(_ context.Context, a ApprovalRequest) (Decision, error) {
				asked = append(asked, a.Agent+" "+a.Tool+" "+a.Arguments)
				time.Sleep(time.Minute)
				return Decision{Allowed: a.Agent == "agent2"}, nil
			}
		})
		if diff := cmp.Diff([]string{`agent1 remove {"file":"agent1"}`, `agent2 remove {"file":"agent2"}`, `agent3 remove {"file":"agent3"}`}, slices.Sorted(slices.Values(asked))); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"no: the user said no", "no: the user said no", "yes"}, slices.Sorted(slices.Values(e.words))); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
		if slices.Contains(e.attended, false) {
			t.Errorf("by persons: %v", e.attended)
		}
	})
}

// TestQuestionThatOthersAnswerIsTakenBack, as soon as the journal has the answer.
func TestQuestionThatOthersAnswerIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := watchRecorded(t, time.Minute, func(o *Options) {
			o.Approve = func(ctx context.Context, _ ApprovalRequest) (Decision, error) {
				<-ctx.Done()
				return Decision{Allowed: true}, ctx.Err()
			}
		})
		if diff := cmp.Diff([]string{"taken back", "taken back", "taken back"}, e.words); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
	})
}

// TestNobodyWatchesAtATerminal: what the options say holds, and is known for nobody's word.
func TestNobodyWatchesAtATerminal(t *testing.T) {
	t.Parallel()
	for word, unattended := range map[string]bool{"yes": true, "no: nobody is there to allow it": false} {
		synctest.Test(t, func(t *testing.T) {
			e := watchRecorded(t, time.Hour, func(o *Options) { o.Unattended = unattended })
			if diff := cmp.Diff([]string{word, word, word}, e.words); diff != "" || slices.Contains(e.attended, true) {
				t.Errorf("by persons: %v, said (-want +got):\n%s", e.attended, diff)
			}
		})
	}
}
