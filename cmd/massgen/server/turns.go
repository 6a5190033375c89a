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
type turnRoutes struct{ *Server }

func (t turnRoutes) route() {
	const turns = "/sessions/{id}/turns"
	t.mux.HandleFunc("POST "+turns, t.answer(t.ask))
	t.mux.HandleFunc("POST /sessions/{id}/continue", t.answer(t.goOn))
	one := func(method, path string, f func(http.ResponseWriter, *http.Request, place) error) {
		t.mux.HandleFunc(method+" "+turns+"/{n}"+path, t.answer(t.at(f)))
	}
	one(http.MethodGet, "", t.result)
	one(http.MethodGet, "/events", t.events)
	one(http.MethodPost, "/cancel", t.cancel)
	one(http.MethodPost, "/pause", t.pause)
	one(http.MethodPost, "/resume", t.resume)
	one(http.MethodPost, "/notes", t.note)
	one(http.MethodGet, "/permissions", t.permissions)
	t.mux.HandleFunc("POST "+turns+"/{n}/permissions", t.needsToken(t.answer(t.at(t.decide))))
	one(http.MethodGet, "/inputs", t.inputs)
	one(http.MethodGet, "/inputs/{k}", t.input)
	one(http.MethodGet, "/inputs/{k}/diff", t.inputDiff)
	one(http.MethodGet, "/timeline.svg", t.timeline)
}

// place is a turn that a request's path names.
type place struct {
	session string
	turn    int
}

// at reads the place that a request's path names.
func (t turnRoutes) at(f func(http.ResponseWriter, *http.Request, place) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := t.sessionID(r.Context(), r.PathValue("id"))
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

// turn returns what the store has of a turn, and its session.
func (t turnRoutes) turn(ctx context.Context, at place) (kept sessions.Turn, of sessions.Session, err error) {
	found, of, err := finder{t.Server}.turn(ctx, at.session, at.turn)
	if err == nil && found == nil {
		err = noTurn(strconv.Itoa(at.turn))
	}
	if err != nil {
		return kept, of, err
	}
	return *found, of, nil
}

// running returns the turn that a request is for, if it runs in this process.
func (t turnRoutes) running(ctx context.Context, at place) (*coordinator.Turn, error) {
	if run := t.runs.find(at.session, at.turn); run != nil && run.turn.Status() == coordinator.Running {
		return run.turn, nil
	}
	if _, _, err := t.turn(ctx, at); err != nil {
		return nil, err
	}
	return nil, refusal{status: http.StatusConflict, code: "not_running", message: "the turn does not run in this server"}
}

func (t turnRoutes) ask(w http.ResponseWriter, r *http.Request) error {
	id, err := t.sessionID(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return t.askIn(w, r, id)
}

// askIn asks the question of a request in a session. The response has the result, or with
// background where the turn is found.
func (t turnRoutes) askIn(w http.ResponseWriter, r *http.Request, session string) error {
	var said struct { // with the names of JSON, which a refusal quotes
		Model      string     `json:"model"`
		Question   string     `json:"question"`
		System     string     `json:"system"`
		Background bool       `json:"background"`
		Files      []filePart `json:"files"`
	}
	if err := t.read(r, &said); err != nil {
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
	run, _, err := t.start(r.Context(), q)
	if err != nil {
		return err
	}
	return t.deliver(w, r, run, said.Background)
}

// modelFor returns the model that a request means: by default that of the session's last question,
// else the first.
func (t turnRoutes) modelFor(ctx context.Context, named, session string) (string, error) {
	if named != "" {
		return named, nil
	}
	kept, err := t.Store.Session(ctx, session)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return "", err
	}
	if last := kept.Metadata[metaModel]; t.models[last] != nil {
		return last, nil
	}
	return t.Models[0].ID, nil
}

// deliver answers with the result of a run, or with where it goes on.
func (t turnRoutes) deliver(w http.ResponseWriter, r *http.Request, run *run, inBackground bool) error {
	at := place{run.turn.Session(), run.turn.Number()}
	if err := t.Store.SetMetadata(r.Context(), at.session, map[string]string{metaModel: run.model}); err != nil {
		t.Log.Warn("the model of a session is not kept", "error", err)
	}
	nameSession(w, run)
	w.Header().Set("Location", at.path())
	if inBackground {
		t.write(w, http.StatusAccepted, map[string]any{
			"session_id": at.session, "turn": at.turn, "status": coordinator.Running, "model": run.model, "url": at.path(),
		})
		return nil
	}
	result, err := run.result(r.Context())
	if err == nil {
		t.write(w, http.StatusOK, result)
	}
	return err
}

// path is where a turn is found on this server.
func (p place) path() string {
	return "/sessions/" + url.PathEscape(p.session) + "/turns/" + strconv.Itoa(p.turn)
}

// goOn goes on with the turn that a lost process has left.
func (t turnRoutes) goOn(w http.ResponseWriter, r *http.Request) error {
	kept, err := t.kept(r)
	if err != nil {
		return err
	}
	var said struct {
		Model      string
		Background bool
	}
	if err := t.read(r, &said); err != nil {
		return err
	}
	left, err := t.Store.Interrupted(r.Context(), kept.ID)
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
	m, err := t.model(name)
	if err != nil {
		return err
	}
	run, err := t.proceed(r.Context(), m, kept.ID, nil, nil) // no client is there to run tools
	if err != nil {
		return err
	}
	if !said.Background {
		run.cancelWith(r.Context())
	}
	return t.deliver(w, r, run, said.Background)
}

func (t turnRoutes) result(w http.ResponseWriter, r *http.Request, at place) error {
	kept, session, err := t.turn(r.Context(), at)
	if err != nil {
		return err
	}
	result, err := inspect.Result(r.Context(), t.Store, session, kept)
	if err != nil {
		t.warn(err.Error())
	}
	t.write(w, http.StatusOK, result)
	return nil
}

// told answers a request that has changed a turn.
func (t turnRoutes) told(w http.ResponseWriter, err error) error {
	if errors.Is(err, driver.ErrOver) {
		return refusal{status: http.StatusConflict, code: "turn_over", message: "the turn is over"}
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (t turnRoutes) cancel(w http.ResponseWriter, r *http.Request, at place) error {
	turn, err := t.running(r.Context(), at)
	if err == nil {
		turn.Cancel()
	}
	return t.told(w, err)
}

func (t turnRoutes) pause(w http.ResponseWriter, r *http.Request, at place) error {
	turn, err := t.running(r.Context(), at)
	if err == nil {
		err = turn.Pause(r.Context())
	}
	return t.told(w, err)
}

func (t turnRoutes) resume(w http.ResponseWriter, r *http.Request, at place) error {
	turn, err := t.running(r.Context(), at)
	if err == nil {
		err = turn.Resume(r.Context())
	}
	return t.told(w, err)
}

func (t turnRoutes) note(w http.ResponseWriter, r *http.Request, at place) error {
	var said struct{ Text string }
	if err := t.read(r, &said); err != nil {
		return err
	}
	if err := coordinator.CheckNote(said.Text); err != nil {
		return badRequest("text", err.Error())
	}
	turn, err := t.running(r.Context(), at)
	if err == nil {
		err = turn.Note(r.Context(), said.Text)
	}
	return t.told(w, err)
}
