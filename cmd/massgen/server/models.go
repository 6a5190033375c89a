package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/configs"
)

// model is a Model with its panel, once that is open.
type model struct {
	Model
	mu    sync.Mutex
	panel *massgen.Panel
}

// with has a turn of a session begun by a panel, which is the session's own if the agents have
// folders.
func (m *model) with(ctx context.Context, session string, begin func(*massgen.Panel) (*run, error)) (*run, error) {
	if m.OpenFor == nil {
		panel, err := m.open(ctx)
		if err != nil {
			return nil, err
		}
		return begin(panel)
	}
	panel, err := m.OpenFor(context.WithoutCancel(ctx), session)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", m.ID, err)
	}
	r, err := begin(panel)
	if err != nil {
		return nil, errors.Join(err, panel.Close())
	}
	r.own = panel
	return r, nil
}

// open returns the model's panel, to look at: questions go by way of with. One that could not be
// opened is tried again by the next request.
func (m *model) open(ctx context.Context) (*massgen.Panel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panel == nil {
		panel, err := m.Open(context.WithoutCancel(ctx))
		if err != nil {
			return nil, fmt.Errorf("open model %s: %w", m.ID, err)
		}
		m.panel = panel
	}
	return m.panel, nil
}

func (m *model) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panel == nil {
		return nil
	}
	return m.panel.Close()
}

// modelJSON is a model as OpenAI's API lists it.
type modelJSON struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (m Model) json() modelJSON {
	return modelJSON{ID: m.ID, Object: "model", Created: m.Created.Unix(), OwnedBy: "massgen"}
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	list := make([]modelJSON, len(s.Models))
	for i, m := range s.Models {
		list[i] = m.json()
	}
	s.write(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) showModel(w http.ResponseWriter, r *http.Request) {
	m, err := s.model(r.PathValue("id"))
	if err != nil {
		s.refuse(w, err)
		return
	}
	s.write(w, http.StatusOK, m.json())
}

// model returns the model of a name.
func (s *Server) model(id string) (*model, error) {
	if m := s.models[id]; m != nil {
		return m, nil
	}
	return nil, refusal{
		status: http.StatusNotFound, param: "model", code: "model_not_found", message: noModel(s.Models, "model", id, "GET /v1/models"),
	}
}

// noModel says that there is no model of a name, and where one finds those that there are.
func noModel(models []Model, thing, id, list string) string {
	ids := make([]string, len(models))
	for i, m := range models {
		ids[i] = m.ID
	}
	cure := list + " lists them"
	if near, ok := configs.Nearest(id, ids); ok {
		cure = fmt.Sprintf("did you mean %s? %s", near, cure)
	}
	return fmt.Sprintf("there is no %s %q: %s", thing, shortened(id), cure)
}
