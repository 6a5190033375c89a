package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/mcp"
)

// ofAll replaces the agent of an MCP server that all agents share.
const ofAll = -1

// wanted is an MCP server of a config, with the agent that it is for.
type wanted struct {
	agent  int
	server configs.MCPServer
	// names begins the names of its tools, empty for those of an MCP server of that name.
	names string
}

// prefix returns the beginning of the names of its tools.
func (w wanted) prefix() string { return cmp.Or(w.names, mcp.Prefix(w.server.Name)) }

func wantedServers(config *configs.Config) []wanted {
	var list []wanted
	for _, s := range config.Servers {
		list = append(list, wanted{agent: ofAll, server: s})
	}
	for i, a := range config.Agents {
		for _, s := range a.Tools.Servers {
			list = append(list, wanted{agent: i, server: s})
		}
	}
	return list
}

// Runs names a command, a function in Python or an MCP server that the config starts, for an error; "" if it starts no program.
func Runs(config *configs.Config) string {
	for _, a := range config.Agents {
		if a.Tools.RunCommands {
			return "agent " + a.ID + " has commands"
		}
	}
	for _, a := range config.Agents {
		if len(a.Tools.Custom) > 0 {
			return "agent " + a.ID + " has custom_tools in Python"
		}
	}
	for _, w := range wantedServers(config) {
		if w.server.Command != "" {
			return fmt.Sprintf("the config has the MCP server %q", w.server.Name)
		}
	}
	return ""
}

// serverNames returns the names of servers, each once: servers of several agents may have the
// same name.
func serverNames(list []wanted) (names []string) {
	for _, w := range list {
		if !slices.Contains(names, w.server.Name) {
			names = append(names, w.server.Name)
		}
	}
	return names
}

// fault returns an error with the place of the server in the config.
func (w wanted) fault(config *configs.Config, err error) error {
	return placed(config.ServerPlace(w.agent, w.server.Name), err)
}

// inFolder returns the server with ${cwd} replaced by the folder of its agent.
func (w wanted) inFolder(config *configs.Config) (configs.MCPServer, error) {
	if !w.server.NamesFolder() {
		return w.server, nil
	}
	if w.agent == ofAll {
		return w.server, fmt.Errorf("MCP server %q: ${cwd} is the folder of one agent, and this server is for all: move it to mcp_servers of the agent's backend", w.server.Name)
	}
	a := config.Agents[w.agent]
	if a.Tools.CWD == "" {
		return w.server, fmt.Errorf("MCP server %q: ${cwd} is the folder of its agent, and %s has none: add cwd beside mcp_servers, or write the folder", w.server.Name, a.ID)
	}
	folder, err := filepath.Abs(a.Tools.CWD)
	if err != nil {
		return w.server, fmt.Errorf("MCP server %q: %w", w.server.Name, err)
	}
	return w.server.In(folder), nil
}

// placed returns an error with its place in the config, if that is known.
func placed(place string, err error) error {
	if place == "" {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// slowStart is the time after which massgen reports servers that still start.
const slowStart = 2 * time.Second

// openServers starts all servers of a config in parallel. A server that does not start costs its tools and
// a warning, unless it is required.
func (b *Toolbox) openServers(ctx context.Context) error {
	launcher, err := mcp.Launcher()
	if err != nil {
		return err
	}
	list := wantedServers(b.config)
	waiting := time.AfterFunc(slowStart, func() {
		if b.Waiting != nil {
			b.Waiting(serverNames(list))
		}
	})
	defer waiting.Stop()
	options := mcp.Options{Launcher: launcher, Log: func(server, line string) {
		b.log.Debug("an MCP server says", "server", server, "line", line)
	}, Warn: func(server, text string) { b.warn(fmt.Sprintf("MCP server %q: %s", server, text)) }}
	servers := make([]*toolServer, len(list))
	for i, w := range list {
		servers[i] = &toolServer{wanted: w}
	}
	errs := atOnce(servers, func(s *toolServer) (err error) {
		server, err := s.inFolder(b.config)
		if err != nil {
			return s.fault(b.config, err)
		}
		if server.MassGenCure() != "" {
			err = findProgram(server)
		}
		if err == nil {
			s.client, err = mcp.Start(ctx, mcpServer(server, b.config.Orchestrator.ToolTimeout), options)
		}
		switch {
		case err == nil:
			s.told = definitions(s.client)
			return nil
		case server.Required || ctx.Err() != nil:
			return s.fault(b.config, err)
		}
		b.warn(s.withoutTools(b.config, err))
		return nil
	})
	for _, s := range servers {
		if s.client != nil {
			b.opened = append(b.opened, s.client)
			b.servers = append(b.servers, s)
		} else {
			b.missing = append(b.missing, s.wanted)
		}
	}
	return errors.Join(errs...)
}

// withoutTools returns the warning about a server that does not start.
func (w wanted) withoutTools(config *configs.Config, err error) string {
	return w.fault(config, err).Error() + "; its tools are left out (required: true ends the run)"
}

// atOnce runs do for each element of a list, each in a goroutine, and returns their errors.
func atOnce[T any](list []T, do func(T) error) []error {
	errs := make([]error, len(list))
	var group sync.WaitGroup
	for i, one := range list {
		group.Go(func() { errs[i] = do(one) })
	}
	group.Wait()
	return errs
}

func mcpServer(s configs.MCPServer, limit time.Duration) mcp.Server {
	return mcp.Server{
		Name: s.Name, Command: s.Command, Args: s.Args, Dir: s.CWD, Env: s.Env, URL: s.URL, Headers: s.Headers,
		AllowedTools: s.AllowedTools, ExcludeTools: s.ExcludeTools, CallTimeout: limit,
	}
}

// findProgram returns an error if the program of a server does not exist, without running it. A
// relative path starts at the folder that the server runs in.
func findProgram(s configs.MCPServer) error {
	if s.Command == "" {
		return nil
	}
	if s.CWD != "" {
		if _, err := os.ReadDir(s.CWD); err != nil {
			return fmt.Errorf("MCP server %q: its cwd: %w", s.Name, err)
		}
	}
	name := s.Command
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.CWD, name)
		}
		var err error
		if name, err = filepath.Abs(name); err != nil {
			return fmt.Errorf("MCP server %q: %w", s.Name, err)
		}
	}
	if _, err := exec.LookPath(name); err != nil {
		cure := "install it, or give its whole path"
		if instead := s.MassGenCure(); instead != "" {
			cure = "it is a part of MassGen: " + instead
		}
		return fmt.Errorf("MCP server %q: its command cannot be run: %w: %s", s.Name, err, cure)
	}
	return nil
}
