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

// model is a Model and its panel once that is open.
type model struct {
	Model
	mu    sync.Mutex
	panel *massgen.Panel
}

// with calls begin with the panel for a turn of a session. The panel belongs to the session alone if
// the agents have folders.
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

// open returns the model's panel for previews. Questions use with. If the panel cannot be opened, the
// next request tries again.
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

// models are the models that a request can name.
type models struct {
	list []*model // in the order in which they are shown
	byID map[string]*model
}

func newModels(list []Model) *models {
	m := &models{byID: map[string]*model{}}
	for _, of := range list {
		m.list = append(m.list, &model{Model: of})
		m.byID[of.ID] = m.list[len(m.list)-1]
	}
	return m
}

// find returns the model of a name.
func (m *models) find(id string) (*model, error) {
	if found := m.byID[id]; found != nil {
		return found, nil
	}
	return nil, refusal{status: http.StatusNotFound, param: "model", code: "model_not_found", message: m.missing("model", id, "GET /v1/models")}
}

// missing is the error that no model has a name. list is the place where clients find the names.
func (m *models) missing(thing, id, list string) string {
	ids := make([]string, len(m.list))
	for i, of := range m.list {
		ids[i] = of.ID
	}
	cure := list + " lists them"
	if near, ok := configs.Nearest(id, ids); ok {
		cure = fmt.Sprintf("did you mean %s? %s", near, cure)
	}
	return fmt.Sprintf("there is no %s %q: %s", thing, shortened(id), cure)
}

// close closes the panels.
func (m *models) close() error {
	var all []error
	for _, of := range m.list {
		all = append(all, of.close())
	}
	return errors.Join(all...)
}

// modelRoutes answer requests about the models.
type modelRoutes struct {
	respond responder
	models  *models
}

func (m modelRoutes) list(w http.ResponseWriter, _ *http.Request) error {
	list := make([]modelJSON, len(m.models.list))
	for i, of := range m.models.list {
		list[i] = of.json()
	}
	return m.respond.write(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (m modelRoutes) show(w http.ResponseWriter, r *http.Request) error {
	found, err := m.models.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	return m.respond.write(w, http.StatusOK, found.json())
}
