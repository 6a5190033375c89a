package toolbox

import (
	"errors"
	"fmt"
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

// TestTooManyTools: the last tools are left out with one warning, for the agent whose model has a limit.
func TestTooManyTools(t *testing.T) {
	var warned []string
	config := &configs.Config{Agents: []configs.Agent{{ID: "a"}, {ID: "b"}}}
	b, err := Open(t.Context(), config, slog.New(slog.DiscardHandler), Options{
		Warn: func(text string) { warned = append(warned, text) },
		Given: func(int) (tools []agents.Tool) {
			for i := range 30 {
				tools = append(tools, namedTool{name: fmt.Sprint("t", i)})
			}
			return tools
		},
		Most: func(agent int) (int, error, bool) { return 5, errors.New("no more fit"), agent == 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	lists, err := b.tools(t.Context())
	if err != nil || len(lists[0]) != 5 || lists[0][4].Definition().Name != "t4" || len(lists[1]) != 30 {
		t.Errorf("the tools are %v: %v", lists, err)
	}
	if len(warned) != 1 || !strings.HasPrefix(warned[0], "25 tools are left out: no more fit; ") || !strings.HasSuffix(warned[0], ": t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17, t18, t19, t20, t21, t22, t23, t24 and 5 more") {
		t.Errorf("the warnings are %q", warned)
	}
	if listed := b.Listed(); len(listed[0]) != 5 {
		t.Errorf("%d tools are listed", len(listed[0]))
	}
}

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
