// Package live runs the adapters' suite, and panels of the program, against real services, with the build tag
// live and keys in the environment (make live). Without them it runs the same suite
// against servers of its own, so that it is known to work.
package live

import "github.com/massgen/massgen/tests/backendtest"

// dialect is how a protocol says that a tool has to be called, and whether its
// models sign what they think.
func dialect(protocol string) backendtest.Live {
	switch protocol {
	case "claude":
		return backendtest.Live{Signs: true, Hosts: true, Force: map[string]any{"tool_choice": map[string]any{"type": "any"}}}
	case "responses":
		return backendtest.Live{Signs: true, Hosts: true, Force: map[string]any{"tool_choice": "required"}}
	case "gemini":
		return backendtest.Live{Signs: true, Hosts: true, Force: map[string]any{
			"toolConfig": map[string]any{"functionCallingConfig": map[string]any{"mode": "ANY"}},
		}}
	}
	return backendtest.Live{Force: map[string]any{"tool_choice": "required"}}
}
