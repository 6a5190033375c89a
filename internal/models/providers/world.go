package providers

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/massgen/massgen/configs"
)

// Lookup finds a variable.
type Lookup = func(name string) (value string, set bool)

// World is where a Resolver looks for keys, addresses and model servers.
type World struct {
	// Environment knows the variables of the environment, Lookup the keys in the file .env too.
	Environment, Lookup Lookup
	// PassedOver are the addresses in the file .env, which are not taken from it.
	PassedOver []string
	// Unread is a warning about unreadable lines of the file .env, empty if all could be read. A
	// caller that may need a key shows it to the user.
	Unread string
	// LocalServers are the base URLs of the model servers that type auto looks for, by
	// type. Nil means the types' default addresses.
	LocalServers map[string]string
	// HasSchema reports whether the answers of the turns have to fit a schema.
	HasSchema bool
	// Assume is nil, or returns a value for a variable that is not set, for a config that is only read. Then
	// no server is asked either.
	Assume func(name string) string
	// Slack is added to the time that such a server has to answer.
	Slack time.Duration
}

// NewWorld knows an environment and the keys in the files .env: of the current folder, then of MassGen's folders
// in the user's home, .config/massgen and .massgen.
func NewWorld(environment Lookup) World {
	w := World{Environment: environment, Lookup: environment}
	folders := []string{"."}
	if home, _ := environment("HOME"); filepath.IsAbs(home) {
		for _, folder := range []string{filepath.Join(home, ".config", "massgen"), filepath.Join(home, ".massgen")} {
			if _, err := os.Stat(filepath.Join(folder, ".env")); err == nil { // else a file in its way is an error
				folders = append(folders, folder)
			}
		}
	}
	var others []string
	for i := range folders {
		// The last file is asked last: each asks those before it.
		lookup, names, unread := configs.WithDotEnv(folders[i], w.Lookup)
		w.Lookup, others = lookup, append(others, names...)
		w.Unread = cmp.Or(w.Unread, unread)
	}
	for _, p := range providers {
		for _, name := range p.urlVars {
			if value, _ := environment(name); strings.TrimSpace(value) == "" && slices.Contains(others, name) && !slices.Contains(w.PassedOver, name) {
				w.PassedOver = append(w.PassedOver, name)
			}
		}
	}
	return w
}

// address returns the address of a provider in the environment, "" for none.
func (w World) address(p provider) string {
	get := func(name string) string {
		value, _ := w.Environment(name)
		return strings.TrimSpace(value)
	}
	switch {
	case p.readURL != nil:
		return p.readURL(get)
	case len(p.urlVars) > 0:
		return get(p.urlVars[0])
	}
	return ""
}

// key returns the key in a variable, without what surrounds it.
func (w World) key(name string) string {
	key, _ := w.Lookup(name)
	return bare(key)
}

// bare returns a key without the characters around it that nobody sees: blanks, and what a web page or a file leaves
// beside copied text, such as a zero-width space.
func bare(key string) string {
	return strings.TrimFunc(key, func(r rune) bool { return unicode.IsSpace(r) || isUnseen(r) })
}

// HasUnseen reports whether a key has a character that nobody sees, such as the end of a line. No header takes it.
func HasUnseen(key string) bool { return strings.ContainsFunc(key, isUnseen) }

func isUnseen(r rune) bool { return !unicode.IsGraphic(r) }

// Notices are what a user has to know of the file .env, and of keys in variables that are too
// short to hide.
func (w World) Notices(secrets *configs.Secrets) (lines []string) {
	for _, name := range w.PassedOver {
		lines = append(lines, name+" is not taken from .env, which gives only keys and tokens: set it in the environment, or base_url in the config")
	}
	for _, p := range providers {
		for _, name := range p.keyVars {
			if warning := secrets.WarnShort(name, w.key(name)); warning != "" {
				lines = append(lines, warning)
			}
		}
	}
	return lines
}

// LoadConfig reads a config, whose keys become secrets.
func (w World) LoadConfig(file string, secrets *configs.Secrets) (*configs.Config, error) {
	return configs.Load(file, w.configOptions(secrets))
}

// ParseConfig reads a config from its text, which errors call by the name of a file.
func (w World) ParseConfig(file, text string, secrets *configs.Secrets) (*configs.Config, error) {
	return configs.Parse(file, []byte(text), w.configOptions(secrets))
}

func (w World) configOptions(secrets *configs.Secrets) configs.Options {
	o := configs.Options{Lookup: w.Lookup, BackendTypes: backendTypes(), Secrets: secrets, HasSchema: w.HasSchema}
	if w.Assume != nil {
		o.Lookup = func(name string) (string, bool) {
			if value, set := w.Lookup(name); set {
				return value, set
			}
			return w.Assume(name), true
		}
	}
	return o
}

// HideKeys makes the keys of all providers secrets, also of those that nobody
// calls: a model may have been told them. So it does with passwords of proxies.
func (w World) HideKeys(secrets *configs.Secrets) {
	for _, p := range providers {
		for _, name := range p.keyVars {
			secrets.Add(w.key(name))
		}
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		address, _ := w.Environment(name)
		secrets.AddURL(address)
	}
}
