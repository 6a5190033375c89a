package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/fallback"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
)

// resolver turns what a configuration says of a model into a backend that calls
// it. Agents with the same service, key and model share one. One goroutine uses
// it.
type resolver struct {
	env Env
	// lookup knows the environment and .env.
	lookup  func(string) (string, bool)
	log     *slog.Logger
	secrets *configs.Secrets
	// ofDotEnv has the values that the config took from the file .env.
	ofDotEnv map[string]bool

	calling
	open     map[connection]backends.Backend
	adapters []backends.Backend
	auto     *choice // made once, when the first agent asks for it
}

// resolver returns one for the agents of a config. With record, every attempt is
// kept.
func (p *program) resolver(lookup lookupFunc, config *configs.Config, record *debugbackend.Recorder) (*resolver, error) {
	calling, err := newCalling(config, record)
	return &resolver{
		env: p.env, ofDotEnv: p.ofDotEnv, lookup: lookup, log: p.log, secrets: p.console.secrets,
		calling: calling, open: map[connection]backends.Backend{},
	}, err
}

// choice is what type auto came to.
type choice struct {
	provider provider
	model    string
	baseURL  string
	// why is for people.
	why string
}

// reached is a backend, with what to call the model and the place.
type reached struct {
	backend  backends.Backend
	provider provider
	model    string
	// window is the smallest context window, in tokens, of the model and of those that
	// stand in for it, maxOutput the smallest most of what they write; 0 if none is known.
	window, maxOutput int
}

// model finds the provider, the address, the key and the model of a backend.
func (r *resolver) model(ctx context.Context, b configs.Backend) (reached, error) {
	p, err := r.provider(ctx, &b)
	if err != nil {
		return reached{}, err
	}
	own := r.settings[p.name]
	c := connection{
		provider: p.name, baseURL: b.BaseURL, apiVersion: b.APIVersion, model: b.Model,
		firstByteTimeout: own.FirstByteTimeout, idleTimeout: own.IdleTimeout,
	}
	if c.baseURL == "" {
		c.baseURL = r.address(p, b)
	}
	if c.baseURL == "" {
		return reached{}, fmt.Errorf("type %s has no address: set base_url%s", p.name, orVariable(p.urlVar))
	}
	r.secrets.AddURL(c.baseURL)
	var keyVar string
	if c.key, keyVar, err = r.key(p, b); err != nil {
		return reached{}, err
	}
	if c.model == "" {
		if c.model, err = r.defaultModel(ctx, p, c); err != nil {
			return reached{}, err
		}
	}
	if err := checkParams(p, c, b); err != nil {
		return reached{}, err
	}
	if err := r.checkPrice(p.name, c.model); err != nil {
		return reached{}, err
	}
	backend, err := r.connect(p, c, keyVar)
	known, _ := r.prices.Lookup(p.name, c.model) // of others the sizes are 0
	return reached{backend, p, c.model, known.ContextWindow, known.MaxOutput}, err
}

// resolve makes an agent's backend: its model, with those that stand in for it. Its
// errors are one for each model at fault.
func (r *resolver) resolve(ctx context.Context, b configs.Backend) (reached, []error) {
	var faults []error
	m, err := r.model(ctx, b)
	if err != nil {
		faults = append(faults, err)
	}
	var others []fallback.Choice
	for i, f := range b.Fallback {
		other, err := r.model(ctx, standIn(b, f))
		if err != nil {
			faults = append(faults, fmt.Errorf("fallback %d: %w", i+1, err))
			continue
		}
		others = append(others, fallback.Choice{
			Provider: other.provider.name, Backend: other.backend, Model: other.model,
			Headers: f.Params.Headers, ExtraBody: f.Params.ExtraBody,
		})
		m.window, m.maxOutput = smaller(m.window, other.window), smaller(m.maxOutput, other.maxOutput)
	}
	switch {
	case len(faults) > 0:
		return reached{}, faults
	case len(others) > 0:
		m.backend = fallback.New(m.provider.name, m.backend, others...)
	}
	return m, nil
}

// smaller is the smaller of two sizes, of which 0 is not known.
func smaller(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func orVariable(name string) string {
	if name == "" {
		return ""
	}
	return ", or " + name + " in the environment"
}

// provider says whose backend is meant, and fills in what auto found.
func (r *resolver) provider(ctx context.Context, b *configs.Backend) (provider, error) {
	if b.Type != "" && b.Type != autoType {
		p, ok := findProvider(b.Type)
		if !ok {
			return p, unknownType(b.Type)
		}
		return p, nil
	}
	if b.BaseURL != "" {
		// A port of this machine may be anybody's. Only a service that has to be asked
		// for its models is taken for the one whose port it is.
		if p, ok := providerOfURL(b.BaseURL); ok && (!p.local || b.Model == "") {
			return p, nil
		}
		p, _ := findProvider(anyType)
		return p, nil
	}
	if p, ok := providerOfModel(b.Model); ok {
		return p, nil
	}
	if b.Type == "" && b.Model != "" {
		return r.localWith(ctx, b)
	}
	return r.chosen(ctx, b), nil
}

// chosen is type auto's choice, with the model that b names, if it names one.
func (r *resolver) chosen(ctx context.Context, b *configs.Backend) provider {
	if r.auto == nil {
		c := r.choose(ctx)
		r.auto = &c
		r.log.Debug("type auto is decided", "type", c.provider.name, "model", c.model, "base_url", shownURL(c.baseURL), "why", c.why)
	}
	b.BaseURL = r.auto.baseURL
	if b.Model == "" {
		b.Model = r.auto.model
	}
	return r.auto.provider
}

// localWith finds the model server of this machine that lists a model whose name
// is not any provider's.
func (r *resolver) localWith(ctx context.Context, b *configs.Backend) (provider, error) {
	for _, s := range r.localServers(ctx) {
		for _, model := range s.models {
			if model == b.Model {
				b.BaseURL = s.baseURL
				return s.provider, nil
			}
		}
	}
	return provider{}, fmt.Errorf("whose model is %s? its name does not say, and no model server on this machine lists it: name the type (--backend, or type: in a config; --list-backends shows them) or the address (--base-url)",
		b.Model)
}

// address is where the provider is when the configuration does not say.
func (r *resolver) address(p provider, b configs.Backend) string {
	if p.urlVar != "" {
		if url, _ := r.addressLookup(p, b)(p.urlVar); url != "" {
			return url
		}
	}
	if url := r.env.LocalServers[p.name]; url != "" {
		return url
	}
	return p.baseURL
}

// addressLookup leaves .env out when the key, or a header that may hold one, is
// not of that file: a file in the current folder shall not decide where a key of
// the environment or of a config goes.
func (r *resolver) addressLookup(p provider, b configs.Backend) lookupFunc {
	switch {
	case b.APIKey != "" && !r.ofDotEnv[b.APIKey], len(b.Params.Headers) > 0:
		return r.env.Lookup
	case b.APIKey != "":
		return r.lookup
	}
	for _, name := range p.keyVars {
		if key, _ := r.env.Lookup(name); key != "" {
			return r.env.Lookup
		}
	}
	return r.lookup
}

// key finds the key, and the variable that it came from, if it came from one. A
// service that needs a key is refused without, unless it is reached at another
// address than its own: there, no key may be right.
func (r *resolver) key(p provider, b configs.Backend) (key, variable string, err error) {
	if b.APIKey != "" {
		return b.APIKey, "", nil
	}
	if key, variable = r.keyOf(p); key != "" {
		if strings.ContainsFunc(key, unicode.IsControl) {
			return "", "", fmt.Errorf("type %s: the key in %s has a control character, such as the end of a line: set it without", p.name, variable)
		}
		return key, variable, nil
	}
	if len(p.keyVars) == 0 || b.BaseURL != "" || r.address(p, b) != p.baseURL {
		return "", "", nil
	}
	return "", "", fmt.Errorf("type %s has no key: set %s in the environment or in .env", p.name, strings.Join(p.keyVars, " or "))
}

// hideKeys makes the keys of all providers secrets, also of those that nobody
// calls: a model may have been told them. So it does with passwords of proxies.
func (r *resolver) hideKeys() {
	for _, p := range providers() {
		for _, name := range p.keyVars {
			key, _ := r.lookup(name)
			r.secrets.Add(key)
		}
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		address, _ := r.env.Lookup(name)
		r.secrets.AddURL(address)
	}
}

// keyOf returns the key in the provider's variables, and the variable's name.
func (r *resolver) keyOf(p provider) (key, variable string) {
	for _, name := range p.keyVars {
		if key, _ := r.lookup(name); key != "" {
			r.secrets.Add(key)
			return key, name
		}
	}
	return "", ""
}

func (r *resolver) defaultModel(ctx context.Context, p provider, c connection) (string, error) {
	if p.model != "" {
		return p.model, nil
	}
	if !p.local {
		return "", fmt.Errorf("type %s needs a model: set model, or --model", p.name)
	}
	models, err := r.listModels(ctx, c)
	switch {
	case err != nil:
		return "", adviseOn(p, c, "", err)
	case len(models) == 0:
		return "", fmt.Errorf("%s at %s lists no model: load one, or name it with model", p.title, shownURL(c.baseURL))
	}
	return models[0], nil
}

func (r *resolver) connect(p provider, c connection, keyVar string) (backends.Backend, error) {
	if b, ok := r.open[c]; ok {
		return b, nil
	}
	b, err := p.connect(c)
	if err != nil {
		return nil, err
	}
	r.log.Debug("a backend is ready", "type", p.name, "base_url", shownURL(c.baseURL), "key", c.key != "")
	r.adapters = append(r.adapters, b)
	r.open[c] = r.wrap(c, advisedBackend{Backend: b, provider: p, connection: c, keyVar: keyVar})
	return r.open[c], nil
}

// close ends the connections of all backends.
func (r *resolver) close() error {
	var err error
	for _, b := range r.adapters {
		if c, ok := b.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
