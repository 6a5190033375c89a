package permission

import (
	"encoding/json"

	"github.com/massgen/massgen/backends"
)

// worldChanger is a tool that knows which of its calls change the world: anything but
// the agent's own folder.
type worldChanger interface {
	ChangesWorld(arguments string) bool
}

// tool is the part of agents.Tool that planning needs.
type tool interface{ Definition() backends.Tool }

// ChangesWorld reports whether a call of a tool changes the world. It returns true for a tool without
// a method ChangesWorld.
func ChangesWorld(t tool, arguments string) bool {
	w, ok := t.(worldChanger)
	return !ok || w.ChangesWorld(arguments)
}

// Planning is agents.Member.Plan while a panel plans: a call that changes the world is not
// run, and what stands for its result says so.
func Planning(t tool, arguments string) (result string, planned bool) {
	if !ChangesWorld(t, arguments) {
		return "", false
	}
	// A struct of texts can always be encoded.
	text, _ := json.Marshal(struct {
		Success bool   `json:"success"`
		Planned bool   `json:"planned"`
		Note    string `json:"note"`
	}{true, true, t.Definition().Name + " was not run: this is planning. Say in your answer what it is to do; the winner can run it."})
	return string(text), true
}
