package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// sidecalls is a panel that agrees, and a model that is asked about topic and facts.
const sidecalls = `
rules:
  - {when: {purpose: topic}, reply: {delay: 3s, text: "the sun", usage: {input_tokens: 7, output_tokens: 1}}}
  - {when: {purpose: facts}, reply: {delay: 5s, text: "likes the sun", usage: {input_tokens: 9, output_tokens: 2}}}
` + agreement

// sun asks a model what it has to say of a turn, and takes that for the question of the
// agents and for a section of theirs.
func sun(model backends.Backend) *Sidecall {
	return &Sidecall{
		SidecallModel: SidecallModel{Backend: model, Model: "small"},
		Ask: func(_ context.Context, t SidecallTurn) ([]backends.Message, []backends.Tool, error) {
			return []backends.Message{backends.User(fmt.Sprintf("Of %s: %q.", t.Question, t.Answer))}, nil, nil
		},
		Read: func(_ context.Context, t SidecallTurn, reply backends.Message) (SidecallReply, error) {
			said := reply.Text()
			return SidecallReply{Question: t.Question + " of " + said, Sections: []string{"About " + said + "."}, Kept: []byte(said)}, nil
		},
		Keep: func(context.Context, string, []byte) error { return nil },
	}
}

// keeping is sun that notes what it is given to keep.
func keeping(model backends.Backend, kept *[]string) *Sidecall {
	sidecall := sun(model)
	sidecall.Keep = func(_ context.Context, session string, data []byte) error {
		*kept = append(*kept, session+": "+string(data))
		return nil
	}
	return sidecall
}

// TestTopicComesBeforeRoundOne: what the detector says is in all inputs of the agents.
func TestTopicComesBeforeRoundOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		var kept []string
		p, store := panelOf(t, 3, sidecalls, nil, func(o *Options) {
			recorded(recorder)(o)
			o.Topic = keeping(o.Agents[0].Backend, &kept)
		})
		begun := time.Now()
		turn := start(t, p, "energy")
		r := wait(t, turn)
		calls := recorder.Calls()
		slices.SortFunc(calls, func(a, b debugbackend.Call) int { return a.Start.Compare(b.Start) })
		if first := calls[0].Request; first.Key.String() != "turn 1, topic" || first.Model != "small" || first.Messages[0].Text() != `Of energy: "".` {
			t.Errorf("the first call is %v with %v", first.Key, first.Messages)
		}
		for _, call := range calls[1:] {
			system, user := call.Request.Messages[0].Text(), call.Request.Messages[1].Text()
			if call.Start.Sub(begun) < 3*time.Second || !strings.HasSuffix(system, "\n\nAbout the sun.") || !strings.Contains(user, "<ORIGINAL MESSAGE> energy of the sun <") {
				t.Errorf("%v, after %v: %s\n%s", call.Request.Key, call.Start.Sub(begun), system, user)
			}
		}
		if diff := cmp.Diff([]string{"s: the sun"}, kept); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		agents := 0
		for _, a := range r.Agents {
			agents += a.Usage.InputTokens
		}
		if r.Status != kernel.Completed || r.Usage.InputTokens != agents+7 || r.Usage.Calls != len(calls) {
			t.Errorf("%s with %+v, of which the agents have %d input tokens, in %d calls", r.Status, r.Usage, agents, len(calls))
		}
		if turns, err := store.Turns(t.Context(), "s", 0); err != nil || turns[0].Question != "energy of the sun" {
			t.Errorf("the turn is kept as %+v, %v", turns, err)
		}
	})
}

// TestTurnGoesOnWithoutASidecallThatFails, whatever the reason.
func TestTurnGoesOnWithoutAnSidecallThatFails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reply   string
		change  func(*Sidecall)
		warning string
	}{
		"error": {reply: `{error: {kind: auth, message: "wrong key"}}`, warning: "wrong key"},
		"hang":  {reply: `{hang: true}`, warning: "deadline"},
		"panic": {reply: `{text: x}`, warning: "panicked", change: func(s *Sidecall) { s.Read = nil }},
		"answer": {reply: `{text: x}`, warning: "no topic", change: func(s *Sidecall) {
			s.Read = func(context.Context, SidecallTurn, backends.Message) (SidecallReply, error) {
				return SidecallReply{Question: "another"}, errors.New("no topic in it")
			}
		}},
		"keep": {reply: `{text: x}`, warning: "no room for it", change: func(s *Sidecall) {
			s.Read = func(context.Context, SidecallTurn, backends.Message) (SidecallReply, error) {
				return SidecallReply{Kept: []byte("x")}, nil
			}
			s.Keep = func(context.Context, string, []byte) error { return errors.New("no room for it") }
		}},
		"panic of keep": {reply: `{text: x}`, warning: "Sidecall.Keep panicked: full", change: func(s *Sidecall) {
			s.Read = func(context.Context, SidecallTurn, backends.Message) (SidecallReply, error) {
				return SidecallReply{Kept: []byte("x")}, nil
			}
			s.Keep = func(context.Context, string, []byte) error { panic("full") }
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := debugbackend.NewRecorder(debugbackend.Options{})
				p, _ := panelOf(t, 3, "rules:\n  - {when: {purpose: topic}, reply: "+c.reply+"}\n"+agreement, nil, func(o *Options) {
					recorded(recorder)(o)
					o.Topic = sun(o.Agents[0].Backend)
				})
				if c.change != nil {
					c.change(p.opts.Topic)
				}
				turn := start(t, p, "energy")
				r := wait(t, turn)
				if r.Status != kernel.Completed || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "the call for the topic came to nothing") || !strings.Contains(r.Warnings[0], c.warning) {
					t.Errorf("%s with the warnings %q", r.Status, r.Warnings)
				}
				if failed := eventsOf[report.SidecallFailed](t, turn); len(failed) != 1 || failed[0].Purpose != "topic" {
					t.Errorf("events: %+v", failed)
				}
				for _, call := range recorder.Calls() {
					if call.Request.Key.Agent != "" && !strings.Contains(call.Request.Messages[1].Text(), "<ORIGINAL MESSAGE> energy <") {
						t.Errorf("%v is asked something else", call.Request.Key)
					}
				}
			})
		})
	}
}

// TestInterruptBeforeRoundOneCallsNoAgent: nothing is asked any more.
func TestInterruptBeforeRoundOneCallsNoAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, _ := panelOf(t, 3, sidecalls, nil, func(o *Options) {
			o.Topic = sun(recorder.Wrap(o.Agents[0].Backend))
			for i := range o.Agents {
				o.Agents[i].Backend = backend(func(_ context.Context, req backends.Request) error {
					t.Errorf("%v was called", req.Key)
					return errors.New("not to be called")
				})
			}
		})
		turn := start(t, p, "energy")
		time.Sleep(time.Second)
		turn.Cancel()
		r := wait(t, turn)
		if r.Status != kernel.Cut || time.Since(turn.Started()) >= 3*time.Second {
			t.Errorf("%s after %v", r.Status, time.Since(turn.Started()))
		}
	})
}

// TestFactsFollowTheAnswer: the answer is out before they are asked for, and the session
// is busy until they are there.
func TestFactsFollowTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []string
		p, store := panelOf(t, 3, sidecalls, nil, func(o *Options) { o.Facts = keeping(o.Agents[0].Backend, &kept) })
		turn := start(t, p, "energy")
		r := wait(t, turn)
		if len(kept) > 0 || r.Status != kernel.Completed {
			t.Errorf("%s, with %q when the answer is there", r.Status, kept)
		}
		session, err := store.Session(t.Context(), "s")
		if err != nil || session.Usage.Calls != r.Usage.Calls || session.Messages != 2 {
			t.Errorf("when the answer is there the session is %+v, %v", session, err)
		}
		if _, err := p.Start(t.Context(), "s", "next"); !errors.Is(err, sessions.ErrBusy) {
			t.Errorf("a second turn meanwhile: %v", err)
		}
		p.Wait()
		if diff := cmp.Diff([]string{"s: likes the sun"}, kept); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		session, err = store.Session(t.Context(), "s")
		if err != nil || session.Usage.Calls != r.Usage.Calls+1 || session.Usage.InputTokens != r.Usage.InputTokens+9 {
			t.Errorf("in the end the session is %+v, %v", session, err)
		}
		if diff := cmp.Diff(r, wait(t, turn)); diff != "" {
			t.Errorf("the result has changed after the answer (-then +now):\n%s", diff)
		}
		updates := eventsOf[report.SessionUpdated](t, turn)
		if len(updates) != 2 || updates[1].Session.UsageTotal.Calls != session.Usage.Calls {
			t.Errorf("updates of the session: %+v", updates)
		}
		wait(t, start(t, p, "next"))
		p.Wait()
	})
}

// TestFactsCanBeInterrupted: the answer stays, and the session is free.
func TestFactsCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []string
		p, store := panelOf(t, 3, sidecalls, nil, func(o *Options) { o.Facts = keeping(o.Agents[0].Backend, &kept) })
		turn := start(t, p, "energy")
		r := wait(t, turn)
		turn.Cancel()
		p.Wait()
		if failed := eventsOf[report.SidecallFailed](t, turn); len(failed) != 1 || len(kept) > 0 {
			t.Errorf("events %+v, kept %q", failed, kept)
		}
		if turns, err := store.Turns(t.Context(), "s", 0); err != nil || turns[0].Answer != r.Answer || turns[0].Status != kernel.Completed {
			t.Errorf("the turn is %+v, %v", turns, err)
		}
		wait(t, start(t, p, "next"))
		p.Wait()
	})
}

// TestFactsBesideAnAbandonedCall: the race detector sees both use the doer.
func TestFactsBesideAnAbandonedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := backend(func(context.Context, backends.Request) error {
			time.Sleep(time.Minute)
			return context.Canceled
		})
		var kept []string
		p, _ := panelOf(t, 2, sidecalls, map[int]backends.Backend{0: deaf}, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.TurnLimit = 20 * time.Second
			o.Facts = keeping(o.Agents[1].Backend, &kept)
		})
		r := wait(t, start(t, p, "energy"))
		p.Wait()
		if r.Winner != "agent2" || len(kept) != 1 {
			t.Errorf("the winner is %q, and kept is %q", r.Winner, kept)
		}
		time.Sleep(time.Minute) // what was left behind ends at last
	})
}
