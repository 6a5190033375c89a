package configs

import "fmt"

// BackendPlace is FILE:LINE:COLUMN of a key in the backend of an agent, which is
// counted from 0; it is empty if the file has no such key.
func (c *Config) BackendPlace(agent int, key string) string {
	names := []string{key}
	switch key {
	case "reasoning_effort":
		names = append(names, "reasoning.effort")
	case "headers":
		names = append(names, "extra_headers")
	}
	for _, at := range []string{fmt.Sprintf("agents[%d]", agent), "agent"} {
		for _, name := range names {
			if issue, ok := c.places[at+".backend."+name]; ok {
				return issue.place()
			}
		}
	}
	return ""
}
