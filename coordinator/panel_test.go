package coordinator

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// named is a tool that has nothing but a name.
type named struct {
	counter
	name string
}

func (n *named) Definition() backends.Tool {
	return backends.Tool{Name: n.name, Schema: []byte(`{"type":"object"}`)}
}

func TestNewSaysWhatIsWrongWithTheOptions(t *testing.T) {
	t.Parallel()
	tools := func(names ...string) (list []agents.Tool) {
		for _, name := range names {
			list = append(list, &named{name: name})
		}
		return list
	}
	for want, change := range map[string]func(*Options){
		"":                                       func(*Options) {},
		"at least one agent":                     func(o *Options) { o.Agents = nil },
		`agent 2 has the id ""`:                  func(o *Options) { o.Agents[1].ID = "" },
		`agent 2 has the id "A"`:                 func(o *Options) { o.Agents[1].ID = "A" },
		`agent 2 has the id "b\n"`:               func(o *Options) { o.Agents[1].ID = "b\n" },
		"agent b has no backend":                 func(o *Options) { o.Agents[1].Backend = nil },
		`agent a has a second tool named "vote"`: func(o *Options) { o.Agents[0].Tools = tools("vote") },
		"agent a: tool 2 is nil":                 func(o *Options) { o.Agents[0].Tools = append(tools("x"), nil) },
		`agent a has a second tool named "x"`:    func(o *Options) { o.Agents[0].Tools = tools("x", "x") },
		"max_rounds is 1":                        func(o *Options) { o.Rules = kernel.Defaults(); o.Rules.MaxRounds = 1 },
		`pace ""`:                                func(o *Options) { o.Rules = kernel.Config{MaxRounds: 3, SelfVote: true} },
		"at least 1":                             func(o *Options) { o.Limits = effect.Limits{MaxTurns: 1} },
		"needs a store":                          func(o *Options) { o.Store = nil },
	} {
		model := debugbackend.Demo()
		opts := Options{Agents: []Agent{{ID: "a", Backend: model}, {ID: "b", Backend: model}}, Store: sessions.NewMemory()}
		change(&opts)
		_, err := New(opts)
		if want == "" {
			if err != nil {
				t.Errorf("good options: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
