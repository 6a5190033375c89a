package toolbox

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/internal/tools/pytools"
)

// helper is a process in Python that has functions of one agent. An agent has one for its functions, and one for
// those that have the network.
type helper struct {
	wanted
	tools   []configs.CustomTool
	running *pytools.Helper
}

// The names of the helpers in warnings.
const (
	helperName        = "custom_tools"
	networkHelperName = "custom_tools_network"
)

// wantedHelpers returns the helpers that a config needs. Files that are missing have caused a warning when the
// config was read.
func wantedHelpers(config *configs.Config) (list []*helper) {
	for i, a := range config.Agents {
		for _, hasNetwork := range []bool{false, true} {
			name := helperName
			if hasNetwork {
				name = networkHelperName
			}
			h := &helper{wanted: wanted{agent: i, server: configs.MCPServer{Name: name}, names: configs.CustomToolPrefix}}
			for _, tool := range a.Tools.Custom {
				if tool.Network == hasNetwork && !tool.IsMissing() {
					h.tools = append(h.tools, tool)
				}
			}
			if len(h.tools) > 0 {
				list = append(list, h)
			}
		}
	}
	return list
}

// openHelpers starts the helpers of all agents in parallel. What does not start or load costs its tools and a
// warning.
func (b *Toolbox) openHelpers(ctx context.Context) error {
	list := wantedHelpers(b.config)
	if len(list) == 0 {
		return nil
	}
	python, err := pytools.Find(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.warn(fmt.Sprintf("%s: %v; the tools in Python are left out", helperName, err))
		for _, h := range list {
			b.missing = append(b.missing, h.wanted)
		}
		return nil
	}
	launcher, err := mcp.Launcher()
	if err != nil {
		return err
	}
	shown, err := mountsOfAll(b.config)
	if err != nil {
		return err
	}
	errs := atOnce(list, func(h *helper) (err error) {
		h.running, err = pytools.Start(ctx, b.helperOptions(h, python, shown[h.agent], launcher))
		return err
	})
	for i, h := range list {
		if h.running == nil {
			b.warn(fmt.Sprintf("%s: %v; its tools are left out", b.config.Agents[h.agent].ID, errs[i]))
			b.missing = append(b.missing, h.wanted)
			continue
		}
		b.opened = append(b.opened, h.running)
		b.servers = append(b.servers, &toolServer{wanted: h.wanted, client: h.running.Client, told: definitions(h.running.Client)})
	}
	return ctx.Err()
}

func (b *Toolbox) helperOptions(h *helper, python pytools.Python, shown mounts, launcher []string) pytools.Options {
	o := pytools.Options{
		Python: python, Name: h.server.Name, Agent: b.config.Agents[h.agent], Tools: h.tools, Hidden: slices.Concat(b.Own, b.Without, b.Hidden),
		CallTimeout: b.config.Orchestrator.ToolTimeout,
		MCP: mcp.Options{
			Launcher: launcher,
			Log: func(_, line string) {
				b.log.Debug("a function in Python prints", "agent", b.config.Agents[h.agent].ID, "line", line)
			},
			Warn: func(server, text string) { b.warn(server + ": " + text) },
		},
	}
	for _, m := range slices.Concat(shown.reads, shown.writes) {
		o.Reads = append(o.Reads, m.Dir)
	}
	for i, a := range b.config.Agents {
		if i != h.agent && a.Tools.CWD != "" {
			if dir, err := filepath.Abs(a.Tools.CWD); err == nil {
				o.Hidden = append(o.Hidden, dir)
			}
		}
	}
	if dir, err := filepath.Abs(o.Agent.Tools.CWD); err == nil && o.Agent.Tools.CWD != "" {
		o.Folder = dir // openWorkspaces has made it
	}
	return o
}
