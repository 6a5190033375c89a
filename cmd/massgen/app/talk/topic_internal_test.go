package talk

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/providers"
)

// TestTopicThatIsTooLongChangesNothing, and no turn after it fails.
func TestTopicThatIsTooLongChangesNothing(t *testing.T) {
	p := testProgram(t)
	p.Options.Panel.Backend = providers.Demo
	s, err := openSession(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	for turn := 1; turn <= 2; turn++ { // at first there is no session to keep it in
		if err := (&dialogue{s: s}).setTopic("Tyburn"); err != nil {
			t.Fatal(err)
		}
		if err := (&dialogue{s: s}).setTopic(strings.Repeat("x", 1<<16)); err == nil || !strings.Contains(err.Error(), "the most is 65536") {
			t.Errorf("turn %d: %v", turn, err)
		}
		tooLong := topic.State{Current: &topic.Topic{Name: "Newgate"}, Pending: &topic.Pending{Question: strings.Repeat("x", 1<<16)}}
		if err := s.asked.panel.SetTopic(t.Context(), s.chat.id, tooLong); err == nil {
			t.Error("a question that is too long is kept with its topic")
		}
		state, err := s.asked.panel.Topic(t.Context(), s.chat.id)
		if err != nil || state.Current == nil || state.Current.Name != "Tyburn" || state.Pending != nil {
			t.Errorf("turn %d: the topic is %+v, %v", turn, state, err)
		}
		if _, err := s.ask(t.Context(), "question", nil); err != nil {
			t.Error(err)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestTopicOfAnotherProcessIsTakenUp and not written over.
func TestTopicOfAnotherProcessIsTakenUp(t *testing.T) {
	p := testProgram(t)
	p.Options.Panel.Backend = providers.Demo
	var talks [2]*session
	for i := range talks {
		var err error
		if talks[i], err = openSession(t.Context(), p, ""); err != nil {
			t.Fatal(err)
		}
		if err := (&dialogue{s: talks[i]}).setTopic("Tyburn"); err != nil {
			t.Fatal(err)
		}
		if _, err := talks[i].ask(t.Context(), "question", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := talks[1].asked.panel.SetTopic(t.Context(), talks[1].chat.id, topic.State{Pending: &topic.Pending{Topic: topic.Topic{Name: "Newgate"}}}); err != nil {
		t.Fatal(err)
	}
	if err := (&dialogue{s: talks[0]}).setTopic(topicYes); err != nil {
		t.Error(err)
	}
	if _, err := talks[1].ask(t.Context(), "question", nil); err != nil {
		t.Error(err)
	}
	for i, s := range talks {
		state, err := s.asked.panel.Topic(t.Context(), s.chat.id)
		if err != nil || state.Current == nil || state.Current.Name != "Newgate" || state.Pending != nil {
			t.Errorf("talk %d: the topic is %+v, %v", i, state, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}
