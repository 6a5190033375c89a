package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/massgen/massgen/internal/system/plain"
)

// mostName is the length of the longest name of a tool that providers accept.
const mostName = 64

// visibleNames returns the names of a server's tools for models: a prefix and the tool's own name, with
// "_" for characters that providers refuse. A name that is too long, or equal to another after such a
// change, ends with a part of a hash. The names do not depend on the order of the tools, which have
// different names.
func visibleNames(prefix string, tools []string) []string {
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

// Prefix returns the beginning of the names of a server's tools, as in MassGen, unless its settings have another.
func Prefix(server string) string { return "mcp__" + server + "__" }

func plainName(prefix, tool string) string {
	return prefix + plain.Name(tool)
}

func hashedName(name, tool string) string {
	sum := sha256.Sum256([]byte(tool))
	end := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), mostName-len(end))] + end
}
