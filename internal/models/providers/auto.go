package providers

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/configs"
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
	err      error // why models is empty
}

// choose decides type auto: the providers with a key, else the first model server on this
// machine that has a model, else the demo.
func (r *Resolver) choose(ctx context.Context) []choice {
	if keyed := r.chooseKeyed(); len(keyed) > 0 {
		return keyed
	}
	return []choice{chooseServer(r.askLocal(ctx))}
}

// chooseKeyed chooses the providers with a key, in the order of the table. Of several hosts
// of one model only the first counts: it is different models that make different mistakes.
func (r *Resolver) chooseKeyed() (list []choice) {
	seen := map[string]bool{}
	for _, p := range providers {
		name := path.Base(p.model)
		if p.model == "" || seen[name] {
			continue
		}
		if _, variable := r.keyOf(p); variable != "" {
			seen[name] = true
			list = append(list, choice{provider: p, model: p.model, why: variable + " is set"})
		}
	}
	return list
}

// choices returns what type auto chose. It chooses once, when the first agent asks.
func (r *Resolver) choices(ctx context.Context) []choice {
	if r.auto == nil {
		r.auto = r.choose(ctx)
		for _, c := range r.auto {
			r.Log.Debug("type auto is decided", "type", c.provider.name, "model", c.model, "base_url", shownURL(c.baseURL), "why", c.why)
		}
	}
	return r.auto
}

// decided is what a backend of type auto comes to, where nothing but its parameters is given:
// of the models that take these, one that the fewest agents have. The others stand in for it.
// isAgent reports whether this backend is an agent's.
func (r *Resolver) decided(ctx context.Context, b configs.Backend, isAgent bool) configs.Backend {
	var fit []configs.Backend
	for _, c := range r.choices(ctx) {
		one := b
		one.Type, one.BaseURL, one.Model, one.Fallback = c.provider.name, c.baseURL, c.model, nil
		at := connection{provider: one.Type, baseURL: cmp.Or(one.BaseURL, r.address(c.provider)), model: one.Model, api: b.API}
		if checkParams(c.provider, at, one) == nil && r.checkPrice(one.Type, one.Model) == nil {
			fit = append(fit, one)
		}
	}
	if len(fit) == 0 {
		return b // its error names what no model takes
	}
	first := 0
	if isAgent {
		for i, one := range fit {
			if r.seats[one.Type] < r.seats[fit[first].Type] {
				first = i
			}
		}
		r.seats[fit[first].Type]++
	}
	out := fit[first]
	out.Fallback = b.Fallback
	if len(b.Fallback) == 0 {
		out.Fallback = slices.Concat(fit[first+1:], fit[:first])
	}
	return out
}

// isOpen reports whether type auto chooses the model of a backend. A backend with headers or an
// extra body was written for one service, and they may hold a secret.
func isOpen(b configs.Backend) bool {
	return (b.Type == Auto || b.Type == "") && b.Model == "" && b.BaseURL == "" && b.APIKey == "" &&
		len(b.Params.Headers) == 0 && len(b.Params.ExtraBody) == 0
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
	if r.World.Assume != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime+r.World.Slack)
	defer cancel()
	var asked []*server
	var group sync.WaitGroup
	for _, p := range providers {
		if !p.local || r.World.LocalServers != nil && r.World.LocalServers[p.name] == "" && r.World.address(p) == "" {
			continue
		}
		baseURL := r.address(p)
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

// listModels returns the chat models that a server lists. It fails if the list is massgen's
// own: massgen would ask itself.
func (r *Resolver) listModels(ctx context.Context, c connection) (ids []string, err error) {
	if r.World.Assume != nil {
		return []string{"the first model"}, nil
	}
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
		if isName(m.ID) && !strings.Contains(strings.ToLower(m.ID), "embed") {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}

func isOwn(m openai.Model) bool {
	return m.OwnedBy == "massgen" || m.ID == "massgen" || strings.HasPrefix(m.ID, "massgen/")
}
