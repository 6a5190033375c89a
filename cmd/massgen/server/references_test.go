package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/server"
)

// refersTo returns the items of an output as references, in the order of the output.
func refersTo(t *testing.T, r reply) string {
	t.Helper()
	if r.status != http.StatusOK {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	var items []string
	for _, item := range decode[struct{ Output []struct{ ID string } }](t, r.body).Output {
		items = append(items, `{"type":"item_reference","id":"`+item.ID+`"}`)
	}
	return strings.Join(items, ",")
}

// TestItemReferencesAreTheItems that the server gave out, also after a restart.
func TestItemReferencesAreTheItems(t *testing.T) {
	h := newListener()
	s := serve(t, hears(h))
	_, first := s.respond(t, `{"model":"one","input":[{"role":"user","content":"The capital of Italy?"}]}`)
	input := `{"model":"one","input":[{"role":"user","content":"The capital of Italy?"},` + refersTo(t, first) + `,{"role":"user","content":"And of France?"}]}`
	_, second := s.respond(t, input)
	if heard := strings.Join(h.texts(), "\n"); second.status != http.StatusOK || second.session() != first.session() || strings.Count(heard, "assistant: Rome.") != 1 {
		t.Errorf("status %d, %s, after %q", second.status, second.body, heard)
	}
	restarted := serve(t, func(settings *server.Settings) {
		settings.Store = s.store
		hears(h)(settings)
	})
	untyped := strings.ReplaceAll(input, `"type":"item_reference",`, "")
	if _, r := restarted.respond(t, untyped); r.status != http.StatusOK || !strings.Contains(strings.Join(h.texts(), "\n"), "assistant: Rome.") {
		t.Errorf("after a restart: status %d, %s, after %q", r.status, r.body, h.texts())
	}
}

// TestItemReferencesInALoopOfTools name the calls, and a finished loop has its answer once.
func TestItemReferencesInALoopOfTools(t *testing.T) {
	s := serve(t, forecasters(&forecaster{before: "I will look."}))
	tools := strings.NewReplacer(`"function":{`, "", "}}}}]", "}}}]").Replace(weatherTool)
	ask := func(input string) reply {
		_, r := s.respond(t, `{"model":"one",`+tools+`,"input":[`+input+`]}`)
		return r
	}
	input := `{"role":"user","content":"How is the weather?"}`
	first := ask(input)
	input += "," + refersTo(t, first)
	for _, item := range decode[struct {
		Output []struct {
			CallID string `json:"call_id"`
		}
	}](t, first.body).Output {
		if item.CallID != "" {
			input += `,{"type":"function_call_output","call_id":"` + item.CallID + `","output":"20 degrees"}`
		}
	}
	second := ask(input)
	if !strings.Contains(second.body, "I was told: 20 degrees, 20 degrees") || second.session() != first.session() {
		t.Fatalf("status %d: %s", second.status, second.body)
	}
	input += "," + refersTo(t, second) + `,{"role":"user","content":"And tomorrow?"}`
	if third := ask(input); third.status != http.StatusOK || third.session() != first.session() {
		t.Errorf("the next question was asked in another session: status %d, %s", third.status, third.body)
	}
	restarted := serve(t, func(settings *server.Settings) {
		settings.Store = s.store
		forecasters(&forecaster{})(settings)
	})
	_, r := restarted.respond(t, `{"model":"one","input":[`+input+`]}`)
	turns, err := s.store.Turns(t.Context(), r.session(), 0)
	if err != nil || len(turns) != 2 || strings.Contains(turns[0].Question, "I was told") || !strings.Contains(turns[0].Question, "> 20 degrees") {
		t.Errorf("after a restart the session has %+v, %v", turns, err)
	}
}

// TestItemReferencesAreRefused if they name nothing here, or what the client may not see.
func TestItemReferencesAreRefused(t *testing.T) {
	s := serve(t, func(settings *server.Settings) {
		hears(newListener())(settings)
		settings.Access.Tokens = []server.Token{{Name: "ada", Secret: "secret-of-ada"}, {Name: "bob", Secret: "secret-of-bob"}}
	})
	const path = "/v1/responses"
	first := s.do(t, http.MethodPost, path, `{"model":"one","input":"?"}`, bearer("secret-of-ada"))
	var own string
	if err := json.Unmarshal([]byte(refersTo(t, first)), &struct{ ID *string }{&own}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "msg_", "msg_0a1b2c", "rs_68e0", "fc_", "fc_x", "king_1", "_", own + "x", strings.Repeat("msg_", 5000)} {
		r := s.do(t, http.MethodPost, path, `{"model":"one","input":[{"type":"item_reference","id":"`+id+`"},{"role":"user","content":"?"}]}`, bearer("secret-of-ada"))
		if r.status != http.StatusBadRequest {
			t.Errorf("%.50s: status %d, %s", id, r.status, r.body)
		}
	}
	refer := `{"model":"one","input":[{"type":"item_reference","id":"` + own + `"},{"role":"user","content":"?"}]}`
	if r := s.do(t, http.MethodPost, path, refer, bearer("secret-of-bob")); r.status != http.StatusBadRequest || !strings.Contains(r.body, "input[0].id") {
		t.Errorf("the item of another client: status %d, %s", r.status, r.body)
	}
	if r := s.do(t, http.MethodDelete, path+"/"+decode[response](t, first.body).ID, "", bearer("secret-of-ada")); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	if r := s.do(t, http.MethodPost, path, refer, bearer("secret-of-ada")); r.status != http.StatusBadRequest {
		t.Errorf("the item of a deleted response: status %d, %s", r.status, r.body)
	}
}
