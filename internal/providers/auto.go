package providers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/backends/openai"
)

// probeTime is how long a model server on this machine may take to list its
// models; a slower one is taken for absent.
const probeTime = 200 * time.Millisecond

// listTime is how long a server that the configuration names may take.
const listTime = 5 * time.Second

// server is a model server on this machine.
type server struct {
	provider provider
	baseURL  string
	models   []string
	err      error // why it has listed none
}

// choose decides type auto: the first provider with a key, else the first model
// server on this machine that has a model, else the demo.
func (r *Resolver) choose(ctx context.Context) choice {
	if c, ok := r.chooseKeyed(); ok {
		return c
	}
	return chooseServer(r.askLocal(ctx))
}

// chooseKeyed chooses the first provider with a key.
func (r *Resolver) chooseKeyed() (choice, bool) {
	for _, p := range providers() {
		if p.model == "" {
			continue
		}
		if _, variable := r.keyOf(p); variable != "" {
			return choice{provider: p, model: p.model, why: variable + " is set"}, true
		}
	}
	return choice{}, false
}

// chooseServer chooses the first model server that has a model, else the demo.
func chooseServer(asked []server) choice {
	for _, s := range asked {
		if len(s.models) == 0 {
			continue
		}
		return choice{provider: s.provider, model: s.models[0], baseURL: s.baseURL, why: s.provider.title + " answers at " + shownURL(s.baseURL)}
	}
	demo, _ := findProvider(Demo)
	return choice{provider: demo, model: demo.model, why: "there is no key and no model server"}
}

// askLocal asks all model servers of this machine at once for their models.
func (r *Resolver) askLocal(ctx context.Context) []server {
	ctx, cancel := context.WithTimeout(ctx, probeTime+r.World.Slack)
	defer cancel()
	var asked []*server
	var group sync.WaitGroup
	for _, p := range providers() {
		baseURL := p.baseURL
		if r.World.LocalServers != nil {
			baseURL = r.World.LocalServers[p.name]
		}
		if !p.local || baseURL == "" {
			continue
		}
		s := &server{provider: p, baseURL: baseURL}
		asked = append(asked, s)
		group.Go(func() {
			s.models, s.err = r.listModels(ctx, connection{provider: p.name, baseURL: s.baseURL})
			if s.err != nil {
				r.Log.Debug("no model server", "type", p.name, "base_url", shownURL(s.baseURL), "why", s.err)
			}
		})
	}
	group.Wait()
	answered := make([]server, len(asked))
	for i, s := range asked {
		answered[i] = *s
	}
	return answered
}

// listModels returns the chat models that a server lists; none when the list is
// massgen's own, which would be asking oneself.
func (r *Resolver) listModels(ctx context.Context, c connection) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTime+r.World.Slack)
	defer cancel()
	b, err := newOpenAI(c, openai.Compatible())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	models, err := b.ListModels(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(models, isOwn) {
		return nil, errors.New("the server is massgen itself")
	}
	for _, m := range models {
		if !strings.Contains(strings.ToLower(m.ID), "embed") {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}

func isOwn(m openai.Model) bool {
	return m.OwnedBy == "massgen" || m.ID == "massgen" || strings.HasPrefix(m.ID, "massgen/")
}
