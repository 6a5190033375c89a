package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/massgen/massgen/internal/system/plain"
)

// mostName is how long providers let the name of a tool be.
const mostName = 64

// visibleNames returns what models call a server's tools: mcp__SERVER__TOOL, as
// MassGen does, with what providers refuse in a name replaced by "_". Names that
// had to be changed and so became equal to another's, or were too long, end with a
// part of a hash. They depend on which tools there are, and not on their order.
// Tools differ from each other.
func visibleNames(server string, tools []string) []string {
	prefix := Prefix(server)
	count := map[string]int{}
	for _, tool := range tools {
		count[plainName(prefix, tool)]++
	}
	names := make([]string, len(tools))
	for i, tool := range tools {
		name := plainName(prefix, tool)
		if len(name) > mostName || count[name] > 1 && name != prefix+tool {
			name = hashedName(name, tool)
		}
		names[i] = name
	}
	return names
}

// Prefix is what the names of a server's tools begin with.
func Prefix(server string) string { return "mcp__" + server + "__" }

func plainName(prefix, tool string) string {
	return prefix + plain.Name(tool)
}

func hashedName(name, tool string) string {
	sum := sha256.Sum256([]byte(tool))
	end := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), mostName-len(end))] + end
}
