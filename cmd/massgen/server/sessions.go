package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/sessions"
)

// sessionRoutes answer requests about whole sessions.
type sessionRoutes struct {
	respond responder
	store   *sessions.Store
	turns   *turns
	ofTurns turnRoutes
}

func (s sessionRoutes) route(mux *http.ServeMux) {
	mux.HandleFunc("GET /sessions", s.respond.answer(s.list))
	mux.HandleFunc("POST /sessions", s.respond.answer(s.begin))
	mux.HandleFunc("GET /sessions/{id}", s.respond.answer(s.show))
	mux.HandleFunc("PATCH /sessions/{id}", s.respond.answer(s.rename))
	mux.HandleFunc("DELETE /sessions/{id}", s.respond.needsToken(s.respond.answer(s.remove)))
	mux.HandleFunc("POST /sessions/{id}/branch", s.respond.answer(s.branch))
	mux.HandleFunc("GET /debug/session/{id}", s.respond.answer(s.debug))
}

// The default and the highest number of sessions, or of hits of a search, on a page.
const (
	pageSize = 50
	mostPage = 500
)

// titled gives hits the titles that lists show. It leaves out hits whose session is gone by now.
func (s sessionRoutes) titled(ctx context.Context, hits []sessions.Hit) ([]sessions.Hit, error) {
	shown := []sessions.Hit{}
	for _, h := range hits {
		kept, err := s.store.Session(ctx, h.Session)
		if errors.Is(err, sessions.ErrNoSession) {
			continue
		}
		if err != nil {
			return nil, err
		}
		of, err := s.listed(ctx, kept)
		if err != nil {
			return nil, err
		}
		h.Title = of.Title
		shown = append(shown, h)
	}
	return shown, nil
}

// listedSession is a session as a list shows it.
type listedSession struct {
	sessions.Session
	// Model is the model that was asked last through these routes, "" if none was.
	Model string `json:"model,omitempty"`
	// State is running, interrupted if a lost process left a turn, or idle.
	State string `json:"state"`
}

// The states of a session.
const (
	stateIdle        = "idle"
	stateRunning     = "running"
	stateInterrupted = "interrupted"
)

// metaModel is the key of a session's metadata that names the model which was asked last. ownMeta
// begins all keys of the program itself.
const (
	metaModel = "massgen:model"
	ownMeta   = "massgen:"
)

func (s sessionRoutes) list(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	from, err := sessions.ParsePlace(r.URL.Query().Get("before"))
	if err != nil {
		return badRequest("before", "before is not what the page before has under next")
	}
	ctx := r.Context()
	first := sessions.Filter{Metadata: ownFilter(ctx), After: from, Limit: limit + 1}
	if words := r.URL.Query().Get("q"); words != "" {
		hits, next, err := page(first, sessions.Hit.Place, func(f sessions.Filter) ([]sessions.Hit, error) {
			return s.store.Search(ctx, words, f)
		}, func(h sessions.Hit) bool { return mayUse(ctx, h.Session) })
		if err != nil {
			return err
		}
		shown, err := s.titled(ctx, hits)
		if err != nil {
			return err
		}
		return s.respond.write(w, http.StatusOK, map[string]any{"hits": shown, "next": next})
	}
	list, next, err := page(first, sessions.Session.Place, func(f sessions.Filter) ([]sessions.Session, error) {
		return s.store.List(ctx, f)
	}, func(kept sessions.Session) bool { return mayUse(ctx, kept.ID) })
	if err != nil {
		return err
	}
	answer := struct {
		Sessions []listedSession `json:"sessions"`
		// Next is the value of before for the next page, "" on the last page.
		Next string `json:"next"`
	}{[]listedSession{}, next}
	for _, kept := range list {
		shown, err := s.listed(ctx, kept)
		if err != nil {
			return err
		}
		answer.Sessions = append(answer.Sessions, shown)
	}
	return s.respond.write(w, http.StatusOK, answer)
}

// page returns the items that a caller may see, one fewer than the filter's limit, and where the next page begins, ""
// after the last one. It reads on while items are left out.
func page[T any](f sessions.Filter, placeOf func(T) sessions.Place, read func(sessions.Filter) ([]T, error), isSeen func(T) bool) (seen []T, next string, err error) {
	most := f.Limit - 1
	for {
		list, err := read(f)
		if err != nil {
			return nil, "", err
		}
		for _, item := range list {
			if !isSeen(item) {
				continue
			}
			if len(seen) == most {
				return seen, placeOf(seen[most-1]).String(), nil
			}
			seen = append(seen, item)
		}
		if len(list) < f.Limit {
			return seen, "", nil
		}
		f.After = placeOf(list[len(list)-1])
	}
}

func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return pageSize, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostPage {
		return 0, badRequest("limit", "limit is a number from 1 to "+strconv.Itoa(mostPage))
	}
	return n, nil
}

func (s sessionRoutes) listed(ctx context.Context, kept sessions.Session) (listedSession, error) {
	shown := listedSession{Session: kept, Model: kept.Metadata[metaModel], State: stateIdle}
	shown.Metadata = maps.Clone(kept.Metadata)
	maps.DeleteFunc(shown.Metadata, func(key, _ string) bool { return strings.HasPrefix(key, ownMeta) })
	if kept.Turns == 0 {
		return shown, nil
	}
	isRunning := false
	if r := s.turns.runs.find(place{kept.ID, kept.Turns}); r != nil && !r.isSettled() {
		shown.State, isRunning = stateRunning, true
	}
	if isRunning && shown.Title != "" {
		return shown, nil
	}
	last, err := s.store.Turns(ctx, kept.ID, 1)
	if err != nil || len(last) == 0 {
		return shown, err
	}
	if shown.Title == "" { // a session gets its title from its first answer
		shown.Title = sessions.TitleOf(last[0].Question)
	}
	if isRunning || last[0].Status != sessions.Running {
		return shown, nil
	}
	left, err := s.store.Interrupted(ctx, kept.ID)
	if shown.State = stateRunning; len(left) > 0 {
		shown.State = stateInterrupted
	}
	return shown, err
}

// namedSession returns the session that a request's path names.
func namedSession(store *sessions.Store, r *http.Request) (sessions.Session, error) {
	id, err := sessionID(r.Context(), r.PathValue("id"))
	if err != nil {
		return sessions.Session{}, err
	}
	return store.Session(r.Context(), id)
}

// shownSession is a session with its turns.
type shownSession struct {
	inspect.Session
	Model string `json:"model,omitempty"`
	State string `json:"state"`
	// Facts are the remembered facts of the session's user, nil unless the client asks for them.
	Facts []sessions.Fact `json:"facts,omitempty"`
}

func (s sessionRoutes) look(r *http.Request) (shownSession, error) {
	kept, err := namedSession(s.store, r)
	if err != nil {
		return shownSession{}, err
	}
	listed, err := s.listed(r.Context(), kept)
	if err != nil {
		return shownSession{}, err
	}
	read, err := inspect.Read(r.Context(), s.store, kept, s.respond.warn)
	if err != nil {
		return shownSession{}, err
	}
	if read.Interrupted != nil {
		if read.Unfinished, err = inspect.Unfinished(r.Context(), s.store, kept.ID, read.Left); err != nil {
			s.respond.warn(err.Error())
		}
	}
	read.Metadata, read.Title = listed.Metadata, listed.Title
	return shownSession{Session: read, Model: listed.Model, State: listed.State}, nil
}

func (s sessionRoutes) show(w http.ResponseWriter, r *http.Request) error {
	shown, err := s.look(r)
	if err != nil {
		return err
	}
	return s.respond.write(w, http.StatusOK, shown)
}

// debug answers with everything that a session's next input depends on (seed 002, check session
// state). The query names the model whose agents it shows; the default is the model asked last.
func (s sessionRoutes) debug(w http.ResponseWriter, r *http.Request) error {
	shown, err := s.look(r)
	if err != nil {
		return err
	}
	facts, err := s.store.Facts(r.Context(), sessions.ParseID(shown.ID)[sessions.MetaUser])
	if err != nil {
		return err
	}
	shown.Facts = append([]sessions.Fact{}, facts...)
	model := r.URL.Query().Get("model")
	if model == "" && s.turns.models.byID[shown.Model] != nil {
		model = shown.Model
	}
	if model != "" {
		m, err := s.turns.models.find(model)
		if err != nil {
			return err
		}
		panel, err := m.open(r.Context())
		if err != nil {
			return err
		}
		previews, err := panel.Preview(r.Context(), shown.ID, shown.Link)
		if err != nil {
			return err
		}
		shown.SetAgents(previews)
	}
	return s.respond.write(w, http.StatusOK, struct {
		shownSession
		Facts []sessions.Fact `json:"facts"`
	}{shown, shown.Facts})
}

func (s sessionRoutes) rename(w http.ResponseWriter, r *http.Request) error {
	id, err := sessionID(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	var said struct{ Title *string }
	if err := readBody(r, &said); err != nil {
		return err
	}
	if said.Title == nil {
		return badRequest("title", "title is missing: nothing else can be changed")
	}
	if strings.TrimSpace(*said.Title) == "" {
		return badRequest("title", "title is empty, and lists show a session by it")
	}
	if err := sessions.CheckTitle(*said.Title); err != nil {
		return badRequest("title", err.Error())
	}
	if err := s.store.SetTitle(r.Context(), id, s.respond.redact(*said.Title)); err != nil {
		return err
	}
	return s.writeSession(w, r, id, http.StatusOK)
}

func (s sessionRoutes) writeSession(w http.ResponseWriter, r *http.Request, id string, status int) error {
	kept, err := s.store.Session(r.Context(), id)
	if err != nil {
		return err
	}
	shown, err := s.listed(r.Context(), kept)
	if err != nil {
		return err
	}
	return s.respond.write(w, status, shown)
}

func (s sessionRoutes) remove(w http.ResponseWriter, r *http.Request) error {
	id, err := sessionID(r.Context(), r.PathValue("id"))
	if err == nil {
		err = s.store.Delete(r.Context(), id)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s sessionRoutes) branch(w http.ResponseWriter, r *http.Request) error {
	kept, err := namedSession(s.store, r)
	if err != nil {
		return err
	}
	said := struct {
		Turn int
		ID   string
	}{Turn: kept.Turns, ID: newID(r.Context())}
	if err := readBody(r, &said); err != nil {
		return err
	}
	if said.ID, err = sessionID(r.Context(), said.ID); err != nil {
		return err
	}
	turns, err := s.store.Turns(r.Context(), kept.ID, 0)
	if err != nil {
		return err
	}
	isOver := func(t sessions.Turn) bool { return t.Number == said.Turn && t.Status != sessions.Running }
	if !slices.ContainsFunc(turns, isOver) {
		return badRequest("turn", "turn is not the number of a turn that is over")
	}
	made, err := s.store.Branch(r.Context(), kept.ID, said.Turn, said.ID)
	if errors.Is(err, sessions.ErrExists) {
		return refusal{status: http.StatusConflict, param: "id", code: "session_exists", message: "there is a session with this id already"}
	}
	if err != nil {
		return err
	}
	return s.writeSession(w, r, made.ID, http.StatusCreated)
}

// begin asks the first question of a session whose id the server chooses.
func (s sessionRoutes) begin(w http.ResponseWriter, r *http.Request) error {
	return s.ofTurns.askIn(w, r, newID(r.Context()))
}
