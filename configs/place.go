package configs

import "fmt"

// BackendPlace is FILE:LINE:COLUMN of a key in the backend of an agent, which is
// counted from 0; it is empty if the file has no such key.
func (c *Config) BackendPlace(agent int, key string) string {
	if place := c.placeIn(fmt.Sprintf("agents[%d]", agent), key); place != "" {
		return place
	}
	return c.placeIn("agent", key)
}

// Placed returns a message that begins with the place of a key, if the config was read.
func (c *Config) Placed(path, message string) string {
	if issue, ok := c.places[path]; ok {
		return issue.place() + ": " + message
	}
	return message
}

// CallPlace is BackendPlace for the backend of a call that belongs to no agent, by the
// section that has it: "context.summarize", "topic" or "memory".
func (c *Config) CallPlace(section, key string) string {
	if c.placeIn(section, "type") == "" && c.placeIn(section, "model") == "" {
		return c.BackendPlace(0, key)
	}
	return c.placeIn(section, key)
}

func (c *Config) placeIn(section, key string) string {
	names := []string{key}
	switch key {
	case "reasoning_effort":
		names = append(names, "reasoning.effort")
	case "budget_tokens", "summary":
		names = []string{"reasoning." + key}
	case "verbosity":
		names = []string{"text.verbosity"}
	case "headers":
		names = append(names, "extra_headers")
	}
	for _, name := range names {
		if issue, ok := c.places[section+".backend."+name]; ok {
			return issue.place()
		}
	}
	return ""
}

// ServerPlace is BackendPlace for an MCP server of an agent or, where agent is
// negative, of all of them.
func (c *Config) ServerPlace(agent int, name string) string {
	if agent >= 0 {
		return c.BackendPlace(agent, "mcp_servers."+name)
	}
	if issue, ok := c.places["mcp_servers."+name]; ok {
		return issue.place()
	}
	return ""
}
