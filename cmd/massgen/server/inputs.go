package server

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/cmd/massgen/internal/picture"
	"github.com/massgen/massgen/debugbackend"
)

// listedCall is a model call as a list shows it.
type listedCall struct {
	// Number counts the turn's calls from 1, in the order of their ends.
	Number int `json:"number"`
	// Name is the call's place in a dump, such as turn-001/critic/call-002.
	Name       string               `json:"name"`
	Agent      string               `json:"agent"`
	Round      int                  `json:"round"`
	Purpose    string               `json:"purpose"`
	Model      string               `json:"model"`
	Characters debugbackend.Chars   `json:"characters"`
	Outcome    debugbackend.Outcome `json:"outcome"`
}

// calls returns the model calls of a turn.
func (t turnRoutes) calls(r *http.Request, at place) ([]debugbackend.Call, error) {
	if _, _, err := existingTurn(r.Context(), t.turns.store, at); err != nil {
		return nil, err
	}
	return inspect.Calls(r.Context(), t.turns.store, at.session, at.turn, t.respond.warn), nil
}

func (t turnRoutes) inputs(w http.ResponseWriter, r *http.Request, at place) error {
	calls, err := t.calls(r, at)
	if err != nil {
		return err
	}
	list := make([]listedCall, len(calls))
	for i, c := range calls {
		key := c.Request.Key
		list[i] = listedCall{i + 1, c.Name(), key.Agent, key.Round, key.Purpose, c.Request.Model, c.Chars, c.Outcome}
	}
	return t.respond.write(w, http.StatusOK, map[string]any{"inputs": list})
}

// requested returns the model calls of a turn, and the index of the one whose number the path has.
func (t turnRoutes) requested(r *http.Request, at place) (calls []debugbackend.Call, i int, err error) {
	if calls, err = t.calls(r, at); err != nil {
		return nil, 0, err
	}
	i, err = indexOf(calls, r.PathValue("k"))
	return calls, i, err
}

// indexOf returns the index of the call with a number in a request.
func indexOf(calls []debugbackend.Call, number string) (int, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(calls) {
		return 0, refusal{status: http.StatusNotFound, code: "call_not_found", message: "the turn has no model call " + shortened(number)}
	}
	return n - 1, nil
}

// input answers with the exact input of a call as JSON, or with ?as=text as text for people.
func (t turnRoutes) input(w http.ResponseWriter, r *http.Request, at place) error {
	calls, i, err := t.requested(r, at)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("as") != "text" {
		return t.respond.write(w, http.StatusOK, calls[i])
	}
	var b strings.Builder
	if err := debugbackend.Print(&b, calls[i:i+1]); err != nil {
		return err
	}
	t.respond.writeText(w, t.respond.redact(b.String()))
	return nil
}

// inputDiff answers with the difference between the input of a call and the input of its agent's call
// before it, or of the call that ?from names.
func (t turnRoutes) inputDiff(w http.ResponseWriter, r *http.Request, at place) error {
	calls, i, err := t.requested(r, at)
	if err != nil {
		return err
	}
	from := before(calls, i)
	if named := r.URL.Query().Get("from"); named != "" {
		if from, err = indexOf(calls, named); err != nil {
			return err
		}
	}
	answer := struct {
		From string `json:"from"` // "" for the agent's first call, which has no difference
		To   string `json:"to"`
		Diff string `json:"diff"`
	}{To: calls[i].Name()}
	if from >= 0 {
		var b strings.Builder
		if err := debugbackend.Diff(&b, calls[from], calls[i]); err != nil {
			return err
		}
		answer.From, answer.Diff = calls[from].Name(), b.String()
	}
	return t.respond.write(w, http.StatusOK, answer)
}

// before returns the index of the last call of the same agent before a call, -1 without one.
func before(calls []debugbackend.Call, i int) int {
	for j := i - 1; j >= 0; j-- {
		if calls[j].Request.Key.Agent == calls[i].Request.Key.Agent {
			return j
		}
	}
	return -1
}

// timeline answers with the turn as a picture.
func (t turnRoutes) timeline(w http.ResponseWriter, r *http.Request, at place) error {
	if _, _, err := existingTurn(r.Context(), t.turns.store, at); err != nil {
		return err
	}
	journal, err := t.turns.store.Journal(r.Context(), at.session, at.turn, 0)
	if err != nil {
		return err
	}
	if len(journal) == 0 {
		return refusal{status: http.StatusNotFound, code: "no_journal", message: "the turn has no journal here: it is of the session that this one was branched off"}
	}
	p, err := picture.New(journal, picture.Source{Session: at.session, Turn: at.turn, Texts: agents.LookupIn(r.Context(), t.turns.store)})
	if err != nil {
		if len(p.Lanes) == 0 {
			return err
		}
		t.respond.warn(err.Error())
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	t.respond.writeBytes(w, []byte(t.respond.redact(picture.SVG(p))))
	return nil
}
