package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/sessions"
)

// turnRoutes answer requests about the turns of a session.
type turnRoutes struct {
	respond responder
	turns   *turns
	asked   *Permissions
}

func (t turnRoutes) route(mux *http.ServeMux) {
	const all = "/sessions/{id}/turns"
	mux.HandleFunc("POST "+all, t.respond.answer(t.ask))
	mux.HandleFunc("POST /sessions/{id}/continue", t.respond.answer(t.goOn))
	one := func(method, path string, f func(http.ResponseWriter, *http.Request, place) error) {
		mux.HandleFunc(method+" "+all+"/{n}"+path, t.respond.answer(at(f)))
	}
	one(http.MethodGet, "", t.result)
	one(http.MethodGet, "/events", t.events)
	one(http.MethodGet, "/state", t.state)
	one(http.MethodPost, "/cancel", t.change(func(turn *coordinator.Turn, _ context.Context) error {
		turn.Cancel()
		return nil
	}))
	one(http.MethodPost, "/pause", t.change((*coordinator.Turn).Pause))
	one(http.MethodPost, "/resume", t.change((*coordinator.Turn).Resume))
	one(http.MethodPost, "/notes", t.note)
	one(http.MethodGet, "/permissions", t.permissions)
	mux.HandleFunc("POST "+all+"/{n}/permissions", t.respond.needsToken(t.respond.answer(at(t.decide))))
	one(http.MethodGet, "/inputs", t.inputs)
	one(http.MethodGet, "/inputs/{k}", t.input)
	one(http.MethodGet, "/inputs/{k}/diff", t.inputDiff)
	one(http.MethodGet, "/timeline.svg", t.timeline)
}

// at returns a handler that calls f with the place that a request's path names.
func at(f func(http.ResponseWriter, *http.Request, place) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := sessionID(r.Context(), r.PathValue("id"))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(r.PathValue("n"))
		if err != nil || n < 1 {
			return noTurn(r.PathValue("n"))
		}
		return f(w, r, place{id, n})
	}
}

func noTurn(named string) error {
	return refusal{status: http.StatusNotFound, param: "turn", code: "turn_not_found", message: "the session has no turn " + shortened(named)}
}

// existingTurn returns a stored turn and its session. The error is a refusal if there is no such turn.
func existingTurn(ctx context.Context, store *sessions.Store, at place) (kept sessions.Turn, of sessions.Session, err error) {
	found, of, err := storedTurn(ctx, store, at)
	if err == nil && found == nil {
		err = noTurn(strconv.Itoa(at.turn))
	}
	if err != nil {
		return kept, of, err
	}
	return *found, of, nil
}

// running returns a turn that runs in this process, or that workers play.
func (t turnRoutes) running(ctx context.Context, at place) (*coordinator.Turn, error) {
	if run := t.turns.runs.find(at); run != nil && run.turn.Status() == coordinator.Running {
		return run.turn, nil
	}
	kept, _, err := existingTurn(ctx, t.turns.store, at)
	if err != nil {
		return nil, err
	}
	if t.turns.playedElsewhere && kept.Status == sessions.Running { // another server has begun it
		model, err := t.modelFor(ctx, "", at.session)
		if err != nil {
			return nil, err
		}
		run, err := t.turns.find(ctx, turnPlace{at, model})
		if err != nil {
			return nil, err
		}
		if run != nil && run.turn != nil && run.turn.Status() == coordinator.Running {
			return run.turn, nil
		}
	}
	return nil, refusal{status: http.StatusConflict, code: "not_running", message: "the turn does not run in this server"}
}

func (t turnRoutes) ask(w http.ResponseWriter, r *http.Request) error {
	id, err := sessionID(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return t.askIn(w, r, id)
}

// askIn asks the question of a request in a session. The response has the result, or the turn's path
// if the turn goes on in the background.
func (t turnRoutes) askIn(w http.ResponseWriter, r *http.Request, session string) error {
	var said struct { // a refusal quotes the names of JSON
		Model      string     `json:"model"`
		Question   string     `json:"question"`
		System     string     `json:"system"`
		Background bool       `json:"background"`
		Files      []filePart `json:"files"`
	}
	if err := readBody(r, &said); err != nil {
		return err
	}
	q := request{model: said.Model, session: session, background: said.Background}
	if said.System != "" {
		q.messages = append(q.messages, message{role: roleSystem, text: said.System})
	}
	files, err := filesOf(said.Files)
	if err != nil {
		return err
	}
	q.messages = append(q.messages, message{role: roleUser, text: said.Question, files: files})
	if q.model, err = t.modelFor(r.Context(), q.model, session); err != nil {
		return err
	}
	run, _, err := t.turns.start(r.Context(), q)
	if err != nil {
		return err
	}
	return t.deliver(w, r, run, said.Background)
}

// modelFor returns the model of a request: the named one, else the model of the session's last
// question, else the first.
func (t turnRoutes) modelFor(ctx context.Context, named, session string) (string, error) {
	if named != "" {
		return named, nil
	}
	kept, err := t.turns.store.Session(ctx, session)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return "", err
	}
	if last := kept.Metadata[metaModel]; t.turns.models.byID[last] != nil {
		return last, nil
	}
	return t.turns.models.list[0].ID, nil
}

// deliver answers with the result of a run, or with its path if it goes on in the background.
func (t turnRoutes) deliver(w http.ResponseWriter, r *http.Request, run *run, inBackground bool) error {
	at := run.place()
	if err := t.turns.store.SetMetadata(r.Context(), at.session, map[string]string{metaModel: run.model}); err != nil {
		t.respond.log.Warn("the model of a session is not kept", "error", err)
	}
	nameSession(w, run)
	w.Header().Set("Location", at.path())
	if inBackground {
		return t.respond.write(w, http.StatusAccepted, map[string]any{
			"session_id": at.session, "turn": at.turn, "status": coordinator.Running, "model": run.model, "url": at.path(),
		})
	}
	returnBody(r.Context())
	result, err := run.result(r.Context())
	if err != nil {
		return err
	}
	return t.respond.write(w, http.StatusOK, result)
}

// path returns the path of a turn on this server.
func (p place) path() string {
	return "/sessions/" + url.PathEscape(p.session) + "/turns/" + strconv.Itoa(p.turn)
}

// goOn goes on with the turn that a lost process left.
func (t turnRoutes) goOn(w http.ResponseWriter, r *http.Request) error {
	kept, err := namedSession(t.turns.store, r)
	if err != nil {
		return err
	}
	var said struct {
		Model      string
		Background bool
	}
	if err := readBody(r, &said); err != nil {
		return err
	}
	left, err := t.turns.store.Interrupted(r.Context(), kept.ID)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return refusal{status: http.StatusConflict, code: "nothing_interrupted", message: "the session has no turn that a lost process has left"}
	}
	name, err := t.modelFor(r.Context(), said.Model, kept.ID)
	if err != nil {
		return err
	}
	m, err := t.turns.models.find(name)
	if err != nil {
		return err
	}
	run, err := t.turns.proceed(r.Context(), m, kept.ID, nil, toolReply{}) // no client is there to run tools
	if err != nil {
		return err
	}
	if !said.Background {
		run.cancelWith(r.Context())
	}
	return t.deliver(w, r, run, said.Background)
}

func (t turnRoutes) result(w http.ResponseWriter, r *http.Request, at place) error {
	kept, session, err := existingTurn(r.Context(), t.turns.store, at)
	if err != nil {
		return err
	}
	result, err := inspect.Result(r.Context(), t.turns.store, session, kept)
	if err != nil {
		t.respond.warn(err.Error())
	}
	return t.respond.write(w, http.StatusOK, result)
}

// change returns a handler that calls do with a running turn.
func (t turnRoutes) change(do func(*coordinator.Turn, context.Context) error) func(http.ResponseWriter, *http.Request, place) error {
	return func(w http.ResponseWriter, r *http.Request, at place) error {
		turn, err := t.running(r.Context(), at)
		if err == nil {
			err = do(turn, r.Context())
		}
		if errors.Is(err, driver.ErrOver) {
			return refusal{status: http.StatusConflict, code: "turn_over", message: "the turn is over"}
		}
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	}
}

func (t turnRoutes) note(w http.ResponseWriter, r *http.Request, at place) error {
	var said struct{ Text string }
	if err := readBody(r, &said); err != nil {
		return err
	}
	if err := coordinator.CheckNote(said.Text); err != nil {
		return badRequest("text", err.Error())
	}
	return t.change(func(turn *coordinator.Turn, ctx context.Context) error { return turn.Note(ctx, said.Text) })(w, r, at)
}
