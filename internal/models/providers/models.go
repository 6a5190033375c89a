package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/system/plain"
)

// KnownModel is a model of the table, or of a service's own list.
type KnownModel struct {
	Type string `json:"type"`
	Name string `json:"model"`
	// ContextWindow and MaxOutput are tokens, 0 where they are not known.
	ContextWindow int `json:"context_window,omitempty"`
	MaxOutput     int `json:"max_output,omitempty"`
	// The prices of short calls, in US dollars per million tokens; nil where they are not known.
	Input       *float64 `json:"input_usd"`
	CachedInput *float64 `json:"cached_input_usd"`
	Output      *float64 `json:"output_usd"`
	// Takes are what it takes beside text, as far as that is known: files, tools that the provider
	// runs, and reasoning. Efforts are the words of reasoning_effort.
	Takes   []string `json:"takes"`
	Efforts []string `json:"efforts,omitempty"`
	// Listed reports whether the service lists it; nil where it was not asked.
	Listed *bool `json:"listed,omitempty"`
}

// Models returns what is known of the models of a type, or of all types: those of the table, and
// where there is a key, or a server of this machine answers, those that the service lists. faults
// say for which services that failed.
func (r *Resolver) Models(ctx context.Context, typ string) (models []KnownModel, faults []string, err error) {
	if typ != "" {
		if _, ok := findProvider(typ); !ok {
			return nil, nil, unknownType(typ)
		}
	}
	var asked []*listing
	var group sync.WaitGroup
	for _, p := range providers {
		if typ != "" && p.name != typ || p.isOffline() {
			continue
		}
		l := &listing{provider: p}
		asked = append(asked, l)
		if c, ok := r.listed(p, typ != ""); ok {
			group.Go(func() { l.ask(ctx, r, c) })
		}
	}
	group.Wait()
	for _, l := range asked {
		models = append(models, r.knownOf(l)...)
		if l.err != nil {
			faults = append(faults, fmt.Sprintf("%s's own list: %s", l.provider.name, l.err))
		}
	}
	return models, faults, nil
}

// listing is what a service answers to the question for its models.
type listing struct {
	provider provider
	wasAsked bool
	ids      []string
	err      error
}

// listed is where a provider can be asked for its models. A server of this machine that was not
// named may not be there, and a deployment of Azure's is no model.
func (r *Resolver) listed(p provider, isNamed bool) (connection, bool) {
	key, _ := r.keyOf(p)
	c := connection{provider: p.name, baseURL: r.address(p), key: key}
	return c, c.baseURL != "" && p.name != azureType && (key != "" || p.local && isNamed)
}

// ask asks a service for its models.
func (l *listing) ask(ctx context.Context, r *Resolver, c connection) {
	var all []string
	all, l.err = r.idsOf(ctx, l.provider, c)
	if l.err != nil {
		_, keyVar := r.keyOf(l.provider)
		l.err = withHint(l.provider, c, keyVar, l.err)
		return
	}
	l.wasAsked = true
	l.ids = slices.DeleteFunc(all, func(id string) bool { return !isName(id) || otherUse.MatchString(id) })
}

// isName reports whether what a service lists can be the name of a model. No request can name
// anything else, and a table of such names has no columns.
func isName(id string) bool {
	const most = 200 // bytes; Fireworks' longest have some 80
	return id != "" && len(id) <= most && plain.Line(id) == id
}

// otherUse is in the names of models that do not answer in text.
var otherUse = regexp.MustCompile(`(?i)embed|whisper|tts|dall-e|image|imagen|veo|sora|transcri|moderation|realtime|audio|speech|rerank|babbage|davinci|-instruct-0914|robotics|(^|-)live-|nano-banana`)

// idsOf returns the models that a service lists.
func (r *Resolver) idsOf(ctx context.Context, p provider, c connection) (ids []string, err error) {
	if _, isChat := p.protocol.(chat); isChat {
		return r.listModels(ctx, c)
	}
	ctx, cancel := context.WithTimeout(ctx, listTime+r.World.Slack)
	defer cancel()
	var b interface {
		io.Closer
		ListModels(ctx context.Context) ([]string, error)
	}
	switch p.protocol.(type) {
	case claude:
		b, err = anthropic.New(c.config())
	case google:
		b, err = gemini.New(c.config())
	default:
		return nil, errors.New("it has none")
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return b.ListModels(ctx)
}

// knownOf joins the table with what a service lists.
func (r *Resolver) knownOf(l *listing) (models []KnownModel) {
	here := map[string]bool{}
	names := r.prices.Names(l.provider.name)
	for _, id := range l.ids {
		if m, ok := r.prices.Lookup(l.provider.name, id); ok && len(names) > 0 {
			id = m.Name
		}
		here[id] = true
	}
	for id := range here {
		names = append(names, id)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		one := r.known(l.provider, name)
		if l.wasAsked {
			one.Listed = new(here[name])
		}
		models = append(models, one)
	}
	return models
}

func (r *Resolver) known(p provider, name string) KnownModel {
	one := KnownModel{Type: p.name, Name: name}
	one.Takes, one.Efforts = abilitiesOf(p, name)
	m, ok := r.prices.Lookup(p.name, name)
	one.ContextWindow, one.MaxOutput = m.ContextWindow, m.MaxOutput
	if ok && len(m.Rates) > 0 {
		rate := m.Rates[0]
		one.Input, one.CachedInput, one.Output = &rate.Input, &rate.CachedInput, &rate.Output
	}
	return one
}

// abilitiesOf returns what a model takes beside text, with the tools that its provider runs, and its
// words for reasoning_effort.
func abilitiesOf(p provider, model string) (takes, efforts []string) {
	c := connection{provider: p.name, baseURL: p.baseURL, model: model}
	switch protocol := p.protocol.(type) {
	case chat:
		efforts = protocol.at(c).EffortsOf(model)
	case claude:
		efforts = words(func(p backends.Params) error { return anthropic.CheckParams(model, p) })
	case google:
		efforts = words(func(p backends.Params) error { return gemini.CheckParams(model, p) })
	default:
		return []string{}, nil
	}
	takes = []string{}
	files := takesOf(p.protocol, c)
	for _, one := range []struct {
		name string
		is   bool
	}{
		{"images", files.Images},
		{"pdf", files.PDFs},
		{backends.WebSearch, runs(p, c, backends.HostedTools{WebSearch: true})},
		{backends.WebFetch, runs(p, c, backends.HostedTools{WebFetch: true})},
		{backends.CodeExecution, runs(p, c, backends.HostedTools{CodeExecution: true})},
		{"reasoning", len(efforts) > 0},
	} {
		if one.is {
			takes = append(takes, one.name)
		}
	}
	return takes, efforts
}

// runs reports whether the provider runs tools for a model.
func runs(p provider, c connection, tools backends.HostedTools) bool {
	return checkParams(p, c, configs.Backend{Params: backends.Params{Hosted: tools}}) == nil
}

// words are the efforts that a check lets pass.
func words(check func(backends.Params) error) (efforts []string) {
	for effort := range strings.FieldsSeq("none minimal low medium high xhigh max") {
		if check(backends.Params{ReasoningEffort: effort}) == nil {
			efforts = append(efforts, effort)
		}
	}
	return efforts
}
