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
