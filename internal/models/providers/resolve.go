package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/models/toolfit"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/plain"
)

// Settings are the settings of a panel that its models depend on.
type Settings struct {
	World  World
	Config *configs.Config
	Log    *slog.Logger
	// Secrets get all keys that are found.
	Secrets *configs.Secrets
	// Metrics count the calls; nil counts none.
	Metrics *metrics.Registry
}

// Resolver turns what a configuration says of a model into a backend that calls
// it. Agents with the same service, key and model share one. One goroutine uses
// it.
type Resolver struct {
	Settings
	record *debugbackend.Recorder
	limits LimiterOf

	prices       *prices.Table
	vocabularies *prices.Vocabularies
	gates        map[account]*retry.Gate
	shared       map[account]*wire.Shared
	open         map[connection]backends.Backend
	adapters     []backends.Backend
	owned        int            // models that a program brought along
	auto         []choice       // see choices
	seats        map[string]int // how many agents of type auto each provider has
}

// New returns a Resolver for the agents of a config. record keeps every attempt, if it is not nil.
// limits returns the limits that an account shares with other processes; nil if it shares none. The
// error is for wrong prices.
func New(s Settings, record *debugbackend.Recorder, limits LimiterOf) (*Resolver, error) {
	table, err := prices.New(s.Config.Prices)
	return &Resolver{
		Settings: s, record: record, limits: limits, prices: table, vocabularies: prices.NewVocabularies(),
		gates: map[account]*retry.Gate{}, shared: map[account]*wire.Shared{}, open: map[connection]backends.Backend{}, seats: map[string]int{},
	}, err
}

// choice is a model that type auto chose.
type choice struct {
	provider provider
	model    string
	baseURL  string
	// why is for people.
	why string
}

// Model is a backend, with its provider's type and what the provider calls the model.
type Model struct {
	Backend        backends.Backend
	Provider, Name string
	// BaseURL is the service's address, which may hold a password.
	BaseURL string
	// Window is the smallest context window, in tokens, of the model and of those that
	// stand in for it, MaxOutput the smallest limit of their output; 0 if it is not known.
	Window, MaxOutput int
	// Local reports whether the model, and all that stand in for it, run on servers that the table
	// knows as such.
	Local bool
	// TextCalls reports whether the texts of the model, and of all that stand in for it, may contain calls (see
	// effect.Agent).
	TextCalls bool
	// Takes is what all of them take beside text.
	Takes attach.Takes
	// Schemas are the rules for the schemas of tools that all of them take.
	Schemas toolfit.Rules
	// CanSearch reports whether the model, and those that stand in for it, can search the web.
	CanSearch bool

	splits bool // see SplitsTools
}

// String is what people see; the model's part of it may come from a server.
func (m Model) String() string {
	name := plain.Line(m.Name)
	if name == m.Provider {
		return name
	}
	return m.Provider + " " + name
}

// model finds the provider, the address, the key and the model of a backend.
func (r *Resolver) model(ctx context.Context, b configs.Backend) (Model, error) {
	p, err := r.provider(ctx, &b)
	if err != nil {
		return Model{}, err
	}
	own := r.Config.Providers[p.name]
	c := connection{
		provider: p.name, baseURL: b.BaseURL, apiVersion: b.APIVersion, model: b.Model,
		firstByteTimeout: own.FirstByteTimeout, idleTimeout: own.IdleTimeout, ownLimit: b.Params.MaxTokens == nil,
	}
	if c.baseURL == "" {
		c.baseURL = r.address(p)
	}
	if c.baseURL == "" && r.World.Assume != nil && len(p.urlVars) > 0 {
		c.baseURL = r.World.Assume(p.urlVars[0])
	}
	if c.baseURL == "" {
		return Model{}, fmt.Errorf("type %s has no address: set base_url%s", p.name, orVariables(p.urlVars))
	}
	if p.name == simulatedType {
		c.simulated = &b.Simulated
	}
	r.Secrets.AddURL(c.baseURL)
	var keyVar string
	if c.key, keyVar, err = r.key(p, b); err != nil {
		return Model{}, err
	}
	if c.model == "" {
		if c.model, err = r.defaultModel(ctx, p, c); err != nil {
			return Model{}, err
		}
	}
	c.api = p.api(c, b)
	if err := checkParams(p, c, b); err != nil {
		return Model{}, err
	}
	if err := cmp.Or(r.checkPrice(p.name, c.model), checkHostedPrice(r, p.name, c.model, b.Params.Hosted), r.checkExtra(b.Params.ExtraBody)); err != nil {
		return Model{}, err
	}
	backend, err := r.connect(p, c, keyVar)
	known, _ := r.prices.Lookup(p.name, c.model) // of others the sizes are 0
	return Model{
		Backend: backend, Provider: p.name, Name: c.model, BaseURL: c.baseURL, Window: known.ContextWindow, MaxOutput: known.MaxOutput,
		Local: p.local, TextCalls: mayWriteCalls(p, c.baseURL), CanSearch: canSearch(r, p, c, b), splits: splitsTools(p, c.model), Schemas: p.schemas(c), Takes: takesOf(p.protocol, c),
	}, err
}

// Resolve makes an agent's backend: its model, with those that stand in for it. Agents of
// type auto take different models, in turn, where there are keys of several providers. Its
// errors are one for each model at fault.
func (r *Resolver) Resolve(ctx context.Context, b configs.Backend) (Model, []error) {
	return r.resolve(ctx, b, true)
}

// resolve is Resolve, also for calls of no agent: these take type auto's first choice.
func (r *Resolver) resolve(ctx context.Context, b configs.Backend, isAgent bool) (Model, []error) {
	if isOpen(b) {
		b = r.decided(ctx, b, isAgent)
	}
	var faults []error
	m, err := r.model(ctx, b)
	if err != nil {
		faults = append(faults, err)
	}
	var others []retry.Choice
	for i, f := range b.Fallback {
		other, err := r.model(ctx, standIn(b, f))
		if err != nil {
			faults = append(faults, fmt.Errorf("fallback %d: %w", i+1, err))
			continue
		}
		others = append(others, retry.Choice{
			Provider: other.Provider, Backend: other.Backend, Model: other.Name,
			Headers: f.Params.Headers, ExtraBody: f.Params.ExtraBody,
		})
		m.Takes = m.Takes.And(other.Takes)
		m.Schemas = m.Schemas.And(other.Schemas)
		m.CanSearch, m.splits = m.CanSearch && other.CanSearch, m.splits || other.splits
		m.Window, m.MaxOutput = smaller(m.Window, other.Window), smaller(m.MaxOutput, other.MaxOutput)
		m.Local, m.TextCalls = m.Local && other.Local, m.TextCalls && other.TextCalls
	}
	switch {
	case len(faults) > 0:
		return Model{}, faults
	case len(others) > 0:
		m.Backend = retry.NewFallback(m.Provider, m.Backend, others...)
	}
	return m, nil
}

// ownType stands for the type of a model that a program brings along.
const ownType = "own"

// Own makes the backend of an agent whose model a program brings along. It has an account of
// its own: what is wrong with one such model says nothing of another.
func (r *Resolver) Own(model string, b backends.Backend) Model {
	r.owned++
	return Model{Backend: r.wrap(connection{provider: ownType, baseURL: fmt.Sprint(r.owned), model: model}, b), Provider: ownType, Name: cmp.Or(model, ownType), Takes: allFiles()}
}

// Absent makes the backend of an agent whose type runs a program of others (see configs.Backend.Program). All
// calls fail.
func (r *Resolver) Absent(b configs.Backend) Model {
	return Model{Backend: absent{}, Provider: b.Type, Name: cmp.Or(b.Model, b.Type)}
}

type absent struct{}

// Stream implements backends.Backend.
func (absent) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		yield(nil, &backends.Error{Kind: backends.KindBadRequest, Message: "the program of this type is not run here"})
	}
}

// smaller returns the smaller of two sizes. 0 means that a size is not known.
func smaller(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func orVariables(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", or " + strings.Join(names, " or ") + " in the environment"
}

// provider returns the provider of a backend, and fills in what auto found.
func (r *Resolver) provider(ctx context.Context, b *configs.Backend) (provider, error) {
	p, ok, err := namedProvider(b)
	if ok || err != nil {
		return p, err
	}
	if b.Type == "" && b.Model != "" {
		return r.localWith(ctx, b)
	}
	return r.chosen(ctx, b), nil
}

// namedProvider returns the provider that the type, the address or the model of b names; ok is false
// if none of them names one.
func namedProvider(b *configs.Backend) (p provider, ok bool, err error) {
	switch {
	case b.Type != "" && b.Type != Auto:
		if p, ok = findProvider(b.Type); !ok {
			err = unknownType(b.Type)
		}
	case b.BaseURL != "":
		// A port of this machine may be anybody's. Only a service that has to be asked
		// for its models is taken for the one whose port it is.
		if p, ok = providerOfURL(b.BaseURL); !ok || p.local && b.Model != "" {
			p, ok = findProvider(anyType)
		}
	default:
		p, ok = providerOfModel(b.Model)
	}
	return p, ok, err
}

// chosen is type auto's first choice, with the model that b names, if it names one.
func (r *Resolver) chosen(ctx context.Context, b *configs.Backend) provider {
	first := r.choices(ctx)[0]
	b.BaseURL, b.Model = first.baseURL, cmp.Or(b.Model, first.model)
	return first.provider
}

// localWith finds the model server of this machine that lists a model whose name
// is not any provider's.
func (r *Resolver) localWith(ctx context.Context, b *configs.Backend) (provider, error) {
	for _, s := range r.askLocal(ctx) {
		if slices.Contains(s.models, b.Model) {
			b.BaseURL = s.baseURL
			return s.provider, nil
		}
	}
	return provider{}, fmt.Errorf("whose model is %s? its name does not say, and no model server on this machine lists it: name the type (for example --backend openai; type: in a config, Provider in Go; --list-backends shows them) or the address (--base-url)",
		b.Model)
}

// address is where the provider is when the configuration does not say.
func (r *Resolver) address(p provider) string {
	if url := r.World.address(p); url != "" {
		return url
	}
	if url := r.World.LocalServers[p.name]; url != "" {
		return url
	}
	return p.baseURL
}

// key finds the key, and the variable that it came from, if it came from one. A
// service that needs a key is refused without, unless it is reached at another
// address than its own: there, no key may be right.
func (r *Resolver) key(p provider, b configs.Backend) (key, variable string, err error) {
	if key = bare(b.APIKey); key != "" {
		r.Secrets.Add(key) // a configuration may have more than the key
		return key, "", nil
	}
	if key, variable = r.keyOf(p); key != "" {
		if HasUnseen(key) {
			return "", "", fmt.Errorf("type %s: the key in %s has a character that cannot be seen, such as the end of a line or a zero-width space: set it without", p.name, variable)
		}
		return key, variable, nil
	}
	if len(p.keyVars) == 0 || b.BaseURL != "" || r.address(p) != p.baseURL {
		return "", "", nil
	}
	if r.World.Assume != nil {
		return r.World.Assume(p.keyVars[0]), p.keyVars[0], nil
	}
	return "", "", fmt.Errorf("type %s has no key: set %s in the environment or in .env", p.name, strings.Join(p.keyVars, " or "))
}

// keyOf returns the key in the provider's variables, and the variable's name.
func (r *Resolver) keyOf(p provider) (key, variable string) {
	for _, name := range p.keyVars {
		if key := r.World.key(name); key != "" {
			r.Secrets.Add(key)
			return key, name
		}
	}
	return "", ""
}

func (r *Resolver) defaultModel(ctx context.Context, p provider, c connection) (string, error) {
	if p.model != "" {
		return p.model, nil
	}
	if !p.local {
		return "", fmt.Errorf("type %s needs a model: set model, or --model", p.name)
	}
	models, err := r.listModels(ctx, c)
	switch {
	case err != nil:
		return "", withHint(p, c, "", err)
	case len(models) == 0:
		return "", fmt.Errorf("%s at %s lists no model: load one, or name it with model", p.title, shownURL(c.baseURL))
	}
	return models[0], nil
}

func (r *Resolver) connect(p provider, c connection, keyVar string) (backends.Backend, error) {
	if b, ok := r.open[c]; ok {
		return b, nil
	}
	shared := c
	shared.shared = r.sharedBy(c)
	b, err := p.connect(shared)
	if err != nil {
		return nil, err
	}
	r.Log.Debug("a backend is ready", "type", p.name, "base_url", shownURL(c.baseURL), "key", c.key != "")
	r.adapters = append(r.adapters, b)
	r.open[c] = r.wrap(c, hintingBackend{Backend: b, provider: p, connection: c, keyVar: keyVar})
	return r.open[c], nil
}

// sharedBy returns what the connections of an account have in common. A provider's limits of
// time are the same for all of them.
func (r *Resolver) sharedBy(c connection) *wire.Shared {
	of := account{c.provider, c.baseURL, c.key}
	if r.shared[of] == nil {
		r.shared[of] = wire.NewShared(c.firstByteTimeout, c.idleTimeout)
	}
	return r.shared[of]
}

// IsDemo reports whether type auto was asked for and came to canned answers.
func (r *Resolver) IsDemo() bool { return len(r.auto) > 0 && r.auto[0].provider.name == Demo }

// Close ends the connections of all backends.
func (r *Resolver) Close() error {
	var err error
	for _, b := range r.adapters {
		if c, ok := b.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
