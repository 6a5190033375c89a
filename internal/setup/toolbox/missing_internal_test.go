package toolbox

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// TestMissingServer: a server that does not start costs its tools and one warning, and no rule about them
// is called idle; one that is required ends the run.
func TestMissingServer(t *testing.T) {
	for _, required := range []bool{false, true} {
		var warned []string
		config := &configs.Config{Agents: []configs.Agent{{ID: "a", Tools: configs.Tools{
			ExcludeTools: []string{"mcp__gone__tool"}, Servers: []configs.MCPServer{{Name: "gone", Command: "massgen-no-such-program", Required: required}},
		}}}}
		b, err := Open(t.Context(), config, slog.New(slog.DiscardHandler), Options{Warn: func(text string) { warned = append(warned, text) }})
		if (err != nil) != required {
			t.Fatalf("required is %v: %v", required, err)
		}
		if required {
			continue
		}
		b.Close()
		if len(warned) != 1 || !strings.Contains(warned[0], "its tools are left out") {
			t.Errorf("the warnings are %q", warned)
		}
	}
}

// namedTool is a tool that is never called.
type namedTool struct {
	agents.Tool
	name string
}

func (t namedTool) Definition() backends.Tool { return backends.Tool{Name: t.name} }

// TestUnfitTool: a tool that an agent's model cannot be sent is left out with a warning.
func TestUnfitTool(t *testing.T) {
	var warned []string
	config := &configs.Config{Agents: []configs.Agent{{ID: "a"}}}
	b, err := Open(t.Context(), config, slog.New(slog.DiscardHandler), Options{
		Warn:  func(text string) { warned = append(warned, text) },
		Given: func(int) []agents.Tool { return []agents.Tool{namedTool{name: "good"}, namedTool{name: "bad"}} },
		Unfit: func(_ int, t backends.Tool) error {
			if t.Name == "bad" {
				return errors.New("no")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	lists, err := b.tools(t.Context())
	if err != nil || len(lists[0]) != 1 || !slices.Equal(warned, []string{"the tool bad is left out: no"}) {
		t.Errorf("the tools are %v, the warnings %q: %v", lists, warned, err)
	}
}
