package configs

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/secrets"
)

// Describe writes all settings, with the defaults, for people. It masks secrets.
func (c *Config) Describe(w io.Writer) error {
	if _, err := io.WriteString(w, c.text()); err != nil {
		return fmt.Errorf("describe the config: %w", err)
	}
	return nil
}

// Format writes what Describe does, whatever the verb: a Config may be logged.
func (c Config) Format(f fmt.State, _ rune) { tell(f, c.text()) }

// tell writes a text to package fmt, which keeps it in memory. fmt prints a panic of a Format
// method in place of its text.
func tell(f fmt.State, text string) {
	if _, err := io.WriteString(f, text); err != nil {
		panic(err)
	}
}

func (c *Config) text() string {
	d := description{secrets: c.secrets}
	if c.File != "" {
		fmt.Fprintln(&d, "config "+oneLine(c.File))
	}
	d.head("agents")
	for _, a := range c.Agents {
		d.row(a.ID, agentLine(a, c.Context))
	}
	d.head("orchestrator")
	rows(&d, "", orchestratorSection(), &c.Orchestrator)
	d.head("timeout_settings")
	rows(&d, "", timeoutSection(), &c.Orchestrator)
	d.head("budget")
	rows(&d, "", limitsSection(), &c.Budget.Turn)
	rows(&d, "session ", limitsSection(), &c.Budget.Session)
	d.head("ui")
	rows(&d, "", uiSection(), &c.UI)
	d.head("context")
	rows(&d, "", contextSection(), &c.Context)
	rows(&d, "warn_at ", warnSection(), &c.Context)
	d.call("summarize backend", c.Summary, c.Summarizes())
	d.head("topic")
	rows(&d, "", topicSection(), &c.Topic)
	d.call("backend", c.Topic.Backend, c.Topic.Made)
	d.head("memory")
	rows(&d, "", memorySection(nil), &c.Memory)
	d.call("backend", c.Memory.Backend, c.Memory.Made)
	d.head("mcp_servers")
	for _, server := range c.Servers {
		d.row(server.Name, server)
	}
	d.permissions(c.Permissions)
	d.head("providers")
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		rows(&d, name+" ", providerSection(), &p)
	}
	d.head("prices")
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		o := c.Prices[name]
		d.row(name, strings.Join(shown(priceSection().keys, &o), ", "))
	}
	return d.String()
}

// description is the text of Describe. It masks secrets.
type description struct {
	strings.Builder

	secrets *Secrets
	title   string // of the rows to come
}

// head begins a part. Without rows, the part is omitted.
func (d *description) head(title string) { d.title = title }

func (d *description) row(name string, value any) {
	if d.title != "" {
		fmt.Fprintln(d, d.title)
		d.title = ""
	}
	fmt.Fprintf(d, "  %-34s%s\n", oneLine(name), oneLine(d.secrets.Redact(fmt.Sprint(value))))
}

// rows writes a row, or several, for each key of a section with a text.
func rows[T any](d *description, prefix string, sec section[T], t *T) {
	for _, k := range sec.keys {
		for line := range strings.SplitSeq(k.text(t), "\n") {
			if line != "" {
				d.row(prefix+k.name, line)
			}
		}
	}
}

// shown returns the name and text of each key with a text.
func shown[T any](keys []key[T], t *T) []string {
	var parts []string
	for _, k := range keys {
		if text := k.text(t); text != "" {
			parts = append(parts, k.name+" "+strings.ReplaceAll(text, "\n", " "))
		}
	}
	return parts
}

func agentLine(a Agent, context policy.Settings) string {
	line := fmt.Sprint(a.Backend)
	if a.SystemMessage != "" {
		line += fmt.Sprintf(", system_message of %d characters", utf8.RuneCountInString(a.SystemMessage))
	}
	parts := append([]string{line}, shown(toolKeys(), &a)...)
	for _, g := range a.Tools.Guards {
		parts = append(parts, fmt.Sprintf("%s about %s", plain.Count(len(g.Rules.Rules), "rule"), cmp.Or(g.Tool, "all tools")))
	}
	return strings.Join(append(parts, ownContext(context, a.Context)...), ", ")
}

// Format writes the settings without secrets, whatever the verb: values with a Backend may be
// logged.
func (b Backend) Format(f fmt.State, _ rune) { tell(f, strings.Join(b.parts(), ", ")) }

func (b Backend) parts() []string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	add("%s", strings.TrimSpace(b.Type+" "+b.Model))
	if b.BaseURL != "" {
		add("at %s", MaskURL(b.BaseURL))
	}
	if b.APIVersion != "" {
		add("api_version %s", b.APIVersion)
	}
	if b.API != "" {
		add("api %s", b.API)
	}
	if b.ToolMode != "" {
		add("tool_mode %s", b.ToolMode)
	}
	if b.APIKey != "" {
		add("api_key %s", secrets.Mask)
	}
	parts = append(parts, shown(paramKeys(), &b)...)
	for _, f := range b.Fallback {
		add("fallback %s", strings.Trim(f.Type+"/"+f.Model, "/"))
	}
	return parts
}

// MaskURL returns an address without its user and password, and with a mask for its query,
// which may hold a key.
func MaskURL(s string) string {
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

// call writes the backend of a sidecall, if it is made.
func (d *description) call(name string, b Backend, made bool) {
	if made {
		d.row(name, b)
	}
}
