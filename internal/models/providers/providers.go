package providers

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/internal/models/questions"
	"github.com/massgen/massgen/internal/models/wire"
)

// provider is what the program knows of a service that has models. The list of
// providers is the only place that names them.
type provider struct {
	// name is the backend type of a configuration, and what errors are headed with.
	name string
	// title is what people call the service.
	title string
	// baseURL is the service's own address; empty when the configuration must give
	// one.
	baseURL string
	// urlVars are the variables of the environment that replace baseURL, and readURL returns the address
	// in them, "" for none. Without a readURL the first variable has the address as it is.
	urlVars []string
	readURL func(get func(name string) string) string
	// keyVars are the variables that may hold the key, the first that is set counts.
	// Without any the service needs no key.
	keyVars []string
	// prefixes are how the names of its models begin; see providerOfModel.
	prefixes []string
	// model is the default model. Empty on a local server means the first that it lists.
	model string
	// domain has the addresses of a service that always tells calls from text.
	domain string
	// local reports whether it is a server on this machine, which type auto looks for.
	local bool
	// hint is what to do when the server cannot be reached.
	hint string
	protocol
}

// connection is what a backend is made of. The zero APIVersion means the
// service's own way.
type connection struct {
	provider, baseURL, key, apiVersion, api, model string
	firstByteTimeout, idleTimeout                  time.Duration
	// simulated says how a simulated member answers, nil for any other.
	simulated *questions.Simulation
	// ownLimit reports whether the config leaves the limit of the output to the program.
	ownLimit bool
	// shared is what the connections of an account have in common.
	shared *wire.Shared
}

// Demo is the type of backends that have canned answers, offline.
const Demo = "demo"

// simulatedType is the type of backends that answer the questions of a file.
const simulatedType = "simulated"

// isOffline reports whether the provider is part of this program and calls nobody.
func (p provider) isOffline() bool { return p.name == Demo || p.name == simulatedType }

const (
	// Auto is the type of backends that are the first service that is here.
	Auto = "auto"
	// anyType is for services that the list does not name.
	anyType    = "chatcompletion"
	openAIType = "openai"
	azureType  = "azure_openai"
)

// findProvider returns the provider with a backend type.
func findProvider(name string) (provider, bool) {
	i := slices.IndexFunc(providers, func(p provider) bool { return p.name == name })
	if i < 0 {
		return provider{}, false
	}
	return providers[i], true
}

// providerOfModel returns the provider whose models' names begin so. Names of
// open models (gpt-oss-20b, deepseek-r1:8b, openai/gpt-5) are at home in many
// places and name no provider.
func providerOfModel(model string) (provider, bool) {
	if strings.ContainsAny(model, ":/") || strings.HasPrefix(model, "gpt-oss") {
		return provider{}, false
	}
	for _, p := range providers {
		if slices.ContainsFunc(p.prefixes, func(prefix string) bool { return strings.HasPrefix(model, prefix) }) {
			return p, true
		}
	}
	return provider{}, false
}

// TypeOfModel returns the type of the service whose models' names begin so, "" if the name does not
// say.
func TypeOfModel(model string) string {
	p, _ := providerOfModel(model)
	return p.name
}

// providerOfURL returns the provider whose own address is on the same host.
func providerOfURL(baseURL string) (provider, bool) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return provider{}, false
	}
	for _, p := range providers {
		if own, err := url.Parse(p.baseURL); err == nil && own.Host == u.Host {
			return p, true
		}
	}
	return provider{}, false
}

// mayWriteCalls reports whether the models at an address may write calls as text: it is in no domain of a service that
// tells calls from text.
func mayWriteCalls(p provider, baseURL string) bool {
	if p.isOffline() {
		return false
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := "." + strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return !slices.ContainsFunc(providers, func(p provider) bool { return p.domain != "" && strings.HasSuffix(host, "."+p.domain) })
}

// usualModel tells people the default model.
func (p provider) usualModel() string {
	switch {
	case p.local:
		return "the first it lists"
	case p.model == "":
		return "none: set model"
	}
	return p.model
}

// backendTypes are the values of a backend's type.
func backendTypes() []string {
	types := []string{Auto}
	for _, p := range providers {
		types = append(types, p.name)
	}
	return types
}

// Types are the types of backends, without auto, which is a choice among them.
func Types() []string { return backendTypes()[1:] }
