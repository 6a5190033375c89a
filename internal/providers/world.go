package providers

import (
	"time"

	"github.com/massgen/massgen/configs"
)

// Lookup finds a variable.
type Lookup = func(name string) (value string, set bool)

// World is where a Resolver looks for keys, addresses and model servers.
type World struct {
	// Environment knows the variables of the environment, Lookup those of the file .env too.
	Environment, Lookup Lookup
	// OfDotEnv has the values that a config took from the file .env.
	OfDotEnv map[string]bool
	// LocalServers are the base URLs of the model servers that type auto looks for, by
	// type. Nil means the types' default addresses.
	LocalServers map[string]string
	// Slack is added to the time that such a server has to answer.
	Slack time.Duration
}

// NewWorld knows an environment and the file .env of the current folder.
func NewWorld(environment Lookup) (World, error) {
	lookup, err := configs.WithDotEnv(".", environment)
	return World{Environment: environment, Lookup: lookup, OfDotEnv: map[string]bool{}}, err
}

// LoadConfig reads a config, whose keys become secrets.
func (w World) LoadConfig(file string, secrets *configs.Secrets) (*configs.Config, error) {
	noted := func(name string) (string, bool) {
		value, set := w.Lookup(name)
		if _, own := w.Environment(name); set && !own {
			w.OfDotEnv[value] = true
		}
		return value, set
	}
	return configs.Load(file, configs.Options{Lookup: noted, BackendTypes: backendTypes(), Secrets: secrets})
}

// HideKeys makes the keys of all providers secrets, also of those that nobody
// calls: a model may have been told them. So it does with passwords of proxies.
func (w World) HideKeys(secrets *configs.Secrets) {
	for _, p := range providers() {
		for _, name := range p.keyVars {
			key, _ := w.Lookup(name)
			secrets.Add(key)
		}
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		address, _ := w.Environment(name)
		secrets.AddURL(address)
	}
}
