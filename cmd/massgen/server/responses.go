package server

import (
	"net/http"
	"strconv"

	"github.com/massgen/massgen/sessions"
)

// responses are the routes of OpenAI's Responses API. A response is a turn, whose id says where the
// turn is kept.
type responses struct{ server *Server }

func (a responses) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/responses", a.create)
	mux.HandleFunc("GET /v1/responses/{id}", a.show)
	mux.HandleFunc("POST /v1/responses/{id}/cancel", a.cancel)
	mux.HandleFunc("DELETE /v1/responses/{id}", a.server.needsToken(a.remove))
}

// create answers POST /v1/responses.
func (a responses) create(w http.ResponseWriter, r *http.Request) {
	response, q, err := a.begin(r)
	if err != nil {
		a.server.refuse(w, err)
		return
	}
	nameSession(w, response.run)
	switch {
	case q.Stream:
		response.stream(r.Context(), w, -1)
	case q.Background:
		response.show(r.Context(), w)
	default:
		response.whole(r.Context(), w)
	}
}

// begin begins the turn of a request, or goes on with it.
func (a responses) begin(r *http.Request) (*response, responseRequest, error) {
	var q responseRequest
	once, err := onceOf(r)
	if err != nil {
		return nil, q, err
	}
	if err := a.server.read(r, &q); err != nil {
		return nil, q, err
	}
	asked, err := q.request()
	if err != nil {
		return nil, q, err
	}
	asked.keyed(once)
	run, v, err := a.server.askings.start(r.Context(), asked)
	if err != nil {
		return nil, q, err
	}
	response := newResponse(a.server, run, v, *asked.said)
	response.instructions, response.tools = q.Instructions, asked.tools
	return response, q, nil
}

// find returns the response that a request names.
func (a responses) find(r *http.Request) (*response, turnPlace, error) {
	missing := refusal{status: http.StatusNotFound, param: "response_id", code: "response_not_found", message: "there is no response with this id"}
	p, isID := readResponseID(r.PathValue("id"))
	if !isID {
		return nil, p, missing
	}
	said, err := a.server.askings.said(r.Context(), p)
	if err != nil {
		return nil, p, err
	}
	if said.IsDeleted {
		return nil, p, missing
	}
	run, err := finder(a).find(r.Context(), p)
	if err != nil {
		return nil, p, err
	}
	if run == nil {
		return nil, p, missing
	}
	return newResponse(a.server, run, run.newView(), said), p, nil
}

// show answers GET /v1/responses/{id}: with the response as it is now, or with its events.
func (a responses) show(w http.ResponseWriter, r *http.Request) {
	response, _, err := a.find(r)
	if err != nil {
		a.server.refuse(w, err)
		return
	}
	query := r.URL.Query()
	if query.Get("stream") != "true" {
		response.show(r.Context(), w)
		return
	}
	if response.run.turn == nil && response.isRunning() { // its events are in the other process
		a.server.refuse(w, sessions.ErrBusy)
		return
	}
	after := -1
	if text := query.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil {
			a.server.refuse(w, badRequest("starting_after", "starting_after is no number"))
			return
		}
	}
	response.stream(r.Context(), w, after)
}

// cancel answers POST /v1/responses/{id}/cancel, when the turn has ended.
func (a responses) cancel(w http.ResponseWriter, r *http.Request) {
	response, _, err := a.find(r)
	if err != nil {
		a.server.refuse(w, err)
		return
	}
	if turn := response.run.turn; turn != nil {
		turn.Cancel()
		response.run.wait(r.Context())
	}
	response.show(r.Context(), w)
}

// remove answers DELETE /v1/responses/{id}. The turn stays in its session, since later turns build on
// it, and goes with the session.
func (a responses) remove(w http.ResponseWriter, r *http.Request) {
	response, p, err := a.find(r)
	if err == nil && response.isRunning() {
		err = sessions.ErrBusy
	}
	if err == nil {
		said := response.said
		said.IsDeleted = true
		err = a.server.askings.keep(r.Context(), p.session, p.number, said, nil)
	}
	if err != nil {
		a.server.refuse(w, err)
		return
	}
	a.server.write(w, http.StatusOK, map[string]any{"id": r.PathValue("id"), "object": "response", "deleted": true})
}
