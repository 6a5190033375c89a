package server_test

import (
	"encoding/json"
	"testing"
)

// TestSameWordsOfTwoUsersAreTwoConversations: a history without an id goes on in a session of the same user.
func TestSameWordsOfTwoUsersAreTwoConversations(t *testing.T) {
	s := serve(t, nil)
	say := func(user, messages string) reply {
		return s.chat(t, `{"model":"pair/ada","messages":[{"role":"system","content":"CURRENT PAGE: /\nUSER: `+user+`"},`+messages+`]}`)
	}
	const hi = `{"role":"user","content":"Hi"}`
	eve := say("Eve", hi)
	var said answer
	if err := json.Unmarshal([]byte(eve.body), &said); err != nil || len(said.Choices) != 1 {
		t.Fatalf("%s: %v", eve.body, err)
	}
	first := map[string]reply{"Eve": eve, "Dan": say("Dan", hi)}
	for user, begun := range first {
		text, err := json.Marshal(said.Choices[0].Message.Content)
		if err != nil {
			t.Fatal(err)
		}
		r := say(user, hi+`,{"role":"assistant","content":`+string(text)+`},{"role":"user","content":"And?"}`)
		if r.session() != begun.session() {
			t.Errorf("%s began in %s and goes on in %s", user, begun.session(), r.session())
		}
	}
}

// TestRefusedRequestsLeaveNothing: neither a session with the history of the request, nor another session for the
// conversation.
func TestRefusedRequestsLeaveNothing(t *testing.T) {
	s := serve(t, nil)
	begun := s.chat(t, `{"model":"pair/ada","messages":[{"role":"user","content":"Hi"}]}`)
	var said answer
	if err := json.Unmarshal([]byte(begun.body), &said); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(said.Choices[0].Message.Content)
	if err != nil {
		t.Fatal(err)
	}
	before := s.send(t, "GET", "/sessions", "").body
	on := `{"role":"user","content":"Hi"},{"role":"assistant","content":` + string(text) + `},{"role":"user","content":"And?"}`
	page := `{"role":"system","content":"CURRENT PAGE: home\nUSER: Dan"},`
	other := `{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"q2"}`
	for _, messages := range []string{on, other, page + other, page + `{"role":"user","content":"q"}`} {
		if r := s.chat(t, `{"model":"pair/ada","web_search_options":{},"messages":[`+messages+`]}`); r.status < 400 {
			t.Errorf("%s is answered with %d", messages, r.status)
		}
		if after := s.send(t, "GET", "/sessions", "").body; after != before {
			t.Errorf("after %s there is %s", messages, after)
		}
	}
	if r := s.chat(t, `{"model":"pair/ada","messages":[`+on+`]}`); r.session() != begun.session() {
		t.Errorf("the conversation goes on in %s, not in %s", r.session(), begun.session())
	}
}
