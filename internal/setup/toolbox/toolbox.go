package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/tools/tasks"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// Toolbox has the open tools and folders of a config's agents.
type Toolbox struct {
	Options
	config *configs.Config
	log    *slog.Logger
	own    [][]agents.Tool // by agent, the tools of its workspace
	keep   []func(tool, result string) (string, error)
	// snapshots copy the workspaces of agents that have one.
	snapshots []func(context.Context, agents.CallInfo) (agents.Snapshot, error)
	servers   []*toolServer
	missing   []wanted // servers that did not start
	opened    []io.Closer

	// warned has each warning once.
	warning sync.Mutex
	warned  map[string]bool

	listing sync.Mutex // held while the tools are listed
	// listed are the agents' tools at a version, nil before the first turn.
	listed   [][]agents.Tool
	listedAt uint64
	clashes  map[string]bool // notices about names that two of an agent's tools share
}

// Options are parameters of Open.
type Options struct {
	// Snapshots is the folder for snapshots of workspaces if the config names none. Empty means
	// a temporary folder, which the result names.
	Snapshots string
	// Given returns an agent's tools in Go, beside the config's; nil for none.
	Given func(agent int) []agents.Tool
	// Without are files that do not belong to an agent's work, such as the store's.
	Without []string
	// Hidden are files and folders that no agent reads, such as the logs of runs.
	Hidden []string
	// Own are the user's folders with massgen's programs and keys. No agent may write or read there.
	Own []string
	// Unfit returns the reason why an agent's model cannot be sent a tool; nil for a tool that it
	// can be sent.
	Unfit func(agent int, tool backends.Tool) error
	// Most returns how many tools an agent's model can be sent, and why no more; ok is false for any
	// number. Nil for agents without a limit.
	Most func(agent int) (most int, why error, ok bool)
	// Warn receives warnings for the user, and Waiting the names of MCP servers that take long
	// to start.
	Warn    func(text string)
	Waiting func(servers []string)
}

// Open opens the tools and folders of a config's agents: their workspaces, the MCP servers and the helpers for
// their functions in Python.
func Open(ctx context.Context, config *configs.Config, log *slog.Logger, o Options) (*Toolbox, error) {
	n := len(config.Agents)
	b := &Toolbox{
		Options: o, config: config, log: log, own: make([][]agents.Tool, n), keep: make([]func(string, string) (string, error), n),
		snapshots: make([]func(context.Context, agents.CallInfo) (agents.Snapshot, error), n), clashes: map[string]bool{}, warned: map[string]bool{},
	}
	if o.Given != nil {
		for i := range b.own {
			b.own[i] = o.Given(i)
		}
	}
	err := b.openWorkspaces()
	if err == nil {
		err = b.addTasks()
	}
	if err == nil {
		err = errors.Join(b.openServers(ctx), b.openHelpers(ctx))
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	lists := b.lists()
	notices, _ := findings(config, lists)
	for _, l := range lists {
		notices = append(notices, l.unfit...)
	}
	for _, notice := range notices {
		b.warn(notice)
	}
	return b, nil
}

// warn warns the user, once in the same words.
func (b *Toolbox) warn(text string) {
	b.warning.Lock()
	known := b.warned[text]
	b.warned[text] = true
	b.warning.Unlock()
	if !known {
		b.Warn(text)
	}
}

// AddTo gives the agents of a panel their tools, with a store for long results, snapshots, and
// a system message for agents that have tools but no message of their own.
func (b *Toolbox) AddTo(opts *coordinator.Options) {
	opts.Tools, opts.ToolsVersion = b.tools, b.version
	for i, list := range b.lists() {
		a := &opts.Agents[i]
		a.KeepResult, a.Snapshot = b.keep[i], b.snapshots[i]
		if a.SystemMessage == "" && len(list.all)+len(list.unlisted) > 0 {
			a.SystemMessage = contextbuild.ToolPrompt()
		}
	}
}

// Close closes everything in parallel, because a server may take its time to end.
func (b *Toolbox) Close() {
	for _, err := range atOnce(b.opened, io.Closer.Close) {
		if err != nil {
			b.Warn(err.Error())
		}
	}
	b.opened = nil
}

// findings returns the warnings about the config's rules and lists of tools, and names those
// that were not checked because some tools are not listed.
func findings(config *configs.Config, lists []toolList) (notices, unchecked []string) {
	notices, unchecked = unknown(config, lists)
	idle, also := idleRules(config, lists)
	return append(notices, idle...), append(unchecked, also...)
}

// unknown returns warnings about the names in an agent's lists of tools that match none of its
// tools.
func unknown(config *configs.Config, lists []toolList) (notices, unchecked []string) {
	for i, a := range config.Agents {
		for key, names := range map[string][]string{"allowed_tools": a.Tools.AllowedTools, "exclude_tools": a.Tools.ExcludeTools} {
			for _, name := range names {
				switch {
				case lists[i].known[name]:
				case len(lists[i].unlisted) > 0:
					unchecked = append(unchecked, fmt.Sprintf("%s in %s of %s", name, key, a.ID))
				default:
					notices = append(notices, toolFault(config, i, key, fmt.Errorf("it has no tool %s", name)).Error())
				}
			}
		}
	}
	slices.Sort(notices)
	slices.Sort(unchecked)
	return notices, unchecked
}

// openWorkspaces opens the agents' folders, and the storage of their snapshots.
func (b *Toolbox) openWorkspaces() error {
	config := b.config
	shown, err := mountsOfAll(config)
	if err != nil {
		return err
	}
	storage, err := b.storage()
	if err != nil {
		return err
	}
	var errs []error
	folders := map[string]string{}
	for i, a := range b.config.Agents {
		if a.Tools.CWD == "" {
			continue
		}
		w, err := openWorkspace(config, i, shown[i], storage, slices.Concat(b.Hidden, b.Without, b.Own))
		if err == nil {
			b.opened = append(b.opened, w)
			err = errors.Join(apart(folders, w.Dir()), outside(w.Dir(), config, storage), b.clearOfOwn(w.Dir()))
			for _, m := range shown[i].writes {
				err = errors.Join(err, b.clearOfOwn(m.Dir))
			}
		}
		if err != nil {
			errs = append(errs, toolFault(b.config, i, "cwd", err))
			continue
		}
		folders[a.ID] = w.Dir()
		for _, tool := range w.Tools() {
			if !a.Tools.NoFileTools || tool.Definition().Name == runCommand {
				b.own[i] = append(b.own[i], tool)
			}
		}
		b.keep[i], b.snapshots[i] = w.KeepResult, keepsSnapshots(storage, w, b.Without)
	}
	return errors.Join(errs...)
}

// addTasks gives each agent its tools for plans and memories.
func (b *Toolbox) addTasks() error {
	for i := range b.config.Agents {
		tools, err := taskTools(b.config, i)
		if err != nil {
			return err
		}
		b.own[i] = append(b.own[i], tools...)
	}
	return nil
}

// taskTools returns the tools of an agent for plans and memories. It opens nothing.
func taskTools(config *configs.Config, agent int) (tools []agents.Tool, err error) {
	o, a := config.Orchestrator, config.Agents[agent]
	folder := ""
	if a.Tools.CWD != "" {
		if folder, err = filepath.Abs(a.Tools.CWD); err != nil {
			return nil, toolFault(config, agent, "cwd", err)
		}
	}
	if o.TaskPlans {
		if tools, err = tasks.PlanTools(a.ID, folder, o.MaxTasks); err != nil {
			return nil, err
		}
	}
	if o.MemoryFiles && folder != "" {
		memories, err := tasks.MemoryTools(folder)
		if err != nil {
			return nil, err
		}
		tools = append(tools, memories...)
	}
	return tools, nil
}

// clearOfOwn refuses a writable folder that contains one of the user's own folders, or lies in
// one: the next run would trust an agent's files there.
func (b *Toolbox) clearOfOwn(dir string) error {
	for _, own := range b.Own {
		real, err := filepath.EvalSymlinks(own)
		if err != nil { // the folder does not exist
			real = filepath.Clean(own)
		}
		_, within := workspace.Inside(dir, real)
		if _, around := workspace.Inside(real, dir); within || around {
			return fmt.Errorf("%s and massgen's own folder %s are in one another, and agents would write what massgen trusts: name another folder", dir, own)
		}
	}
	return nil
}

// apart refuses a folder that equals, contains or lies in another agent's folder, also through
// links. folders is by agent.
func apart(folders map[string]string, dir string) error {
	for other, its := range folders {
		_, inIts := workspace.Inside(dir, its)
		if _, hasIts := workspace.Inside(its, dir); inIts || hasIts {
			return fmt.Errorf("it is in the same place as %s's: their edits would mix; give each a folder of its own", other)
		}
	}
	return nil
}

func openWorkspace(config *configs.Config, agent int, shown mounts, storage workspace.SnapshotFolder, hidden []string) (*workspace.Workspace, error) {
	a := config.Agents[agent]
	t := a.Tools
	o := workspace.Options{
		Dir: t.CWD, Reads: shown.reads, Writes: shown.writes, Protected: shown.protected, Hidden: hidden,
	}
	if len(config.Agents) > 1 {
		o.Answers = storage.Has
	}
	if dir := config.Orchestrator.AgentTemporaryWorkspace; dir != "" {
		o.AnswersDir = filepath.Join(dir, a.ID)
	}
	if t.RunCommands {
		o.Command = &workspace.CommandOptions{
			Allow: t.AllowedCommands, Deny: t.BlockedCommands, Timeout: commandLimit(config.Orchestrator.ToolTimeout),
			Unfenced: true, // without a fence, Permit has asked a person before
		}
	}
	return workspace.Open(o)
}

// commandLimit returns how long a command may take of the time for a tool call: its output
// until then is the call's result.
func commandLimit(call time.Duration) time.Duration { return call - min(call/10, 2*time.Second) }

// toolFault returns an error with the place of the key at fault.
func toolFault(config *configs.Config, agent int, key string, err error) error {
	return placed(config.BackendPlace(agent, key), fmt.Errorf("%s: %s: %w", config.Agents[agent].ID, key, err))
}

// Unfenced returns the reason why massgen asks about commands and functions in Python on this system, if an
// agent has any.
func Unfenced(config *configs.Config) (notice string) {
	key, what := "enable_mcp_command_line", "commands"
	if !slices.ContainsFunc(config.Agents, func(a configs.Agent) bool { return a.Tools.RunCommands }) {
		key, what = "custom_tools", "functions in Python"
		if !slices.ContainsFunc(config.Agents, func(a configs.Agent) bool { return len(a.Tools.Custom) > 0 }) {
			return ""
		}
	}
	if ok, reason := workspace.CanFence(); !ok {
		return key + ": " + what + " cannot be fenced in on this system, so a person is asked about each: " + reason
	}
	return ""
}

// CanCheck returns an error if a command checks answers and no command can be fenced in here.
func CanCheck(config *configs.Config) error {
	if len(config.Orchestrator.Check.Command) == 0 {
		return nil
	}
	if ok, reason := workspace.CanFence(); !ok {
		return errors.New(config.Placed("orchestrator.check", "check runs a command, and commands cannot be fenced in here: "+reason+"; use a pattern"))
	}
	return nil
}

// Check returns the error with which Open would fail, without opening anything.
func Check(config *configs.Config) error {
	_, err := mountsOfAll(config)
	errs := []error{err, CanCheck(config)}
	for _, w := range wantedServers(config) {
		server, err := w.inFolder(config)
		if err == nil && server.Required {
			err = findProgram(server)
		}
		if err != nil {
			errs = append(errs, w.fault(config, err))
		}
	}
	for i, a := range config.Agents {
		if a.Tools.CWD == "" {
			continue
		}
		info, err := os.Stat(a.Tools.CWD)
		switch {
		case errors.Is(err, os.ErrNotExist): // it will be made
		case err != nil:
			errs = append(errs, toolFault(config, i, "cwd", err))
		case !info.IsDir():
			errs = append(errs, toolFault(config, i, "cwd", fmt.Errorf("%s is no folder: name another", a.Tools.CWD)))
		}
	}
	return errors.Join(errs...)
}
