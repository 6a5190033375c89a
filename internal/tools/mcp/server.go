package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"
)

// Server is the address of one MCP server, with the choice of its tools. It has either a Command or a
// URL.
type Server struct {
	// Name is the middle part of its tools' names: letters, digits, "_" and "-", at
	// most 40.
	Name string

	// Command is run with Args, in Dir, or in the program's own directory if that is
	// empty. A name without a slash is looked for in the program's PATH.
	Command string
	Args    []string
	Dir     string
	// Env is added to the few variables that a server inherits: PATH, HOME and the
	// like, and no secrets.
	Env map[string]string

	// URL is the endpoint of a server that speaks streamable HTTP. Headers go with
	// every request to it, and to no other host.
	URL     string
	Headers map[string]string

	// Prefix begins the names of its tools for models; empty means mcp__NAME__.
	Prefix string
	// Warns shows the warnings that the server sends as log messages. Only the program's own helpers have it.
	Warns bool
	// Confined reports whether the server's calls change no more than the folder of its agent.
	Confined bool

	// AllowedTools names the tools to use; nil means all. ExcludeTools names tools to leave out.
	// Both have the server's names, or the names that models see.
	AllowedTools []string
	ExcludeTools []string

	// StartTimeout is how long the server may take to start and to list its tools,
	// and CallTimeout how long it may take for one call. 0 means a minute.
	StartTimeout time.Duration
	CallTimeout  time.Duration
}

// mostServerName leaves room for the names of tools.
const mostServerName = 40

var serverName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// prefix returns the beginning of the names of its tools.
func (s Server) prefix() string { return cmp.Or(s.Prefix, Prefix(s.Name)) }

// check returns what is wrong with a Server, before anything is started.
func (s Server) check() error {
	switch {
	case len(s.Name) > mostServerName || !serverName.MatchString(s.Name):
		return fmt.Errorf(`its name may have letters, digits, "_" and "-" only, and at most %d of them`, mostServerName)
	case s.Command == "" && s.URL == "":
		return errors.New("it has neither a command nor a url: give it one of them")
	case s.Command != "" && s.URL != "":
		return errors.New("it has a command and a url: give it one of them")
	case s.StartTimeout < 0 || s.CallTimeout < 0:
		return errors.New("its time limits must not be negative")
	case s.URL == "":
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("its url must begin with http:// or https:// and name a host")
	}
	return nil
}

func (s Server) withDefaults() Server {
	s.StartTimeout = cmp.Or(s.StartTimeout, defaultStartTimeout)
	s.CallTimeout = cmp.Or(s.CallTimeout, defaultCallTimeout)
	return s
}

// Options connect a Client with its program. The zero Options will do.
type Options struct {
	// Log gets each line that a server prints on its standard error, and a line for each fault of
	// a server and its cure. It is called concurrently.
	Log func(server, line string)
	// Warn gets what a person should know: a tool that is left out, a server that ended. It is
	// called concurrently.
	Warn func(server, text string)
	// Launcher is the command that runs a server under a guard: see the function
	// Launcher. Without one, servers are ended by Close, but not when the program is
	// killed. On Windows it is not needed, and not used.
	Launcher []string

	// lastWait is how long an error waits for the end of a server that has closed its output, to
	// report its exit status; 0 means drainGrace.
	lastWait time.Duration
	// pingLimit and closeLimit stand in for the constants of these names, unless they are 0.
	pingLimit, closeLimit time.Duration
}

// warn logs a text, and warns of it.
func (o Options) warn(server, text string) {
	if o.Log != nil {
		o.Log(server, text)
	}
	if o.Warn != nil {
		o.Warn(server, text)
	}
}
