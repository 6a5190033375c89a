package panels

import (
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// Sidecall is the model of a call that belongs to no agent. The zero value means the first agent's model.
type Sidecall struct {
	configs.Backend
	// Own is a program's own model, in place of a service; nil for none.
	Own backends.Backend
}

// addSidecalls adds the sidecalls of the settings to a copy of their config.
func (s *Settings) addSidecalls() {
	config := *s.Config
	s.Topic, s.Facts = s.sidecall(s.Topic, &config.Topic), s.sidecall(s.Facts, &config.Memory)
	s.Config = &config
}

// sidecall adds a wanted call, and returns its model.
func (s *Settings) sidecall(wanted *Sidecall, made *configs.Sidecall) *Sidecall {
	if wanted == nil {
		return &Sidecall{}
	}
	isFirst := wanted.Own == nil && wanted.Type == "" && wanted.Model == "" && wanted.BaseURL == ""
	if isFirst && len(s.Config.Agents) > 0 { // a config without agents is refused elsewhere
		wanted = &Sidecall{Backend: s.Config.Agents[0].Backend}
		wanted.ToolMode = ""
		if len(s.Backends) > 0 {
			wanted.Own = s.Backends[0]
		}
	}
	*made = configs.Sidecall{Made: true, Backend: wanted.Backend}
	return wanted
}
