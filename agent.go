package massgen

import (
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/secrets"
)

// Agent is one member of a panel. ID and Model are enough if the model's name identifies its
// provider and the environment, or the file .env, has the provider's key.
type Agent struct {
	// ID names the agent in results.
	ID string
	// Provider is the type of the model's service, as massgen --list-backends shows it. ""
	// derives it from BaseURL or the model's name, and "demo" gives canned answers.
	Provider string
	// Model is "" for the provider's default.
	Model string
	// BaseURL is the address of the service or of a local server; "" means the provider's own.
	BaseURL string
	// APIKey is the provider's key; "" means the key in the provider's variable.
	APIKey string
	// Backend is the program's own model, in place of a service. Provider, BaseURL and APIKey
	// are empty then. Its calls are retried, limited, recorded and journaled like any others.
	Backend       backends.Backend
	SystemMessage string
	// Tools are the agent's tools beside answering and voting; agents.NewTool makes one from a
	// function.
	Tools []agents.Tool
	// Params are the parameters of its model calls.
	Params backends.Params
}

// backend returns the service that the agent names.
func (a Agent) backend() configs.Backend {
	return configs.Backend{Type: a.Provider, Model: a.Model, BaseURL: a.BaseURL, APIKey: a.APIKey, Params: a.Params}
}

// checkBackend returns an error for a service that cannot be called, or that is named beside a program's own model.
func checkBackend(of string, b configs.Backend, own backends.Backend) error {
	if providers.HasUnseen(b.APIKey) {
		return fmt.Errorf("%s: its APIKey has a character that cannot be seen, such as the end of a line: leave that out", of)
	}
	if own != nil && (b.Type != "" || b.BaseURL != "" || b.APIKey != "") {
		return fmt.Errorf("%s has a Backend and a Provider, BaseURL or APIKey: leave these out", of)
	}
	return nil
}

// AgentsOf returns an agent for each model of a list, which names them as TYPE/MODEL, TYPE or
// MODEL, as massgen --models does. Its ID is the model's name, with a number if others have it
// too.
func AgentsOf(models ...string) []Agent {
	list := make([]Agent, len(models))
	for i, a := range providers.AgentsOf(models) {
		list[i] = Agent{ID: a.ID, Provider: a.Backend.Type, Model: a.Backend.Model}
	}
	return list
}

// hide adds an agent's key, headers and extra body to the known secrets.
func hide(known *configs.Secrets, a Agent) {
	known.Add(a.APIKey)
	for name, value := range a.Params.Headers {
		known.Add(secrets.InHeader(name, value)...)
	}
	hideIn(known, a.Params.ExtraBody, false)
}

// hideIn adds the texts below a secret's name to the known secrets.
func hideIn(known *configs.Secrets, v any, isSecret bool) {
	switch v := v.(type) {
	case string:
		if isSecret {
			known.Add(v)
		}
	case []any:
		for _, e := range v {
			hideIn(known, e, isSecret)
		}
	case map[string]any:
		for name, e := range v {
			hideIn(known, e, isSecret || secrets.IsName(name))
		}
	}
}
