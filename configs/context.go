package configs

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/coordination/policy"
)

// agentContext keeps an agent's own settings until the common settings are read, which may
// stand later in the file.
func (r *reader) agentContext(at string, n *yaml.Node, _ *Agent) { r.contexts[at] = n }

// agentContexts gives each agent the common settings, changed by its own.
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

// checkContexts checks the settings together.
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

// threshold reads the forms in which policy.Threshold is printed.
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

func windowText(c *policy.Settings) string {
	window := fmt.Sprintf("%d of the last %d messages", c.WindowShown, c.WindowMessages)
	if c.WindowCharacters > 0 {
		window += fmt.Sprintf(", each of %d characters at most", c.WindowCharacters)
	}
	return window
}

// ownContext returns the settings of an agent that differ from the common ones.
func ownContext(all, own policy.Settings) (parts []string) {
	compare := func(prefix string, sec section[policy.Settings]) {
		for _, k := range sec.keys {
			if text := k.text(&own); text != k.text(&all) {
				parts = append(parts, prefix+k.name+" "+text)
			}
		}
	}
	compare("context ", contextSection())
	compare("context warn_at ", warnSection())
	return parts
}
