package topic

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTopicText has the texts of seed 002.
func TestTopicText(t *testing.T) {
	for want, topic := range map[string]Topic{
		"Currently discussing: Tyburn":                                                         {Name: "Tyburn"},
		"Currently discussing: Tyburn\nLocation: London\nEra: 1196-1783":                       {"Tyburn", map[string]string{"location": "London", "era": "1196-1783"}},
		"Currently discussing: Tyburn\nLocation: Unknown\nEra: Unknown":                        {"Tyburn", map[string]string{}},
		"Currently discussing: Tyburn\nLocation: Unknown\nEra: 1783\nMood: grim\nUse: history": {"Tyburn", map[string]string{"use": "history", "mood": "grim", "era": "1783"}},
	} {
		if got := topic.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPendingTopicWaitsForItsConfirmation(t *testing.T) {
	var s State
	if q, ok := s.Confirm(); ok || q != "" || s.Decline() {
		t.Error("something was pending at the beginning")
	}
	s.Set(Topic{Name: "Tyburn"})
	s.Propose(Topic{Name: "Newgate"}, "What about Newgate?")
	s.Propose(Topic{Name: "the Fleet"}, "And the Fleet?")
	if s.Current.Name != "Tyburn" {
		t.Errorf("a pending topic is current: %s", s.Current.Name)
	}
	if q, ok := s.Confirm(); !ok || q != "And the Fleet?" || s.Current.Name != "the Fleet" || s.Pending != nil {
		t.Errorf("confirmed: %q %t %+v", q, ok, s)
	}
	s.Propose(Topic{Name: "Newgate"}, "What about Newgate?")
	if !s.Decline() || s.Current.Name != "the Fleet" || s.Pending != nil {
		t.Errorf("declined: %+v", s)
	}
	s.Clear()
	if s.Current != nil {
		t.Error("the topic is still there")
	}
}

func TestGreetingOnce(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		state State
		want  bool
	}{
		"new":                     {State{}, true},
		"greeted long ago":        {State{Greeted: true, LastMessage: now.Add(-time.Hour)}, false},
		"spoken a moment ago":     {State{LastMessage: now.Add(-299 * time.Second)}, false},
		"spoken five minutes ago": {State{LastMessage: now.Add(-300 * time.Second)}, true},
	} {
		if got := c.state.ShouldGreet(now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestParsePage(t *testing.T) {
	page, ok := ParsePage("\n    CURRENT PAGE: /jobs?role=cfo\n    USER: Dan: the second\n\tPREVIOUS TOPIC:\n\n    USER: somebody else\n    When user asks about jobs, use it.")
	want := Page{CurrentPage: "/jobs?role=cfo", User: "Dan: the second"}
	if diff := cmp.Diff(want, page); diff != "" || !ok {
		t.Errorf("%t (-want +got):\n%s", ok, diff)
	}
	for _, message := range []string{"", "You are a helpful assistant.", "USER: Dan", "see CURRENT PAGE", "current page: x"} {
		if page, ok := ParsePage(message); ok || page != (Page{}) {
			t.Errorf("%q: %+v, %t", message, page, ok)
		}
	}
}

func TestTakeSystem(t *testing.T) {
	const message = "You help people find jobs.\nCURRENT PAGE: /jobs\nUSER: Dan\nPREVIOUS TOPIC: the CFO role"
	page := Page{CurrentPage: "/jobs", User: "Dan", PreviousTopic: "the CFO role"}
	previous, tyburn := &Topic{Name: "the CFO role"}, &Topic{Name: "Tyburn"}
	for name, c := range map[string]struct {
		state   State
		message string
		ok      bool
		want    State
	}{
		"no page context":                   {State{Current: tyburn, Page: page}, "USER: Ann", false, State{Current: tyburn, Page: page}},
		"a new session":                     {State{}, message, true, State{Current: previous, Page: page}},
		"a session with an older topic":     {State{Current: tyburn}, message, true, State{Current: previous, Page: page}},
		"a newer topic than the page's":     {State{Current: tyburn, Page: page}, message + " ", true, State{Current: tyburn, Page: page}},
		"another page with the same topic":  {State{Current: tyburn, Page: page}, strings.Replace(message, "/jobs", "/", 1), true, State{Current: tyburn, Page: Page{CurrentPage: "/", User: "Dan", PreviousTopic: "the CFO role"}}},
		"another page with another topic":   {State{Current: tyburn, Page: page}, strings.Replace(message, "CFO", "CTO", 1), true, State{Current: &Topic{Name: "the CTO role"}, Page: Page{CurrentPage: "/jobs", User: "Dan", PreviousTopic: "the CTO role"}}},
		"the details of the topic stay":     {State{Current: &Topic{Name: "the CFO role", Details: map[string]string{"location": "Oslo"}}}, message, true, State{Current: &Topic{Name: "the CFO role", Details: map[string]string{"location": "Oslo"}}, Page: page}},
		"a topic is pending":                {State{Pending: &Pending{Question: "q"}}, message, true, State{Current: previous, Pending: &Pending{Question: "q"}, Page: page}},
		"the topic of that page is gone":    {State{Page: page}, message, true, State{Page: page}},
		"another page, without a topic":     {State{Current: tyburn, Page: page}, "CURRENT PAGE: /", true, State{Current: tyburn, Page: Page{CurrentPage: "/"}}},
		"another page, and no topic so far": {State{Page: Page{CurrentPage: "/"}}, message, true, State{Current: previous, Page: page}},
	} {
		ok := c.state.AcceptSystem(c.message)
		if diff := cmp.Diff(c.want, c.state); diff != "" || ok != c.ok {
			t.Errorf("%s: %t (-want +got)\n%s", name, ok, diff)
		}
	}
}

// TestNewestPageCounts: a client sends all pages of a conversation with each request.
func TestNewestPageCounts(t *testing.T) {
	pages := []string{"CURRENT PAGE: /a\nPREVIOUS TOPIC: a", "a text", "CURRENT PAGE: /b\nPREVIOUS TOPIC: b"}
	var s State
	if !s.AcceptSystem(pages...) || s.Current.Name != "b" || s.Page.CurrentPage != "/b" {
		t.Errorf("%+v", s)
	}
	s.Set(Topic{Name: "c"})
	if !s.AcceptSystem(pages...) || s.Current.Name != "c" {
		t.Errorf("the same pages again: %+v", s)
	}
}

// TestPageOfTheConfigIsAcceptedOnce, whatever page a client describes, until the config has another.
func TestPageOfTheConfigIsAcceptedOnce(t *testing.T) {
	const first, second = "CURRENT PAGE: /a\nPREVIOUS TOPIC: a", "CURRENT PAGE: /b\nPREVIOUS TOPIC: b"
	var s State
	for _, c := range []struct {
		accept        func(string) bool
		message, want string
	}{
		{s.AcceptConfig, first, "a"},
		{func(m string) bool { return s.AcceptSystem(m) }, "CURRENT PAGE: /x\nPREVIOUS TOPIC: x", "x"},
		{s.AcceptConfig, first, "x"},
		{s.AcceptConfig, second, "b"},
	} {
		if !c.accept(c.message) || s.Current.Name != c.want {
			t.Errorf("after %q: %+v", c.message, s.Current)
		}
	}
}

func TestStateIsStoredAsJSON(t *testing.T) {
	full := State{
		Current: &Topic{"a", map[string]string{}}, Pending: &Pending{Topic{Name: "b"}, "q"}, Greeted: true,
		LastMessage: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Page: Page{CurrentPage: "/"},
	}
	for _, s := range []State{{}, full} {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back State
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Errorf("%s came back different (-want +got):\n%s", data, diff)
		}
	}
}
