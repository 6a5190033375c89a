package toolbox

import (
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// Foresee returns the warnings of a run about a config's tools, without opening anything. It
// does not know the tools of MCP servers: a last notice names the rules and lists that may mean
// one of them.
func Foresee(config *configs.Config) (notices []string) {
	if notice := Unfenced(config); notice != "" {
		notices = append(notices, notice)
	}
	notices = append(notices, MissingPrograms(config)...)
	return append(notices, ForeseeLists(config)...)
}

// MissingPrograms returns the warnings about MCP servers whose programs are not on this machine, without
// starting one.
func MissingPrograms(config *configs.Config) (notices []string) {
	for _, w := range wantedServers(config) {
		server, err := w.inFolder(config) // Check reports the error
		if err == nil && !server.Required {
			if err := findProgram(server); err != nil {
				notices = append(notices, w.withoutTools(config, err))
			}
		}
	}
	return notices
}

// ForeseeLists returns those of Foresee's warnings that do not depend on the machine: those about lists of
// tools, and rules.
func ForeseeLists(config *configs.Config) (notices []string) {
	lists := make([]toolList, len(config.Agents))
	for i, a := range config.Agents {
		l := toolList{settings: a.Tools, known: map[string]bool{}}
		if a.Tools.CWD != "" {
			l.all = workspace.Definitions(a.Tools.RunCommands)
		}
		if a.Tools.NoFileTools {
			l.all = slices.DeleteFunc(l.all, func(t backends.Tool) bool { return t.Name != runCommand })
		}
		tools, err := taskTools(config, i)
		if err != nil {
			notices = append(notices, err.Error())
		}
		for _, tool := range tools {
			l.all = append(l.all, tool.Definition())
		}
		for _, tool := range a.Tools.Custom {
			l.all = append(l.all, backends.Tool{Name: tool.Name})
			l.known[strings.TrimPrefix(tool.Name, configs.CustomToolPrefix)] = true
		}
		for _, tool := range l.all {
			l.known[tool.Name] = true
		}
		for _, w := range wantedServers(config) {
			if w.agent == ofAll || w.agent == i {
				l.unlisted = append(l.unlisted, w.prefix())
			}
		}
		lists[i] = l
	}
	found, unchecked := findings(config, lists)
	notices = append(notices, found...)
	if len(unchecked) > 0 {
		notices = append(notices, "not checked, since only a run lists the tools of MCP servers: "+strings.Join(unchecked, ", "))
	}
	return notices
}
