package toolbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/mcp"
)

// toolServer is a started MCP server, with the tools that the user knows.
type toolServer struct {
	wanted
	client *mcp.Client
	told   map[string]backends.Tool
}

// definitions returns the definitions of a server's tools for models, by name.
func definitions(c *mcp.Client) map[string]backends.Tool {
	all := map[string]backends.Tool{}
	for _, tool := range c.Tools() {
		d := tool.Definition()
		all[d.Name] = d
	}
	return all
}

// toolList is the list of an agent's tools.
type toolList struct {
	settings configs.Tools
	tools    []agents.Tool
	names    map[string]bool // of the tools
	sources  []string        // of the tools: the name of an MCP server, "" for the agent's own
	known    map[string]bool // the tools' names, before any is excluded
	clashes  []string        // names that another tool had already
	all      []backends.Tool // before any is excluded
	unlisted []string        // prefixes of the tools of MCP servers that are not running
	unfit    []string        // warnings about tools that the agent's model cannot be sent
	// check is Options.Unfit for the agent, nil for none.
	check func(backends.Tool) error
}

// add adds tools, except those that the agent's settings exclude. Models know them by their
// names, with a prefix, if they are those of a server ("" for none); settings may omit the
// prefix. If allowed is true, the settings' own list of allowed tools holds.
func (l *toolList) add(tools []agents.Tool, server, prefix string, allowed bool) {
	for _, tool := range tools {
		definition := tool.Definition()
		l.all = append(l.all, definition)
		name := definition.Name
		short := strings.TrimPrefix(name, prefix)
		l.known[name], l.known[short] = true, true
		named := func(list []string) bool { return slices.Contains(list, name) || slices.Contains(list, short) }
		if named(l.settings.ExcludeTools) || allowed && l.settings.AllowedTools != nil && !named(l.settings.AllowedTools) {
			continue
		}
		if l.names[name] {
			l.clashes = append(l.clashes, name)
			continue
		}
		if l.check != nil {
			if err := l.check(definition); err != nil {
				l.unfit = append(l.unfit, fmt.Sprintf("the tool %s is left out: %v", name, err))
				continue
			}
		}
		l.names[name] = true
		l.tools, l.sources = append(l.tools, tool), append(l.sources, server)
	}
}

// mostNamed is how many tools a warning names.
const mostNamed = 20

// cut leaves out the last tools, where there are more than the agent's model can be sent.
func (l *toolList) cut(most int, why error) {
	if len(l.tools) <= most {
		return
	}
	var names []string
	for _, tool := range l.tools[most:] {
		name := tool.Definition().Name
		names = append(names, name)
		delete(l.names, name)
	}
	listed := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	l.tools, l.sources = l.tools[:most], l.sources[:most]
	verb := "are"
	if len(names) == 1 {
		verb = "is"
	}
	l.unfit = append(l.unfit, fmt.Sprintf("%s %s left out: %v; allowed_tools or exclude_tools can choose among them: %s", plain.Count(len(names), "tool"), verb, why, listed))
}

// lists returns the agents' present tools.
func (b *Toolbox) lists() []toolList {
	lists := make([]toolList, len(b.config.Agents))
	for i, a := range b.config.Agents {
		l := toolList{settings: a.Tools, names: map[string]bool{}, known: map[string]bool{}}
		if b.Unfit != nil {
			l.check = func(t backends.Tool) error { return b.Unfit(i, t) }
		}
		l.add(b.own[i], "", "", true)
		for _, s := range b.servers {
			if s.agent == ofAll || s.agent == i {
				l.add(s.client.Tools(), s.server.Name, s.prefix(), s.server.AllowedTools == nil)
			}
		}
		for _, w := range b.missing {
			if w.agent == ofAll || w.agent == i {
				l.unlisted = append(l.unlisted, w.prefix())
			}
		}
		if b.Most != nil {
			if most, why, ok := b.Most(i); ok {
				l.cut(most, why)
			}
		}
		lists[i] = l
	}
	return lists
}

// Listed is a tool in the form for people.
type Listed struct {
	Name string
	From string // "workspace", "custom_tools", or the MCP server
	Rule string // whether its calls may run, in words
}

// Listed returns the tools of each agent, in the config's order. It may be called concurrently.
func (b *Toolbox) Listed() [][]Listed {
	b.listing.Lock()
	defer b.listing.Unlock()
	rules := rulesOf(b.config)
	all := make([][]Listed, len(b.config.Agents))
	for i, l := range b.lists() {
		for j, tool := range l.tools {
			from := "workspace"
			name := tool.Definition().Name
			switch {
			case strings.HasPrefix(name, configs.CustomToolPrefix):
				from = l.sources[j]
			case l.sources[j] != "":
				from = "MCP server " + l.sources[j]
			}
			all[i] = append(all[i], Listed{name, from, rules.About(name)})
		}
	}
	return all
}

// refreshLimit is the longest time that a turn waits for servers whose tools have changed.
const refreshLimit = 10 * time.Second

// tools is coordinator.Options.Tools. It warns the user about tools that a server has changed:
// they may no longer be what was reviewed when the server was configured.
func (b *Toolbox) tools(ctx context.Context) ([][]agents.Tool, error) {
	b.listing.Lock()
	defer b.listing.Unlock()
	for _, notice := range b.refresh(ctx) {
		b.warn(notice)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if version := b.version(); b.listed == nil || b.listedAt != version {
		for _, notice := range b.list(version) {
			b.warn(notice)
		}
	}
	return b.listed, nil
}

// list lists the agents' tools, and returns new notices about names that two of them share. If a tool's
// Definition does not return, nothing changes.
func (b *Toolbox) list(version uint64) (notices []string) {
	lists := b.lists()
	b.listed, b.listedAt = make([][]agents.Tool, len(lists)), version
	for i, l := range lists {
		b.listed[i] = slices.Clip(l.tools) // turns share it
		notices = append(notices, l.unfit...)
		for _, name := range l.clashes {
			notice := fmt.Sprintf("%s has two tools named %s, of two MCP servers, and only the first is used: rename one of the servers", b.config.Agents[i].ID, name)
			if !b.clashes[notice] {
				b.clashes[notice] = true
				notices = append(notices, notice)
			}
		}
	}
	return notices
}

// version is coordinator.Options.ToolsVersion.
func (b *Toolbox) version() (sum uint64) {
	for _, s := range b.servers {
		sum += s.client.Version()
	}
	return sum
}

// refresh lists the tools of servers that changed, in parallel, and returns the changes. A
// server that does not answer keeps its old tools. If ctx has ended, refresh returns nothing,
// and the next call returns the changes.
func (b *Toolbox) refresh(ctx context.Context) (notices []string) {
	if len(b.servers) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	errs := atOnce(b.servers, func(s *toolServer) error { return s.client.Refresh(limited) })
	if ctx.Err() != nil {
		return nil
	}
	for i, s := range b.servers {
		switch err := errs[i]; {
		case errors.Is(err, context.DeadlineExceeded):
			notices = append(notices, fmt.Sprintf("MCP server %q: its new list of tools did not come within %s; those that it had are used", s.client.Name(), refreshLimit))
		case err != nil:
			notices = append(notices, fmt.Sprintf("%v; the tools that it had are used", err))
		}
		if notice := s.changes(); notice != "" {
			notices = append(notices, notice)
		}
	}
	return notices
}

// changes returns the difference between a server's tools and those that the user knows, and
// marks them as known.
func (s *toolServer) changes() string {
	now := definitions(s.client)
	changed := report.CompareTools(s.told, now).Words()
	s.told = now
	if changed == "" {
		return ""
	}
	return fmt.Sprintf("MCP server %q has changed its tools; %s", s.client.Name(), changed)
}
