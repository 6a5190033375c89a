package toolbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/configs"
)

func TestServersOfOneNameAreNamedOnce(t *testing.T) {
	var list []wanted
	for agent, name := range []string{"search", "homes", "search"} {
		list = append(list, wanted{agent: agent, server: configs.MCPServer{Name: name}})
	}
	if got := serverNames(list); !slices.Equal(got, []string{"search", "homes"}) {
		t.Error(got)
	}
}

// TestMissingServerOfMassGen: nobody can install a part of MassGen here.
func TestMissingServerOfMassGen(t *testing.T) {
	for module, cure := range map[string]string{
		"massgen.filesystem_manager._workspace_tools_server:create_server": "it is a part of MassGen: delete the server, and set cwd: in the agent's backend for tools on files",
		"weather:create_server": "install it, or give its whole path",
	} {
		err := findProgram(configs.MCPServer{Name: "s", Command: "a-command-that-is-not-there", Args: []string{"run", module}})
		if err == nil || !strings.HasSuffix(err.Error(), ": "+cure) {
			t.Errorf("%s: %v", module, err)
		}
	}
}
