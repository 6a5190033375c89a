package panels

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/toolfit"
	"github.com/massgen/massgen/internal/setup/toolbox"
)

type namedTool struct{ name, schema string }

func (t namedTool) Definition() backends.Tool {
	return backends.Tool{Name: t.name, Schema: json.RawMessage(t.schema)}
}

func (namedTool) Call(context.Context, string) (string, error) { return "", nil }

// TestRefusal: a tool of a client that would be lost is refused by its name.
func TestRefusal(t *testing.T) {
	t.Parallel()
	limits := toolbox.Options{
		Unfit: func(_ int, tool backends.Tool) error { _, err := toolfit.OpenAI().Fit(tool); return err },
		Most:  func(int) (int, error, bool) { return toolfit.OpenAI().Most(true, backends.HostedTools{}) },
	}
	const good = `{"type":"object"}`
	var own []agents.Tool
	for i := range 126 {
		own = append(own, namedTool{fmt.Sprint("own", i), good})
	}
	for _, test := range []struct {
		own  []agents.Tool
		tool namedTool
		want string
	}{
		{nil, namedTool{"fit", good}, ""}, {own[:125], namedTool{"fit", good}, ""},
		{own, namedTool{"last", good}, "126 tools of its own and no room for 1: its service takes 128"},
		{own, namedTool{"own3", good}, "a tool own3 of its own: rename"},
		{nil, namedTool{"text", `{"type":"string"}`}, `the tool text: its schema is of type "string"`},
		{nil, namedTool{"list", `[1]`}, "the tool list: its schema is no JSON object"},
	} {
		got := refusal(limits, 0, test.own, []agents.Tool{test.tool})
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.tool.name, got)
		}
	}
}
