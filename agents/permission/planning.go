package permission

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/agents"
)

// worldChanger is a tool that knows which of its calls change the world: anything but
// the agent's own folder.
type worldChanger interface {
	ChangesWorld(arguments string) bool
}

// ChangesWorld says that a call of a tool changes the world. A tool that does not know
// (it has no method ChangesWorld) is taken to.
func ChangesWorld(tool agents.Tool, arguments string) bool {
	w, ok := tool.(worldChanger)
	return !ok || w.ChangesWorld(arguments)
}

// Planning returns a tool as it is while the panel plans: a call that changes the world
// is not run, and its result says so. All else is the tool's own.
func Planning(tool agents.Tool) agents.Tool { return planned{tool} }

type planned struct{ agents.Tool }

// Idempotent says that the tool is.
func (p planned) Idempotent() bool { return agents.IsIdempotent(p.Tool) }

// Call describes a call that changes the world, and runs any other.
func (p planned) Call(ctx context.Context, arguments string) (string, error) {
	if !ChangesWorld(p.Tool, arguments) {
		return p.Tool.Call(ctx, arguments)
	}
	name := p.Definition().Name
	text, err := json.Marshal(struct {
		Success bool   `json:"success"`
		Planned bool   `json:"planned"`
		Note    string `json:"note"`
	}{true, true, fmt.Sprintf("%s was not run: this is planning. Say in your answer what it is to do; the winner can run it.", name)})
	if err != nil {
		return "", fmt.Errorf("describe a call of %s: %w", name, err)
	}
	return string(text), nil
}
