package configs

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/policy"
)

// agentContext keeps an agent's own settings until those of all agents are read,
// which may stand after them in the file.
func (r *reader) agentContext(at string, n *yaml.Node, _ *Agent) { r.contexts[at] = n }

// agentContexts gives each agent the settings of all, changed by its own.
func (r *reader) agentContexts(c *Config) {
	for i := range c.Agents {
		a := &c.Agents[i]
		a.Context = c.Context
		at := join(r.agentPaths[i], "context")
		if own, ok := r.contexts[at]; ok {
			readSection(r, at, own, contextSection(), &a.Context)
		}
	}
}

// checkContexts looks at what several settings say together.
func (k *checker) checkContexts() {
	k.checkContext("context", k.config.Context)
	for i, a := range k.config.Agents {
		if a.Context != k.config.Context {
			k.checkContext(join(k.agentPaths[i], "context"), a.Context)
		}
	}
}

func (k *checker) checkContext(at string, c policy.Settings) {
	place := k.places[at]
	if place == nil {
		return
	}
	if err := c.Validate(); err != nil {
		k.fail(place, "%s: %s", at, err)
	}
}

// threshold reads the forms that policy.Threshold is printed in.
func threshold() parser[policy.Threshold] {
	const wanted = "a share of the context window such as 80%, a number such as 100000 tokens or 40 messages, or never"
	return parser[policy.Threshold]{wanted, func(s scalar) (policy.Threshold, bool) {
		if share, ok := strings.CutSuffix(s.text, "%"); ok {
			percent, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
			return policy.Threshold{Percent: percent}, err == nil && percent > 0 && percent <= 100
		}
		number, unit, _ := strings.Cut(s.text, " ")
		n, err := strconv.Atoi(strings.ReplaceAll(number, "_", ""))
		switch known := err == nil && n > 0; strings.TrimSpace(unit) {
		case "tokens":
			return policy.Threshold{Tokens: n}, known
		case "messages":
			return policy.Threshold{Messages: n}, known
		}
		return policy.Threshold{}, s.text == "never"
	}}
}

// setting is one line of what Describe says of a context.
type setting struct{ name, value string }

func contextSettings(c policy.Settings) []setting {
	window := fmt.Sprintf("%d of the last %d messages", c.WindowShown, c.WindowMessages)
	if c.WindowCharacters > 0 {
		window += fmt.Sprintf(", each of %d characters at most", c.WindowCharacters)
	}
	return []setting{
		{"policy", string(c.Kind)},
		{"max_messages", strconv.Itoa(c.MaxMessages)},
		{"keep_recent", strconv.Itoa(c.KeepRecent)},
		{"keep_system", strconv.FormatBool(c.KeepSystem)},
		{"window", window},
		{"warn_at approaching_limit", c.WarnAt.Approaching.String()},
		{"warn_at at_limit", c.WarnAt.Limit.String()},
	}
}

// ownContext says in what an agent's settings are not those of all.
func ownContext(all, own policy.Settings) []string {
	var parts []string
	common := contextSettings(all)
	for i, s := range contextSettings(own) {
		if s != common[i] {
			parts = append(parts, fmt.Sprintf("context %s %s", s.name, s.value))
		}
	}
	return parts
}
