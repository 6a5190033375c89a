package configs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/models/prices"
)

// section lists the keys of one mapping of the file. Only this file, and massgenkeys.go for keys that only
// MassGen has, define keys: to add a key, add a line here.
type section[T any] struct {
	keys []key[T]
	// also are keys of MassGen that mean what others here do.
	also []key[T]
	// massgen are keys of MassGen that have no effect here.
	massgen []massgenKeys
}

type key[T any] struct {
	name string
	item[T]
}

// item is the value of a key.
type item[T any] struct {
	// read reads it from the file.
	read func(r *reader, at string, n *yaml.Node, t *T)
	// show returns its value for people, "" to omit it. It is nil if Describe has its own
	// words.
	show func(t *T) string
	// shape returns the JSON Schema of its value; nil for any value.
	shape func() shape
}

// by returns an item that is only read.
func by[T any](read func(*reader, string, *yaml.Node, *T)) item[T] { return item[T]{read: read} }

// text returns an item's value for people, "" to omit it.
func (i item[T]) text(t *T) string {
	if i.show == nil {
		return ""
	}
	return i.show(t)
}

// then has an item call do after it was read.
func (i item[T]) then(do func(*T)) item[T] {
	read := i.read
	i.read = func(r *reader, at string, n *yaml.Node, t *T) {
		read(r, at, n, t)
		do(t)
	}
	return i
}

// zero has an item say word where its value is zero.
func (i item[T]) zero(word string) item[T] {
	show := i.show
	i.show = func(t *T) string {
		if text := show(t); text != "0" && text != "0s" && text != "false" {
			return text
		}
		return word
	}
	return i
}

// within returns the keys of a part as keys of the whole.
func within[T, S any](keys []key[S], part func(*T) *S) []key[T] {
	var outer []key[T]
	for _, k := range keys {
		outer = append(outer, key[T]{k.name, item[T]{
			read:  func(r *reader, at string, n *yaml.Node, t *T) { k.read(r, at, n, part(t)) },
			show:  func(t *T) string { return k.text(part(t)) },
			shape: k.shape,
		}})
	}
	return outer
}

func topSection() section[Config] {
	return section[Config]{
		keys: []key[Config]{
			{"agents", by((*reader).agents).of(func() shape { return listShape(shapeOf(agentSection())) })},
			{"agent", by((*reader).agent).of(func() shape { return shapeOf(agentSection()) })},
			{"orchestrator", mapping(orchestratorSection, func(c *Config) *Orchestrator { return &c.Orchestrator })},
			{"timeout_settings", mapping(timeoutSection, func(c *Config) *Orchestrator { return &c.Orchestrator })},
			{"budget", mapping(budgetSection, func(c *Config) *budget.Budget { return &c.Budget })},
			{"ui", mapping(uiSection, func(c *Config) *UI { return &c.UI })},
			{"context", mapping(commonContextSection, func(c *Config) *Config { return c })},
			{"topic", mapping(topicSection, func(c *Config) *Sidecall { return &c.Topic })},
			{"memory", by((*reader).memory).of(func() shape { return shapeOf(memorySection(massgenMemory(emptyMapping()))) })},
			{"attachments", enum(func(c *Config) *string { return &c.Attachments }, refuse, describe)},
			{"permissions", mapping(permissionsSection, func(c *Config) *Permissions { return &c.Permissions })},
			{"providers", by((*reader).providers).of(func() shape { return mapShape(shapeOf(providerSection())) })},
			{"prices", by((*reader).prices).of(func() shape { return mapShape(shapeOf(priceSection())) })},
			{"mcp_servers", by(func(r *reader, at string, n *yaml.Node, c *Config) { c.Servers = r.servers(at, n) }).of(serversShape)},
			{"presets", by((*reader).presets)},
		},
		also:    massgenTopKeys(),
		massgen: topMassGenKeys(),
	}
}

func agentSection() section[Agent] {
	return section[Agent]{
		keys: []key[Agent]{
			{"id", by((*reader).agentID).of(wordShape)},
			{"system_message", text(func(a *Agent) *string { return &a.SystemMessage })},
			{"backend", mapping(agentBackendSection, func(a *Agent) *Agent { return a })},
			{"context", by((*reader).agentContext).of(func() shape { return shapeOf(contextSection()) })},
		},
		also:    massgenAgentKeys(),
		massgen: agentMassGenKeys(),
	}
}

func backendSection() section[Backend] {
	return section[Backend]{
		keys: append([]key[Backend]{
			{"type", by((*reader).backendType).of(wordShape)},
			{"model", text(func(b *Backend) *string { return &b.Model })},
			{"base_url", by((*reader).baseURL).of(wordShape)},
			{"api_key", by((*reader).apiKey).of(wordShape)},
			{"api_version", text(func(b *Backend) *string { return &b.APIVersion })},
			{"api", enum(func(b *Backend) *string { return &b.API }, "chat", "responses")},
			{"fallback", by((*reader).fallback)},
			{"tool_mode", enum(func(b *Backend) *string { return &b.ToolMode }, "auto", "native", "json")},
		}, slices.Concat(paramKeys(), simulatedKeys())...),
		also:    append(sentKeys(), aliasKeys()...),
		massgen: backendMassGenKeys(),
	}
}

// paramKeys are the keys of the parameters of each call.
func paramKeys() []key[Backend] {
	return []key[Backend]{
		{"temperature", optional(number(0, 2), func(b *Backend) **float64 { return &b.Params.Temperature })},
		{"top_p", optional(number(0, 1), func(b *Backend) **float64 { return &b.Params.TopP })},
		{"max_tokens", optional(integer[int](1, math.MaxInt32), func(b *Backend) **int { return &b.Params.MaxTokens })},
		{"seed", optional(integer[int64](math.MinInt64, math.MaxInt64), func(b *Backend) **int64 { return &b.Params.Seed })},
		{"stop", item[Backend]{read: (*reader).stop, show: func(b *Backend) string { return strings.TrimPrefix(fmt.Sprintf("%q", b.Params.Stop), "[]") }}},
		{"reasoning_effort", reasoningEffort()},
		{"reasoning", mapping(reasoningSection, func(b *Backend) *Backend { return b })},
		{"text", mapping(textSection, func(b *Backend) *Backend { return b })},
		{"cache_ttl", enum(func(b *Backend) *string { return &b.Params.CacheTTL }, "5m", "1h")},
		{"enable_web_search", hosted(func(h *backends.HostedTools) *bool { return &h.WebSearch })},
		{"web_fetch", hosted(func(h *backends.HostedTools) *bool { return &h.WebFetch })},
		{"enable_code_interpreter", hosted(func(h *backends.HostedTools) *bool { return &h.CodeInterpreter })},
		{"enable_code_execution", hosted(func(h *backends.HostedTools) *bool { return &h.CodeExecution })},
		{"hosted_tool_max_uses", value(integer[int](1, 100), func(b *Backend) *int { return &b.Params.Hosted.MaxUses }).zero("")},
		{"headers", item[Backend]{read: (*reader).headers, show: func(b *Backend) string { return namesOf(b.Params.Headers) }}},
		{"extra_headers", by((*reader).headers)},
		{"extra_body", item[Backend]{read: (*reader).extraBody, show: func(b *Backend) string { return namesOf(b.Params.ExtraBody) }}},
	}
}

func namesOf[V any](values map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(values)), " ")
}

// hosted is an item that switches a tool of the provider on.
func hosted(field func(*backends.HostedTools) *bool) item[Backend] {
	return value(boolean(), func(b *Backend) *bool { return field(&b.Params.Hosted) }).zero("")
}

// toolKeys are the keys of an agent's tools.
func toolKeys() []key[Agent] {
	return []key[Agent]{
		{"cwd", folder(func(a *Agent) *string { return &a.Tools.CWD })},
		{"context_paths", contextPathsOf(func(a *Agent) *[]ContextPath { return &a.Tools.ContextPaths })},
		{"enable_mcp_command_line", value(boolean(), func(a *Agent) *bool { return &a.Tools.RunCommands }).zero("")},
		{"command_line_allowed_commands", item[Agent]{read: readAllowedCommands, shape: textsShape, show: func(a *Agent) string { return joined(a.Tools.AllowedCommands, " ") }}},
		{"command_line_blocked_commands", item[Agent]{read: readBlockedCommands, shape: textsShape, show: func(a *Agent) string { return joined(a.Tools.BlockedCommands, " ") }}},
		{"mcp_servers", item[Agent]{
			read: func(r *reader, at string, n *yaml.Node, a *Agent) { a.Tools.Servers = r.servers(at, n) },
			show: func(a *Agent) string { return joined(a.Tools.Servers, " ") }, shape: serversShape,
		}},
		{"allowed_tools", allowedTools(func(a *Agent) *[]string { return &a.Tools.AllowedTools })},
		{"exclude_tools", listOf(toolName(), func(a *Agent) *[]string { return &a.Tools.ExcludeTools })},
	}
}

// agentBackendSection has the keys of the model and those of the agent's tools, which MassGen
// has in the same place.
func agentBackendSection() section[Agent] {
	backend := backendSection()
	keys := within(backend.keys, func(a *Agent) *Backend { return &a.Backend })
	also := within(backend.also, func(a *Agent) *Backend { return &a.Backend })
	return section[Agent]{keys: append(toolKeys(), keys...), also: append(also, massgenToolKeys()...), massgen: backend.massgen}
}

func serverSection() section[MCPServer] {
	return section[MCPServer]{
		keys: []key[MCPServer]{
			{"name", text(func(s *MCPServer) *string { return &s.Name })},
			{"type", transportType()},
			{"required", value(boolean(), func(s *MCPServer) *bool { return &s.Required }).zero("")},
			{"command", by((*reader).serverCommand)},
			{"args", by((*reader).serverArgs)},
			{"env", by((*reader).serverEnv)},
			{"cwd", folder(func(s *MCPServer) *string { return &s.CWD })},
			{"url", by((*reader).serverURL)},
			{"headers", by((*reader).serverHeaders)},
			{"allowed_tools", listOf(toolName(), func(s *MCPServer) *[]string { return &s.AllowedTools })},
			{"exclude_tools", listOf(toolName(), func(s *MCPServer) *[]string { return &s.ExcludeTools })},
		},
		also:    []key[MCPServer]{{"security", by(readServerSecurity)}},
		massgen: serverMassGenKeys(),
	}
}

// fallbackSection has the keys that choose a model. Its parameters are those of the backend
// that it replaces.
func fallbackSection() section[Backend] {
	all := backendSection().keys
	own := []string{"type", "model", "base_url", "api_key", "api_version", "api", "headers", "extra_headers", "extra_body"}
	return section[Backend]{keys: slices.DeleteFunc(all, func(k key[Backend]) bool { return !slices.Contains(own, k.name) })}
}

func providerSection() section[Provider] {
	count := func(field func(*Provider) *int) item[Provider] {
		return value(integer[int](1, math.MaxInt32), field)
	}
	return section[Provider]{keys: []key[Provider]{
		{"max_concurrent_calls", count(func(p *Provider) *int { return &p.MaxConcurrentCalls }).zero("no limit")},
		{"requests_per_minute", count(func(p *Provider) *int { return &p.RequestsPerMinute }).zero("no limit")},
		{"tokens_per_minute", count(func(p *Provider) *int { return &p.TokensPerMinute }).zero("no limit")},
		{"max_call_attempts", value(integer[int](1, 20), func(p *Provider) *int { return &p.MaxCallAttempts }).zero("the default")},
		{"first_byte_timeout_seconds", inSeconds(0.001, func(p *Provider) *time.Duration { return &p.FirstByteTimeout }).zero("the default")},
		{"idle_timeout_seconds", inSeconds(0.001, func(p *Provider) *time.Duration { return &p.IdleTimeout }).zero("the default")},
	}}
}

// mostPrice is the highest price of a million tokens, in US dollars. The cost of a hundred
// million tokens, the most that a call may report, then fits a budget.USD.
const mostPrice = 10_000

func priceSection() section[prices.Override] {
	dollars := func(field func(*prices.Override) **float64) item[prices.Override] {
		return optional(number(0, mostPrice), field)
	}
	tokens := func(field func(*prices.Override) **int) item[prices.Override] {
		return optional(integer[int](1, math.MaxInt32), field)
	}
	return section[prices.Override]{keys: []key[prices.Override]{
		{"input", dollars(func(o *prices.Override) **float64 { return &o.Input })},
		{"cached_input", dollars(func(o *prices.Override) **float64 { return &o.CachedInput })},
		{"cache_write", dollars(func(o *prices.Override) **float64 { return &o.CacheWrite })},
		{"output", dollars(func(o *prices.Override) **float64 { return &o.Output })},
		{"web_search", dollars(func(o *prices.Override) **float64 { return &o.WebSearch })},
		{"code_execution", dollars(func(o *prices.Override) **float64 { return &o.CodeExecution })},
		{"context_window", tokens(func(o *prices.Override) **int { return &o.ContextWindow })},
		{"max_output", tokens(func(o *prices.Override) **int { return &o.MaxOutput })},
	}}
}

// commonContextSection has the keys that agents may have too, and summarize.
func commonContextSection() section[Config] {
	summarize := mapping(summarizeSection, func(c *Config) *Backend { return &c.Summary })
	common := within(contextSection().keys, func(c *Config) *policy.Settings { return &c.Context })
	return section[Config]{keys: append([]key[Config]{{"summarize", summarize}}, common...)}
}

func summarizeSection() section[Backend] {
	return section[Backend]{keys: []key[Backend]{{"backend", by((*reader).callBackend).of(func() shape { return shapeOf(callBackendSection()) })}}}
}

func topicSection() section[Sidecall] { return sidecallSection("detect", nil) }

func sidecallSection(made string, massgen []massgenKeys) section[Sidecall] {
	return section[Sidecall]{
		keys: []key[Sidecall]{
			{made, value(boolean(), func(s *Sidecall) *bool { return &s.Made })},
			{"backend", by(func(r *reader, at string, n *yaml.Node, s *Sidecall) { r.callBackend(at, n, &s.Backend) })},
		},
		massgen: massgen,
	}
}

// callBackendSection has the keys of a sidecall's backend. Sidecalls have no tools, so it omits
// tool_mode and the hosted tools.
func callBackendSection() section[Backend] {
	sec := backendSection()
	others := []string{"tool_mode", "enable_web_search", "web_fetch", "enable_code_interpreter", "enable_code_execution", "hosted_tool_max_uses"}
	sec.keys = slices.DeleteFunc(sec.keys, func(k key[Backend]) bool { return slices.Contains(others, k.name) })
	return sec
}

func contextSection() section[policy.Settings] {
	return section[policy.Settings]{keys: []key[policy.Settings]{
		{"policy", enum(func(c *policy.Settings) *policy.Kind { return &c.Kind }, policy.Full, policy.Window, policy.Prune, policy.Summarize)},
		{"max_messages", amount(func(c *policy.Settings) *int { return &c.MaxMessages })},
		{"keep_recent", amount(func(c *policy.Settings) *int { return &c.KeepRecent })},
		{"keep_system", value(boolean(), func(c *policy.Settings) *bool { return &c.KeepSystem })},
		{"window", item[policy.Settings]{read: mapping(windowSection, func(c *policy.Settings) *policy.Settings { return c }).read, show: windowText, shape: func() shape { return shapeOf(windowSection()) }}},
		{"carry", enum(func(c *policy.Settings) *policy.Carry { return &c.Carry }, policy.CarryNone, policy.CarryTools)},
		{"warn_at", mapping(warnSection, func(c *policy.Settings) *policy.Settings { return c })},
	}}
}

func amount(field func(*policy.Settings) *int) item[policy.Settings] {
	return value(integer[int](0, math.MaxInt32), field)
}

func windowSection() section[policy.Settings] {
	return section[policy.Settings]{keys: []key[policy.Settings]{
		{"messages", amount(func(c *policy.Settings) *int { return &c.WindowMessages })},
		{"shown", amount(func(c *policy.Settings) *int { return &c.WindowShown })},
		{"characters", amount(func(c *policy.Settings) *int { return &c.WindowCharacters })},
	}}
}

func warnSection() section[policy.Settings] {
	return section[policy.Settings]{keys: []key[policy.Settings]{
		{"approaching_limit", value(threshold(), func(c *policy.Settings) *policy.Threshold { return &c.WarnAt.Approaching })},
		{"at_limit", value(threshold(), func(c *policy.Settings) *policy.Threshold { return &c.WarnAt.Limit })},
	}}
}

// coordinationSection is where MassGen has planning_mode.
func coordinationSection() section[Orchestrator] {
	return section[Orchestrator]{
		keys: []key[Orchestrator]{{"enable_planning_mode", value(boolean(), func(o *Orchestrator) *bool { return &o.PlanningMode })}},
		also: append(massgenCoordinationKeys(),
			key[Orchestrator]{"enable_agent_task_planning", value(boolean(), func(o *Orchestrator) *bool { return &o.TaskPlans }).zero("")},
			key[Orchestrator]{"max_tasks_per_plan", value(integer[int](1, 1000), func(o *Orchestrator) *int { return &o.MaxTasks }).zero("")},
			key[Orchestrator]{"enable_memory_filesystem_mode", value(boolean(), func(o *Orchestrator) *bool { return &o.MemoryFiles }).zero("")},
		),
		massgen: coordinationMassGenKeys(),
	}
}

func reasoningSection() section[Backend] {
	return section[Backend]{
		keys: []key[Backend]{
			{"effort", reasoningEffort()},
			{"summary", enum(func(b *Backend) *string { return &b.Params.ReasoningSummary }, "auto", "concise", "detailed", "none")},
			{"budget_tokens", optional(integer[int](1, math.MaxInt32), func(b *Backend) **int { return &b.Params.ReasoningTokens })},
		},
		massgen: []massgenKeys{{fate: accepted, names: "type generate_summary"}},
	}
}

// textSection is where MassGen has the verbosity of OpenAI's models.
func textSection() section[Backend] {
	return section[Backend]{
		keys:    []key[Backend]{{"verbosity", enum(func(b *Backend) *string { return &b.Params.Verbosity }, "low", "medium", "high")}},
		massgen: []massgenKeys{{fate: warned, names: "format", hint: "use --schema FILE"}},
	}
}

func reasoningEffort() item[Backend] {
	return enum(func(b *Backend) *string { return &b.Params.ReasoningEffort },
		"none", "minimal", "low", "medium", "high", "xhigh", "max")
}

func orchestratorSection() section[Orchestrator] {
	deciding := within(decidingKeys(), func(o *Orchestrator) *Deciding { return &o.Deciding })
	return section[Orchestrator]{
		keys: append([]key[Orchestrator]{
			{"pace", enum(func(o *Orchestrator) *kernel.Pace { return &o.Rules.Pace }, kernel.PaceRounds, kernel.PaceEager)},
			{"decision", enum(func(o *Orchestrator) *election.Rule { return &o.Rules.Decision },
				decisions()...)},
			{"max_rounds", value(integer[int](2, 1000), func(o *Orchestrator) *int { return &o.Rules.MaxRounds })},
			{"straggler_grace", value(duration(), func(o *Orchestrator) *time.Duration { return &o.Rules.StragglerGrace }).zero("none, rounds wait for all")},
			{"max_new_answers_per_agent", value(integer[int](1, 1000), func(o *Orchestrator) *int { return &o.Rules.MaxNewAnswersPerAgent }).zero("no limit")},
			{"max_new_answers_global", value(integer[int](1, 1000), func(o *Orchestrator) *int { return &o.Rules.MaxNewAnswersGlobal }).zero("no limit")},
			{"self_vote", value(boolean(), func(o *Orchestrator) *bool { return &o.Rules.SelfVote })},
			{"answer_novelty_requirement", enum(func(o *Orchestrator) *novelty { return &o.AnswerNoveltyRequirement },
				noveltyLenient, noveltyBalanced, noveltyStrict).
				then(func(o *Orchestrator) { o.Limits.MaxOverlap = o.AnswerNoveltyRequirement.maxOverlap() })},
			{"final_answer_strategy", enum(func(o *Orchestrator) *kernel.Strategy { return &o.Rules.Final },
				kernel.WinnerReuse, kernel.WinnerPresent, kernel.Synthesize)},
			{"max_turns", value(integer[int](1, 1000), func(o *Orchestrator) *int { return &o.Limits.MaxTurns })},
			{"max_attempts", value(integer[int](1, 100), func(o *Orchestrator) *int { return &o.Limits.MaxAttempts })},
			{"coordination", mapping(coordinationSection, func(o *Orchestrator) *Orchestrator { return o })},
			{"planning_mode", value(boolean(), func(o *Orchestrator) *bool { return &o.PlanningMode })},
			{"max_tool_calls", value(integer[int](1, 10_000), func(o *Orchestrator) *int { return &o.Limits.MaxToolCalls })},
			{"max_tool_result_bytes", value(integer[int](1000, 10_000_000), func(o *Orchestrator) *int { return &o.Limits.ResultLimit })},
			{"snapshot_storage", folder(func(o *Orchestrator) *string { return &o.SnapshotStorage })},
			{"context_paths", contextPathsOf(func(o *Orchestrator) *[]ContextPath { return &o.ContextPaths })},
			{"agent_temporary_workspace", folder(func(o *Orchestrator) *string { return &o.AgentTemporaryWorkspace })},
		}, slices.Concat(deciding, votingKeys())...),
		also:    massgenOrchestratorKeys(),
		massgen: orchestratorMassGenKeys(),
	}
}

func timeoutSection() section[Orchestrator] {
	return section[Orchestrator]{
		keys: []key[Orchestrator]{
			{"orchestrator_timeout_seconds", inSeconds(0.001, func(o *Orchestrator) *time.Duration { return &o.Rules.TurnLimit })},
			{"initial_round_timeout_seconds", inSeconds(0.001, func(o *Orchestrator) *time.Duration { return &o.Rules.FirstRoundLimit }).zero("none")},
			{"subsequent_round_timeout_seconds", inSeconds(0.001, func(o *Orchestrator) *time.Duration { return &o.Rules.RoundLimit }).zero("none")},
			{"round_timeout_grace_seconds", inSeconds(0, func(o *Orchestrator) *time.Duration { return &o.Rules.RoundGrace })},
			{"tool_timeout_seconds", inSeconds(0.001, func(o *Orchestrator) *time.Duration { return &o.ToolTimeout }).
				then(func(o *Orchestrator) { o.Limits.ToolLimit = int(o.ToolTimeout.Milliseconds()) })},
		},
	}
}

func uiSection() section[UI] {
	return section[UI]{
		keys: []key[UI]{
			{"display_type", item[UI]{read: (*reader).displayType, show: func(u *UI) string { return u.DisplayType }}},
		},
		massgen: uiMassGenKeys(),
	}
}
