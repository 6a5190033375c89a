package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/workspace"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
)

// Launcher is what a program that runs Main calls before anything else: the commands
// and MCP servers of agents are started by way of the program itself. It does not
// return in a process that was started as one.
func Launcher() { workspace.Launcher() }

// toolbox is what the agents of a session have to work with. Its zero value is empty.
type toolbox struct {
	tools  [][]agents.Tool // by agent
	keep   []func(tool, result string) (string, error)
	opened []io.Closer
}

// open opens the agents' workspaces. What was opened when it fails is closed by close.
func (b *toolbox) open(config *configs.Config) error {
	b.tools = make([][]agents.Tool, len(config.Agents))
	b.keep = make([]func(string, string) (string, error), len(config.Agents))
	return b.openWorkspaces(config)
}

// give adds to agents what they work with.
func (b *toolbox) give(list []coordinator.Agent) {
	for i := range list {
		list[i].Tools, list[i].KeepResult = b.tools[i], b.keep[i]
	}
}

// close closes what was opened.
func (b *toolbox) close() error {
	var errs []error
	for _, c := range b.opened {
		errs = append(errs, c.Close())
	}
	b.opened = nil
	return errors.Join(errs...)
}

func (b *toolbox) openWorkspaces(config *configs.Config) error {
	var errs []error
	folders := map[string]os.FileInfo{}
	for i, a := range config.Agents {
		if a.Tools.CWD == "" {
			continue
		}
		w, err := openWorkspace(a.Tools, config.Timeouts.Tool)
		if err == nil {
			b.opened = append(b.opened, w)
			err = sameFolder(folders, a.ID, w.Dir())
		}
		if err != nil {
			errs = append(errs, toolFault(config, i, "cwd", err))
			continue
		}
		b.tools[i] = append(b.tools[i], chosen(a.Tools, w.Tools())...)
		b.keep[i] = w.KeepResult
	}
	return errors.Join(errs...)
}

// sameFolder notes an agent's folder, and refuses one that another agent has by
// another name.
func sameFolder(folders map[string]os.FileInfo, id, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	for other, its := range folders {
		if os.SameFile(info, its) {
			return fmt.Errorf("it is the folder of %s too: their edits would mix; give each a folder of its own", other)
		}
	}
	folders[id] = info
	return nil
}

func openWorkspace(t configs.Tools, limit time.Duration) (*workspace.Workspace, error) {
	o := workspace.Options{Dir: t.CWD}
	if t.RunCommands {
		o.Command = &workspace.CommandOptions{Allow: t.AllowedCommands, Deny: t.BlockedCommands, Timeout: commandLimit(limit)}
	}
	return workspace.Open(o)
}

// commandLimit is how long a command may take of the time for a tool call: what it has
// said until then is the call's result.
func commandLimit(call time.Duration) time.Duration { return call - min(call/10, 2*time.Second) }

// chosen are those of the tools that an agent's settings let it have.
func chosen(t configs.Tools, tools []agents.Tool) []agents.Tool {
	return slices.DeleteFunc(tools, func(tool agents.Tool) bool {
		name := tool.Definition().Name
		return t.AllowedTools != nil && !slices.Contains(t.AllowedTools, name) || slices.Contains(t.ExcludeTools, name)
	})
}

// toolFault says where the key stands that is at fault.
func toolFault(config *configs.Config, agent int, key string, err error) error {
	err = fmt.Errorf("%s: %s: %w", config.Agents[agent].ID, key, err)
	if place := config.BackendPlace(agent, key); place != "" {
		return fmt.Errorf("%s: %w", place, err)
	}
	return err
}

// unfenced says why commands are refused on this system, if agents have any.
func unfenced(config *configs.Config) (notice string) {
	if !slices.ContainsFunc(config.Agents, func(a configs.Agent) bool { return a.Tools.RunCommands }) {
		return ""
	}
	if ok, reason := workspace.Fenced(); !ok {
		return "enable_mcp_command_line: commands cannot be fenced in on this system, so each is refused: " + reason
	}
	return ""
}

// openTools opens what the session's agents work with.
func (s *session) openTools(_ context.Context, list []coordinator.Agent) error {
	if notice := unfenced(s.config); notice != "" {
		s.notices = append(s.notices, notice)
		s.console.warn(notice)
	}
	if err := s.toolbox.open(s.config); err != nil {
		return err
	}
	s.toolbox.give(list)
	return nil
}

// checkTools says, without opening anything, why what agents are to work with could
// not be opened.
func checkTools(config *configs.Config) error {
	var errs []error
	for i, a := range config.Agents {
		if a.Tools.CWD == "" {
			continue
		}
		info, err := os.Stat(a.Tools.CWD)
		switch {
		case errors.Is(err, os.ErrNotExist): // it is made
		case err != nil:
			errs = append(errs, toolFault(config, i, "cwd", err))
		case !info.IsDir():
			errs = append(errs, toolFault(config, i, "cwd", fmt.Errorf("%s is no folder: name another", a.Tools.CWD)))
		}
	}
	return errors.Join(errs...)
}
