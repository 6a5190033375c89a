package configs

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/prices"
	"github.com/massgen/massgen/contextbuild/policy"
	"github.com/massgen/massgen/secrets"
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
	var d description
	if c.File != "" {
		d.head("config " + oneLine(c.File))
	}
	d.head("agents")
	for _, a := range c.Agents {
		d.row(a.ID, oneLine(c.secrets.Redact(agentLine(a, c.Context))))
	}
	d.orchestrator(c.Orchestrator, c.secrets)
	d.timeouts(c.Timeouts)
	d.budget(c.Budget)
	d.head("ui")
	d.row("display_type", c.UI.DisplayType)
	d.head("context")
	for _, s := range contextSettings(c.Context) {
		d.row(s.name, oneLine(c.secrets.Redact(s.value)))
	}
	d.call(c, "summarize backend", c.Summary, c.Summarizes())
	d.head("topic")
	d.row("detect", c.Topic.Detect)
	d.call(c, "backend", c.Topic.Backend, c.Topic.Detect)
	d.head("memory")
	d.row("extract", c.Memory.Extract)
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

type description struct{ strings.Builder }

func (d *description) head(title string) { fmt.Fprintln(d, title) }

func (d *description) row(name string, value any) { fmt.Fprintf(d, "  %-34s%v\n", name, value) }

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

func (d *description) orchestrator(o Orchestrator, secrets *Secrets) {
	d.head("orchestrator")
	d.row("pace", o.Pace)
	d.row("decision", o.Decision)
	d.row("max_rounds", o.MaxRounds)
	d.row("straggler_grace", graceOrNone(o.StragglerGrace))
	d.row("max_new_answers_per_agent", orNoLimit(o.MaxNewAnswersPerAgent))
	d.row("max_new_answers_global", orNoLimit(o.MaxNewAnswersGlobal))
	d.row("self_vote", o.SelfVote)
	d.row("answer_novelty_requirement", o.AnswerNoveltyRequirement)
	d.row("final_answer_strategy", o.FinalAnswerStrategy)
	d.row("max_turns", o.MaxTurns)
	d.row("max_attempts", o.MaxAttempts)
	d.row("planning_mode", o.PlanningMode)
	d.row("max_tool_calls", o.MaxToolCalls)
	d.row("max_tool_result_bytes", o.MaxToolResultBytes)
	if o.SnapshotStorage != "" {
		d.row("snapshot_storage", o.SnapshotStorage)
	}
	for _, p := range o.ContextPaths {
		d.row("context_paths", oneLine(secrets.Redact(p.String())))
	}
	if o.AgentTemporaryWorkspace != "" {
		d.row("agent_temporary_workspace", oneLine(secrets.Redact(o.AgentTemporaryWorkspace)))
	}
}

func (d *description) timeouts(t Timeouts) {
	d.head("timeout_settings")
	d.row("orchestrator_timeout_seconds", t.Orchestrator.Seconds())
	d.row("initial_round_timeout_seconds", secondsOrNone(t.InitialRound))
	d.row("subsequent_round_timeout_seconds", secondsOrNone(t.SubsequentRound))
	d.row("round_timeout_grace_seconds", t.RoundGrace.Seconds())
	d.row("tool_timeout_seconds", t.Tool.Seconds())
}

func (d *description) providers(providers map[string]Provider) {
	if len(providers) > 0 {
		d.head("providers")
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p := providers[name]
		d.row(name+" max_concurrent_calls", orNoLimit(p.MaxConcurrentCalls))
		d.row(name+" requests_per_minute", orNoLimit(p.RequestsPerMinute))
		d.row(name+" tokens_per_minute", orNoLimit(p.TokensPerMinute))
		d.row(name+" max_call_attempts", orDefault(p.MaxCallAttempts))
		d.row(name+" first_byte_timeout_seconds", orDefault(p.FirstByteTimeout.Seconds()))
		d.row(name+" idle_timeout_seconds", orDefault(p.IdleTimeout.Seconds()))
	}
}

func (d *description) prices(overrides map[string]prices.Override) {
	if len(overrides) > 0 {
		d.head("prices")
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[name]
		var parts []string
		add := func(name string, v *float64) {
			if v != nil {
				parts = append(parts, fmt.Sprintf("%s %v", name, *v))
			}
		}
		add("input", o.Input)
		add("cached_input", o.CachedInput)
		add("cache_write", o.CacheWrite)
		add("output", o.Output)
		if o.ContextWindow != nil {
			parts = append(parts, fmt.Sprintf("context_window %d", *o.ContextWindow))
		}
		if o.MaxOutput != nil {
			parts = append(parts, fmt.Sprintf("max_output %d", *o.MaxOutput))
		}
		d.row(oneLine(name), strings.Join(parts, ", "))
	}
}

func orDefault[N int | float64](n N) string {
	if n == 0 {
		return "the default"
	}
	return fmt.Sprint(n)
}

func graceOrNone(d time.Duration) string {
	if d == 0 {
		return "none, rounds wait for all"
	}
	return d.String()
}

func orNoLimit(n int) string {
	if n == 0 {
		return "no limit"
	}
	return fmt.Sprint(n)
}

func secondsOrNone(d time.Duration) string {
	if d == 0 {
		return "none"
	}
	return fmt.Sprint(d.Seconds())
}
