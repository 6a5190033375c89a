package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/topic"
)

// metaTopic is the key of a session's metadata that has its topic.State. No id can name
// it (sessions.ParseID): it has a colon.
const metaTopic = "massgen:topic"

// topicUsage is what /topic takes: a name, then details behind semicolons.
const topicUsage = "/topic NAME; location: PLACE; era: TIME sets it, and /topic - forgets it"

// What /topic takes for a topic that waits for its confirmation (seed 002).
const (
	topicYes = "yes"
	topicNo  = "no"
)

// setTopic shows, sets or forgets what the conversation is about.
func (s *session) setTopic(text string) error {
	if err := s.refreshTopic(context.Background()); err != nil {
		return fmt.Errorf("/topic: %w", err)
	}
	var next, said string
	state := s.topic
	switch text {
	case "":
		s.showTopic()
		return nil
	case topicYes, topicNo:
		if state.Pending == nil {
			return fmt.Errorf("/topic %s: no topic waits for its confirmation: %s", text, topicUsage)
		}
		if text == topicYes {
			next, _ = state.Confirm()
			said = printable(state.Current.String()) + "\nAsked again: " + quoted(next)
			break
		}
		state.Decline()
		said = "The topic stays as it is."
	case "-":
		state.Clear()
		said = "There is no topic any more."
	default:
		t, err := parseTopic(s.console.secrets.Redact(text))
		if err != nil {
			return fmt.Errorf("/topic: %w: %s", err, topicUsage)
		}
		state.Set(t)
		said = printable(t.String())
	}
	if err := s.keepTopic(context.Background(), state); err != nil {
		return fmt.Errorf("/topic: %w", err)
	}
	s.console.say("%s", said)
	if next != "" {
		s.next, s.confirmed = next, next
	}
	return nil
}

func (s *session) showTopic() {
	if s.topic.Current == nil {
		s.console.say("There is no topic: %s.", topicUsage)
	} else {
		s.console.say("%s", printable(s.topic.Current.String()))
	}
	if p := s.topic.Pending; p != nil {
		s.console.say("%s", pendingText(*p))
	}
}

// pendingText says what can be done about a topic that waits for its confirmation.
func pendingText(p topic.Pending) string {
	return fmt.Sprintf("pending: %s; /topic yes goes over to it and asks again: %s; /topic no forgets it", oneLine(p.Topic.Name), quoted(p.Question))
}

// parseTopic reads "Tyburn; location: London; era: 1196-1783".
func parseTopic(text string) (topic.Topic, error) {
	name, details, _ := strings.Cut(text, ";")
	t := topic.Topic{Name: strings.TrimSpace(name)}
	if t.Name == "" {
		return t, errors.New("it has no name")
	}
	for detail := range strings.SplitSeq(details, ";") {
		if strings.TrimSpace(detail) == "" {
			continue
		}
		key, value, found := strings.Cut(detail, ":")
		if key = strings.ToLower(strings.TrimSpace(key)); !found || key == "" {
			return t, fmt.Errorf("%q is no detail", shortened(strings.TrimSpace(detail), 40))
		}
		if t.Details == nil {
			t.Details = map[string]string{}
		}
		t.Details[key] = strings.TrimSpace(value)
	}
	return t, nil
}

// keepTopic makes a state the session's, and stores it. A session that has had no turn
// is not there yet: its first turn stores it. What cannot be stored changes nothing.
func (s *session) keepTopic(ctx context.Context, state topic.State) error {
	data, err := encodeTopic(state)
	if err != nil {
		return err
	}
	err = s.store.SetMetadata(ctx, s.id, map[string]string{metaTopic: string(data)})
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return fmt.Errorf("keep the topic: %w", err)
	}
	s.topic = state
	return nil
}

// encodeTopic writes a state as a session keeps it, or says why it cannot.
func encodeTopic(state topic.State) ([]byte, error) {
	data, err := json.Marshal(state)
	if err == nil {
		err = sessions.CheckMetadata(map[string]string{metaTopic: string(data)})
	}
	if err != nil {
		return nil, fmt.Errorf("keep the topic: %w", err)
	}
	return data, nil
}

// loadTopic reads what keepTopic stored.
func (s *session) loadTopic(metadata map[string]string) error {
	if metadata[metaTopic] == "" {
		return nil
	}
	var state topic.State
	if err := json.Unmarshal([]byte(metadata[metaTopic]), &state); err != nil {
		return fmt.Errorf("read the topic of session %s: %w; /topic sets another", oneLine(s.id), err)
	}
	s.topic = state
	return nil
}

// refreshTopic takes up what another process has made of the topic. One that cannot be
// read changes nothing.
func (s *session) refreshTopic(ctx context.Context) error {
	kept, err := s.store.Session(ctx, s.id)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.loadTopic(kept.Metadata); err != nil {
		s.log.Debug("the topic stays as it is", "error", err)
	}
	return nil
}

// sections are the parts of the system message that the session adds: its topic, if it
// has one, and what is remembered of its user.
func (s *session) sections(ctx context.Context, id string) ([]string, error) {
	if err := s.refreshTopic(ctx); err != nil {
		return nil, err
	}
	s.takePage()
	return s.sectionsFor(ctx, s.topic, id)
}

func (s *session) sectionsFor(ctx context.Context, state topic.State, id string) ([]string, error) {
	list, err := s.topicSections(ctx, state, id)
	if err != nil {
		return nil, err
	}
	facts, err := factsOf(s.store.Facts).sections(ctx, id)
	return append(list, facts...), err
}

// takePage takes page context from the agents' system messages, which stand for a
// client's. The first that has some counts.
func (s *session) takePage() {
	for _, a := range s.config.Agents {
		if s.topic.TakeSystem(s.console.secrets.Redact(a.SystemMessage)) {
			return
		}
	}
}

func (s *session) topicSections(ctx context.Context, state topic.State, id string) ([]string, error) {
	if state.Current == nil && !s.log.Enabled(ctx, slog.LevelDebug) {
		return nil, nil
	}
	last, err := s.lastExchanges(ctx, id)
	if err != nil {
		return nil, err
	}
	s.logContext(state, last)
	if state.Current == nil {
		return nil, nil
	}
	// An answer from before there was a topic was a greeting too.
	greeted := len(last) > 0 || !state.ShouldGreet(time.Now())
	return contextbuild.TopicSections(contextbuild.Topic{Text: state.Current.String(), History: last, Greeted: greeted}), nil
}

// logContext logs what the next turn goes by (seed 002, log context in prompts).
func (s *session) logContext(state topic.State, last []contextbuild.Exchange) {
	var current, pending string
	if t := state.Current; t != nil {
		current = t.String()
	}
	if p := state.Pending; p != nil {
		pending = p.Topic.String()
	}
	s.log.Debug("context", "topic", current, "history", contextbuild.RecentConversation(last), "pending", pending)
}

// recentTurns are more than TopicSections shows, since a turn may have no answer.
const recentTurns = 6

func (s *session) lastExchanges(ctx context.Context, id string) ([]contextbuild.Exchange, error) {
	turns, err := s.store.Turns(ctx, id, recentTurns)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	var last []contextbuild.Exchange
	for _, t := range turns {
		if t.Winner != "" {
			last = append(last, contextbuild.Exchange{Question: t.Question, Answer: t.Answer})
		}
	}
	return last, err
}

// afterTurn notes that something was said. Of a turn that was played elsewhere, that has
// the topic.
func (s *session) afterTurn(ctx context.Context, _ *coordinator.Turn, r coordinator.Result) error {
	if s.engine != nil {
		if err := s.refreshTopic(ctx); err != nil {
			s.console.warn(err.Error())
		}
		s.takePage()
	}
	if s.topic.Current == nil && s.topic.Page == (topic.Page{}) || r.Winner == "" {
		return nil
	}
	state := s.topic
	state.MarkMessage(time.Now())
	if err := s.keepTopic(ctx, state); err != nil {
		s.console.warn(err.Error()) // that nobody is greeted again is not worth the answer
	}
	return nil
}
