package agents_test

import (
	"slices"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// TestCallsNameTheirTools: a call is sent the list that it names, and its reply is read by
// that, whatever tools its agent has by then and had when the turn began.
func TestCallsNameTheirTools(t *testing.T) {
	w := newWorld(t)
	dig := w.putJSON([]backends.Tool{{Name: "dig", Description: "Digs.", Schema: []byte(`{}`)}})
	for name, c := range map[string]struct {
		tools *blob.Ref
		own   []string
	}{"the turn's": {nil, []string{"search"}}, "others": {&dig, []string{"dig"}}, "none": {&blob.Ref{}, nil}} {
		call := w.call(analyst, effect.Coordination)
		plain := w.input(call)
		call.Tools = c.tools
		var names []string
		for _, tool := range w.input(call).Tools {
			names = append(names, tool.Name)
		}
		if want := append([]string{effect.NewAnswer, effect.Vote}, c.own...); !slices.Equal(names, want) {
			t.Errorf("%s: it was sent %q, want %q", name, names, want)
		}
		call.OwnTools = false
		if got := w.input(call).Tools; len(got) != 2 || string(got[1].Schema) != string(plain.Tools[1].Schema) {
			t.Errorf("%s: the coordination tools are %v", name, got)
		}
		call.Key.Agent = researcher // who has a backend here
		for _, said := range w.reply(call, toolCall("1", "search", "{}"), toolCall("2", "dig", "{}")).Calls {
			if said.Own != slices.Contains(c.own, said.Name) {
				t.Errorf("%s: %s is taken for own=%t", name, said.Name, said.Own)
			}
		}
	}
}

// TestSetTools: what begins from then on has the new tools.
func TestSetTools(t *testing.T) {
	w := newWorld(t)
	d := w.doer(nil)
	entry := w.message("", backends.ToolCall{ID: "0", Name: "search", Arguments: "{}"})
	eff := effect.ToolCall{Key: effect.Key{Purpose: effect.Tool}, Message: entry.Text, Name: "search"}
	for _, c := range []struct {
		tools []agents.Tool
		state effect.ToolState
	}{{nil, effect.ToolRefused}, {[]agents.Tool{&search{}}, ""}} {
		d.SetTools(0, c.tools)
		ev, err := d.Perform(t.Context(), &w.turn, eff)
		if err != nil {
			t.Fatal(err)
		}
		if r := ev.(effect.ToolReply); r.State != c.state || r.Error != (c.state == effect.ToolRefused) {
			t.Errorf("with %d tools the call came to %+v", len(c.tools), r)
		}
	}
}
