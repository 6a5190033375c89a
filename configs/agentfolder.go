package configs

import (
	"maps"
	"slices"
	"strings"
)

// agentFolder stands for ${cwd}, the folder of the server's agent, in the settings of an MCP server.
// U+FDD0 is no character: no text of a config has it.
const agentFolder = "\uFDD0cwd\uFDD0"

// NamesFolder reports whether the command, the arguments, the variables, the folder or the address
// of a server contain ${cwd}.
func (s MCPServer) NamesFolder() bool {
	texts := slices.Concat([]string{s.Command, s.CWD, s.URL}, s.Args, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, agentFolder) })
}

// In returns the server with a folder in place of ${cwd}.
func (s MCPServer) In(folder string) MCPServer {
	put := func(text string) string { return strings.ReplaceAll(text, agentFolder, folder) }
	all := func(texts map[string]string) map[string]string {
		texts = maps.Clone(texts)
		for name, text := range texts {
			texts[name] = put(text)
		}
		return texts
	}
	s.Command, s.CWD, s.URL = put(s.Command), put(s.CWD), put(s.URL)
	s.Env, s.Headers = all(s.Env), all(s.Headers)
	s.Args = slices.Clone(s.Args)
	for i, text := range s.Args {
		s.Args[i] = put(text)
	}
	return s
}
