package configs

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/policy"
	"github.com/massgen/massgen/internal/prices"
	"github.com/massgen/massgen/internal/secrets"
)

// Describe writes the settings that hold, the defaults among them, for people.
// Secrets are masked.
func (c *Config) Describe(w io.Writer) error {
	if _, err := io.WriteString(w, c.text()); err != nil {
		return fmt.Errorf("describe the config: %w", err)
	}
	return nil
}

// Format writes what Describe does, whatever the verb: a Config may be logged.
func (c Config) Format(f fmt.State, _ rune) { tell(f, c.text()) }

// tell gives a text to package fmt, which keeps it in memory and writes down a panic
// of a Format method in the place of what it would have said.
func tell(f fmt.State, text string) {
	if _, err := io.WriteString(f, text); err != nil {
		panic(err)
	}
}

func (c *Config) text() string {
	d := description{secrets: c.secrets}
	if c.File != "" {
		d.head("config " + oneLine(c.File))
	}
	d.head("agents")
	for _, a := range c.Agents {
		d.row(a.ID, oneLine(c.secrets.Redact(agentLine(a, c.Context))))
	}
	d.head("orchestrator")
	rows(&d, "", orchestratorSection(), &c.Orchestrator)
	d.head("timeout_settings")
	rows(&d, "", timeoutSection(), &c.Timeouts)
	d.budget(c.Budget)
	d.head("ui")
	rows(&d, "", uiSection(), &c.UI)
	d.head("context")
	for _, s := range contextSettings(c.Context) {
		d.row(s.name, oneLine(c.secrets.Redact(s.value)))
	}
	d.call(c, "summarize backend", c.Summary, c.Summarizes())
	d.head("topic")
	rows(&d, "", topicSection(), &c.Topic)
	d.call(c, "backend", c.Topic.Backend, c.Topic.Detect)
	d.head("memory")
	rows(&d, "", memorySection(), &c.Memory)
	d.call(c, "backend", c.Memory.Backend, c.Memory.Extract)
	if len(c.Servers) > 0 {
		d.head("mcp_servers")
	}
	for _, server := range c.Servers {
		d.row(server.Name, oneLine(c.secrets.Redact(fmt.Sprint(server))))
	}
	d.permissions(c.Permissions)
	d.providers(c.Providers)
	d.prices(c.Prices)
	return d.String()
}

type description struct {
	strings.Builder

	secrets *Secrets
}

func (d *description) head(title string) { fmt.Fprintln(d, title) }

func (d *description) row(name string, value any) { fmt.Fprintf(d, "  %-34s%v\n", name, value) }

// rows has a row for each key of a section that has something to say.
func rows[T any](d *description, prefix string, sec section[T], t *T) {
	for _, k := range sec.keys {
		if k.show == nil {
			continue
		}
		if text := k.show(t); text != "" {
			for line := range strings.SplitSeq(d.secrets.Redact(text), "\n") {
				d.row(prefix+k.name, oneLine(line))
			}
		}
	}
}

func agentLine(a Agent, context policy.Settings) string {
	line := fmt.Sprint(a.Backend)
	if a.SystemMessage != "" {
		line += fmt.Sprintf(", system_message of %d characters", utf8.RuneCountInString(a.SystemMessage))
	}
	for _, part := range a.Tools.parts() {
		line += ", " + part
	}
	for _, own := range ownContext(context, a.Context) {
		line += ", " + own
	}
	return line
}

// Format writes the settings without secrets, whatever the verb: what holds a Backend
// may be logged.
func (b Backend) Format(f fmt.State, _ rune) { tell(f, strings.Join(b.parts(), ", ")) }

func (b Backend) parts() []string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case b.Type == "":
		add("%s", b.Model)
	case b.Model == "":
		add("%s", b.Type)
	default:
		add("%s %s", b.Type, b.Model)
	}
	if b.BaseURL != "" {
		add("at %s", maskedURL(b.BaseURL))
	}
	if b.APIVersion != "" {
		add("api_version %s", b.APIVersion)
	}
	if b.ToolMode != "" {
		add("tool_mode %s", b.ToolMode)
	}
	if b.APIKey != "" {
		add("api_key %s", secrets.Mask)
	}
	parts = append(parts, paramParts(b.Params)...)
	for _, f := range b.Fallback {
		add("fallback %s", strings.Trim(f.Type+"/"+f.Model, "/"))
	}
	return parts
}

func paramParts(p backends.Params) []string {
	var parts []string
	add := func(name string, value any) { parts = append(parts, fmt.Sprintf("%s %v", name, value)) }
	if p.Temperature != nil {
		add("temperature", *p.Temperature)
	}
	if p.TopP != nil {
		add("top_p", *p.TopP)
	}
	if p.MaxTokens != nil {
		add("max_tokens", *p.MaxTokens)
	}
	if p.Seed != nil {
		add("seed", *p.Seed)
	}
	if len(p.Stop) > 0 {
		add("stop", fmt.Sprintf("%q", p.Stop))
	}
	if p.ReasoningEffort != "" {
		add("reasoning_effort", p.ReasoningEffort)
	}
	if len(p.Headers) > 0 {
		add("headers", strings.Join(slices.Sorted(maps.Keys(p.Headers)), " "))
	}
	if len(p.ExtraBody) > 0 {
		add("extra_body", strings.Join(slices.Sorted(maps.Keys(p.ExtraBody)), " "))
	}
	return parts
}

// maskedURL leaves out a user, and masks a query, which may hold a key.
func maskedURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return secrets.Mask
	}
	u.User, u.Fragment = nil, "" // a user's name may be a token
	if u.RawQuery != "" {
		u.RawQuery = secrets.Mask
	}
	return u.String()
}

// call tells of the backend of a call that belongs to no agent, if it is made.
func (d *description) call(c *Config, name string, b Backend, made bool) {
	if made {
		d.row(name, oneLine(c.secrets.Redact(fmt.Sprint(b))))
	}
}

func (d *description) providers(providers map[string]Provider) {
	if len(providers) > 0 {
		d.head("providers")
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p := providers[name]
		rows(d, name+" ", providerSection(), &p)
	}
}

func (d *description) prices(overrides map[string]prices.Override) {
	if len(overrides) > 0 {
		d.head("prices")
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[name]
		var parts []string
		for _, k := range priceSection().keys {
			if text := k.show(&o); text != "" {
				parts = append(parts, k.name+" "+text)
			}
		}
		d.row(oneLine(name), strings.Join(parts, ", "))
	}
}
