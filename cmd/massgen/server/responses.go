package server

import (
	"net/http"
	"strconv"

	"github.com/massgen/massgen/sessions"
)

// responseRoutes answer requests of OpenAI's Responses API. A response is a turn, and its id names the
// turn.
type responseRoutes struct {
	respond responder
	starts  *starts
	turns   *turns
}

func (a responseRoutes) route(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/responses", a.respond.answer(a.create))
	mux.HandleFunc("GET /v1/responses/{id}", a.respond.answer(a.show))
	mux.HandleFunc("POST /v1/responses/{id}/cancel", a.respond.answer(a.cancel))
	mux.HandleFunc("DELETE /v1/responses/{id}", a.respond.needsToken(a.respond.answer(a.remove)))
}

// create answers POST /v1/responses.
func (a responseRoutes) create(w http.ResponseWriter, r *http.Request) error {
	var q responseRequest
	asked, run, v, err := a.starts.read(r, &q)
	if err != nil {
		return err
	}
	nameSession(w, run)
	response := newResponse(a.respond, run, v, *asked.said)
	response.instructions, response.tools = q.Instructions, asked.tools
	switch {
	case q.Stream:
		response.stream(r.Context(), w, -1)
	case q.Background:
		return response.show(r.Context(), w)
	default:
		return response.whole(r.Context(), w)
	}
	return nil
}

// find returns the response that a request names.
func (a responseRoutes) find(r *http.Request) (*response, turnPlace, error) {
	missing := refusal{status: http.StatusNotFound, param: "response_id", code: "response_not_found", message: "there is no response with this id"}
	p, isID := readResponseID(r.PathValue("id"))
	if !isID {
		return nil, p, missing
	}
	said, err := a.turns.askings.said(r.Context(), p.place)
	if err != nil {
		return nil, p, err
	}
	if said.IsDeleted {
		return nil, p, missing
	}
	run, err := a.turns.find(r.Context(), p)
	if err != nil {
		return nil, p, err
	}
	if run == nil {
		return nil, p, missing
	}
	return newResponse(a.respond, run, run.newView(a.respond.redact), said), p, nil
}

// show answers GET /v1/responses/{id} with the response as it is now, or with its events.
func (a responseRoutes) show(w http.ResponseWriter, r *http.Request) error {
	response, _, err := a.find(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	if query.Get("stream") != "true" {
		return response.show(r.Context(), w)
	}
	if response.run.turn == nil && response.isRunning() { // its events are in the other process
		return sessions.ErrBusy
	}
	after := -1
	if text := query.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil {
			return badRequest("starting_after", "starting_after is no number")
		}
	}
	response.stream(r.Context(), w, after)
	return nil
}

// cancel answers POST /v1/responses/{id}/cancel, when the turn has ended.
func (a responseRoutes) cancel(w http.ResponseWriter, r *http.Request) error {
	response, _, err := a.find(r)
	if err != nil {
		return err
	}
	if turn := response.run.turn; turn != nil {
		turn.Cancel()
		response.run.wait(r.Context())
	}
	return response.show(r.Context(), w)
}

// remove answers DELETE /v1/responses/{id}. The turn stays in its session until the session is deleted,
// because later turns build on it.
func (a responseRoutes) remove(w http.ResponseWriter, r *http.Request) error {
	response, p, err := a.find(r)
	if err == nil && response.isRunning() {
		err = sessions.ErrBusy
	}
	if err == nil {
		said := response.said
		said.IsDeleted = true
		err = a.turns.askings.keep(r.Context(), p.place, said, nil)
	}
	if err != nil {
		return err
	}
	return a.respond.write(w, http.StatusOK, map[string]any{"id": r.PathValue("id"), "object": "response", "deleted": true})
}
