package massgen_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/sessions"
)

// TestHooksRunAroundATurn, in the order of their options.
func TestHooksRunAroundATurn(t *testing.T) {
	var said []string
	errNo, errLate := errors.New("not today"), errors.New("no mail")
	isRefused := false
	p := made(t)(massgen.New(t.Context(), demos(1),
		massgen.WithBeforeTurn(func(_ context.Context, turn *massgen.Turn) error {
			said = append(said, "before "+turn.Question())
			if isRefused {
				return errNo
			}
			return nil
		}),
		massgen.WithBeforeTurn(func(context.Context, *massgen.Turn) error {
			said = append(said, "and before")
			return nil
		}),
		massgen.WithAfterTurn(func(_ context.Context, _ *massgen.Turn, r massgen.Result) error {
			said = append(said, "after: "+r.Status)
			return errLate
		}),
		massgen.WithAfterTurn(func(context.Context, *massgen.Turn, massgen.Result) error {
			said = append(said, "and after")
			return nil
		}),
		massgen.WithBeforeTurn(nil), massgen.WithAfterTurn(nil),
	))
	r, err := p.Run(t.Context(), "s", "Why?")
	if r.Answer == "" || !errors.Is(err, errLate) {
		t.Errorf("the answer is %q, the error %v", r.Answer, err)
	}
	isRefused = true
	if _, err := p.Ask(t.Context(), "s", "Why?"); !errors.Is(err, errNo) {
		t.Errorf("the turn was refused with %v", err)
	}
	if got := strings.Join(said, ", "); got != "before Why?, and before, after: completed, and after, before Why?" {
		t.Errorf("the hooks said %s", got)
	}
}

// clerk is a model that sets a topic and remembers a fact. It counts its calls by purpose.
type clerk struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *clerk) reply(_ context.Context, req backends.Request) backends.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[req.Key.Purpose]++
	switch req.Key.Purpose {
	case "topic":
		return backends.ToolCall{ID: "1", Name: "set_topic", Arguments: `{"name":"tides"}`}
	case "facts":
		return backends.ToolCall{ID: "1", Name: "remember", Arguments: `{"facts":["The user sails."]}`}
	}
	var system string
	for _, m := range req.Messages {
		if m.Role == backends.RoleSystem {
			system += m.Text()
		}
	}
	told := "nothing"
	if strings.Contains(system, "tides") {
		told = "the topic"
	}
	if strings.Contains(system, "The user sails.") {
		told += " and a fact"
	}
	return backends.TextDelta{Text: "I was told " + told}
}

// TestTopicAndFactsAreOptions: the model of the first agent makes their calls, or another one.
func TestTopicAndFactsAreOptions(t *testing.T) {
	for _, hasOwn := range []bool{false, true} {
		answering, aside := &clerk{calls: map[string]int{}}, &clerk{calls: map[string]int{}}
		by := massgen.Agent{}
		if hasOwn {
			by = massgen.Agent{Model: "small", Backend: modelFunc(aside.reply)}
		} else {
			aside = answering
		}
		kept := sessions.NewMemory()
		p := made(t)(massgen.New(t.Context(), []massgen.Agent{{ID: "ada", Backend: modelFunc(answering.reply)}},
			massgen.WithTopic(by), massgen.WithFacts(by), massgen.WithStore(kept)))
		for _, want := range []string{"I was told the topic", "I was told the topic and a fact"} {
			turn, err := p.Ask(t.Context(), "s", "When is high water?")
			if err != nil {
				t.Fatal(err)
			}
			for range turn.Events(t.Context()) { // the call for facts follows the answer
			}
			if r, err := turn.Wait(t.Context()); r.Answer != want || err != nil {
				t.Errorf("own: %v: %q, %v, want %q", hasOwn, r.Answer, err, want)
			}
		}
		if state, err := p.Topic(t.Context(), "s"); err != nil || state.Current == nil || state.Current.Name != "tides" {
			t.Errorf("own: %v: the topic is %+v, %v", hasOwn, state, err)
		}
		if aside.calls["topic"] != 2 || aside.calls["facts"] != 2 || hasOwn && len(answering.calls) != 1 {
			t.Errorf("own: %v: the calls are %v and %v", hasOwn, answering.calls, aside.calls)
		}
	}
	_, err := massgen.New(t.Context(), demos(1), massgen.WithTopic(massgen.Agent{Provider: "demo", Backend: modelFunc(hanging)}))
	if err == nil || !strings.Contains(err.Error(), "the agent of WithTopic has a Backend and a Provider") {
		t.Errorf("two models for the topic: %v", err)
	}
}
