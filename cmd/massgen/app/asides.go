package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/topic"
)

func (h *helper) helper() coordinator.Helper {
	return coordinator.Helper{Backend: h.backend, Model: h.model, Params: h.params}
}

// addAsides adds to the options the calls that belong to no agent. Without a session
// only the summarizer is one of the panel.
func (h helpers) addAsides(opts *coordinator.Options, s *session) {
	if h.summary != nil {
		opts.Summarizer = &coordinator.Summarizer{Helper: h.summary.helper(), Window: h.summary.window, Counter: h.summary.counter}
	}
	if h.topic != nil && s != nil {
		opts.Topic = s.aside(h.topic, handling{(*session).askTopic, (*session).readTopic, (*session).storeTopic, (*session).hearTopic})
	}
	if h.facts != nil && s != nil {
		opts.Facts = s.aside(h.facts, handling{(*session).askFacts, (*session).readFacts, (*session).storeFacts, (*session).hearFacts})
	}
}

// askTopic asks what a question does to the topic, unless the user has just said that.
func (s *session) askTopic(ctx context.Context, t coordinator.AsideTurn) ([]backends.Message, []backends.Tool, error) {
	known := s.confirmed == t.Question
	s.confirmed = ""
	if known {
		return nil, nil, nil
	}
	in, err := s.topicQuestion(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	messages, tools := contextbuild.TopicCall(in)
	return messages, tools, nil
}

func (s *session) topicQuestion(ctx context.Context, t coordinator.AsideTurn) (contextbuild.TopicQuestion, error) {
	last, err := s.lastExchanges(ctx, t.Session)
	in := contextbuild.TopicQuestion{History: last, Question: t.Question}
	if current := s.topic.Current; current != nil {
		in.Current = current.String()
	}
	if p := s.topic.Pending; p != nil {
		in.Pending, in.PendingQuestion = p.Topic.String(), p.Question
	}
	return in, err
}

// readTopic returns what the agents are asked and told after a change of the topic. The
// state that goes with it is kept by storeTopic.
func (s *session) readTopic(ctx context.Context, t coordinator.AsideTurn, reply backends.Message) (coordinator.AsideReply, error) {
	in, err := s.topicQuestion(ctx, t)
	if err != nil {
		return coordinator.AsideReply{}, err
	}
	change, err := contextbuild.ReadTopicCall(in, reply)
	if err != nil || change.Act == contextbuild.TopicKept {
		return coordinator.AsideReply{}, err
	}
	state, question := changedTopic(s.topic, change, t.Question)
	kept, err := encodeTopic(state)
	if err != nil {
		return coordinator.AsideReply{}, err
	}
	sections, err := s.sectionsFor(ctx, state, t.Session)
	if sections == nil {
		sections = []string{}
	}
	return coordinator.AsideReply{Question: question, Sections: sections, Kept: kept}, err
}

// changedTopic is the state after a change, and the question that is asked in place of
// the one that brought it about, if it is another (seed 002, pending topic).
func changedTopic(state topic.State, change contextbuild.TopicChange, asked string) (topic.State, string) {
	question := ""
	to := topic.Topic{Name: change.Name, Details: change.Details}
	switch change.Act {
	case contextbuild.TopicSet:
		state.Set(to)
		state.Pending = nil
	case contextbuild.TopicProposed:
		state.Propose(to, asked)
	case contextbuild.TopicConfirmed:
		question, _ = state.Confirm()
	case contextbuild.TopicDeclined:
		state.Decline()
	}
	return state, question
}

// storeTopic makes the state that readTopic came to the session's.
func (s *session) storeTopic(ctx context.Context, _ string, kept []byte) error {
	var state topic.State
	if err := json.Unmarshal(kept, &state); err != nil {
		return fmt.Errorf("take the topic: %w", err)
	}
	return s.keepTopic(ctx, state)
}

// hearTopic tells of a state that was stored.
func (s *session) hearTopic(kept []byte) error {
	var state topic.State
	if err := json.Unmarshal(kept, &state); err != nil {
		return fmt.Errorf("take the topic: %w", err)
	}
	s.topic = state
	switch {
	case s.display():
		s.tellTopic()
	case s.topic.Pending != nil:
		s.console.warn("the topic " + s.pendingTopic(*s.topic.Pending))
	}
	return nil
}

// pendingTopic says of a topic that waits what goes over to it: where no command can be
// typed, another question.
func (s *session) pendingTopic(p topic.Pending) string {
	if !s.given {
		return pendingText(p)
	}
	return fmt.Sprintf("pending: %s; a next question that agrees goes over to it and asks again: %s", oneLine(p.Topic.Name), quoted(p.Question))
}

// tellTopic says in a line what the conversation is about now.
func (s *session) tellTopic() {
	if p := s.topic.Pending; p != nil {
		s.console.say("%s", s.console.paint(faint, "topic "+s.console.secrets.Redact(s.pendingTopic(*p))))
	} else if current := s.topic.Current; current != nil {
		s.console.say("%s", s.console.paint(faint, "topic: "+oneLine(s.console.secrets.Redact(current.Name))))
	}
}

// askFacts asks what a turn tells of its user.
func (s *session) askFacts(ctx context.Context, t coordinator.AsideTurn) ([]backends.Message, []backends.Tool, error) {
	known, err := s.knownFacts(ctx, t.Session)
	if err != nil {
		return nil, nil, err
	}
	messages, tools := contextbuild.FactsCall(known, t.Question, t.Answer)
	return messages, tools, nil
}

func (s *session) knownFacts(ctx context.Context, id string) ([]string, error) {
	facts, err := s.store.Facts(ctx, sessions.ParseID(id)[sessions.MetaUser])
	known := make([]string, len(facts))
	for i, f := range facts {
		known[i] = f.Text
	}
	return known, err
}

func (s *session) readFacts(ctx context.Context, t coordinator.AsideTurn, reply backends.Message) (coordinator.AsideReply, error) {
	known, err := s.knownFacts(ctx, t.Session)
	if err != nil {
		return coordinator.AsideReply{}, err
	}
	found, err := contextbuild.ReadFactsCall(known, reply)
	if err != nil || len(found) == 0 {
		return coordinator.AsideReply{}, err
	}
	kept, err := json.Marshal(found)
	return coordinator.AsideReply{Kept: kept}, err
}

// storeFacts remembers what was found.
func (s *session) storeFacts(ctx context.Context, id string, kept []byte) error {
	var found []string
	if err := json.Unmarshal(kept, &found); err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	for _, text := range found {
		if _, err := s.store.AddFact(ctx, sessions.ParseID(id)[sessions.MetaUser], text); err != nil {
			return fmt.Errorf("remember: %w", err)
		}
	}
	return nil
}

// hearFacts tells of what is remembered.
func (s *session) hearFacts(kept []byte) error {
	var found []string
	if err := json.Unmarshal(kept, &found); err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if s.display() {
		for _, text := range found {
			s.console.say("%s", s.console.paint(faint, "remembered: "+oneLine(s.console.secrets.Redact(text))))
		}
	}
	return nil
}

// settle waits for what follows the answer of the last turn. An interrupt ends that: the
// answer is out already. After a second one nobody waits for it.
func (s *session) settle(ctx context.Context, signals <-chan os.Signal) {
	t := s.turn
	if t == nil {
		return
	}
	s.turn = nil
	events, stop := eventsOf(ctx, t)
	defer stop()
	for isOver, interrupted := false, false; ; {
		select {
		case signal := <-signals:
			if interrupted {
				return
			}
			interrupted, s.cut = true, time.Now()
			s.terminated = s.terminated || signal == syscall.SIGTERM
			t.Cancel()
		case ev, more := <-events:
			if !more {
				return
			}
			if isOver {
				ev.Text = s.console.secrets.Redact(ev.Text)
				s.logEvent(ev)
				s.tellAfter(ev)
			}
			isOver = isOver || ev.Kind == coordinator.Ended
		}
	}
}

// tellAfter tells of what goes wrong after the answer: nothing else waits for it.
func (s *session) tellAfter(ev coordinator.Event) {
	if ev.Kind == coordinator.AsideFailed {
		s.console.warn(asideFailure(ev))
	}
}

// asideText says what a call that belongs to no agent is for.
func asideText(purpose string) string {
	switch machine.Purpose(purpose) {
	case machine.Summarizing:
		return "older turns are being summarized"
	case machine.TopicDetection:
		return "the topic is being found out"
	}
	return purpose
}

func asideFailure(ev coordinator.Event) string {
	switch {
	case machine.Purpose(ev.Label) == machine.FactExtraction:
		return "what is to be remembered of this turn could not be found out: " + ev.Text
	case ev.Label == "": // the store failed
		return "what follows the answer could not be kept: " + ev.Text
	}
	return fmt.Sprintf("the call for the %s came to nothing: %s", ev.Label, ev.Text)
}

// eventsOf yields a turn's events until they end or stop is called, which waits for
// whoever passes them on.
func eventsOf(ctx context.Context, t *coordinator.Turn) (<-chan coordinator.Event, func()) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan coordinator.Event)
	go func() {
		defer close(events)
		for ev := range t.Events(ctx) {
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, func() {
		cancel()
		for range events { // until it is closed
			continue
		}
	}
}
