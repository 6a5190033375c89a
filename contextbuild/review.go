package contextbuild

import (
	"encoding/json"
	"strings"
)

// Review is what the winner thinks of its answer (DESIGN §4 rule 21). Reason and Instructions are for the next
// attempt.
type Review struct {
	Action       string `json:"action"`
	Reason       string `json:"reason,omitempty"`
	Instructions string `json:"instructions,omitempty"`
}

// The actions of a review, in MassGen's words.
const (
	submit  = "submit"
	restart = "restart_orchestration"
)

// Submits reports whether the answer is to be sent.
func (r Review) Submits() bool { return r.Action == submit }

// ReviewCall returns the messages of the call in which the winner reviews the only answer of in, and the JSON
// Schema of its reply. It panics as Build does.
func ReviewCall(in Input) (Messages, json.RawMessage) {
	text := `{"type":"string"}`
	return consultation(in, reviewPrompt, json.RawMessage(object(
		"action", `{"type":"string","enum":["`+submit+`","`+restart+`"]}`, "reason", text, "instructions", text)))
}

// ReadReview reads the reply to ReviewCall. The problem says why it is none.
func ReadReview(text string) (r Review, problem string) {
	fields, problem := fieldsIn(text)
	if problem != "" {
		return r, problem
	}
	r = Review{Action: textIn(fields["action"]), Reason: textIn(fields["reason"]), Instructions: textIn(fields["instructions"])}
	switch {
	case r.Action != submit && r.Action != restart:
		return r, `action is neither "` + submit + `" nor "` + restart + `"`
	case r.Action == restart && r.Reason == "" && r.Instructions == "":
		return r, "a restart has a reason and instructions"
	}
	return r, ""
}

// Restarted returns the section about the attempt before, with its review and its answer.
func Restarted(r Review, answer string) string {
	return strings.NewReplacer("{reason}", Clean(r.Reason), "{instructions}", Clean(r.Instructions), "{answer}", Clean(answer)).Replace(restartedPrompt)
}
