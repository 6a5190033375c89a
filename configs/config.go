package configs

import (
	"time"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/models/questions"
)

// Config is a whole configuration with every default filled in. It is a plain
// value: whoever holds one may read it concurrently, and nobody changes it once
// it was handed on.
type Config struct {
	// File is what the messages about this configuration call it: a path, or
	// @examples/NAME for a shipped file. It is empty for Default.
	File string
	// Agents stand in the file's order, which breaks ties (DESIGN §4.4).
	Agents       []Agent
	Orchestrator Orchestrator
	UI           UI
	// Context says how much of a conversation's history agents are shown, and when
	// people are warned that it nears the end of a model's context window. It holds
	// for agents that do not say otherwise.
	Context policy.Settings
	// Summary is the backend that sums up older turns for agents whose policy is
	// summarize. It is the first agent's if the file names none, and so are those of
	// Topic and Memory. None of them has a ToolMode.
	Summary Backend
	// Topic finds out what each question does to the topic of its conversation, Memory
	// facts about the user in what was said.
	Topic  Sidecall
	Memory Sidecall
	// Attachments says what becomes of files that a question is asked with and that an agent's
	// model does not take: "refuse" refuses the question, and with "describe" another member of
	// the panel describes them.
	Attachments string
	// Budget is the most that may be spent.
	Budget budget.Budget
	// Permissions are those of all agents' tools.
	Permissions Permissions
	// Servers are the MCP servers that all agents have in common.
	Servers []MCPServer
	// Providers are by backend type.
	Providers map[string]Provider
	// Prices are by "TYPE/MODEL", and add to the table of package prices.
	Prices map[string]prices.Override
	// Prompt is the question where nobody asks one, and SessionID the session where nobody names one.
	Prompt, SessionID string
	// Warnings name the keys and values that MassGen knows and that have no effect
	// here, and what else a user should know of the file.
	Warnings []Issue
	// Remarks are what --validate says beside the warnings, and a run does not.
	Remarks []Issue
	// Dropped names the keys that mean nothing with the preset or strategy that was laid over the file.
	Dropped []Issue
	// MassGen reports whether the file has a key that only MassGen knows.
	MassGen bool

	// Text is the YAML that it was read from, secrets included; empty if it was made otherwise.
	Text string

	secrets *Secrets
	layers  *layers
	// places are issues without a message, one for each key that was read, by its
	// path.
	places map[string]Issue
}

// What Config.Attachments says.
const (
	refuse   = "refuse"
	describe = "describe"
)

// DescribesFiles reports whether files are described for agents whose models do not take them.
func (c *Config) DescribesFiles() bool { return c.Attachments == describe }

// Agent is one member of the panel.
type Agent struct {
	// ID is unique, also when case is ignored, and fit for labels and file names:
	// letters, digits, '_', '-' and '.', 64 characters at most. An agent
	// without one is called agent1, agent2, … by its place in the file.
	ID string
	// SystemMessage is the agent's own, put before what coordination says; empty
	// is none.
	SystemMessage string
	Backend       Backend
	Tools         Tools
	// VotingSensitivity replaces that of the orchestrator; empty keeps it.
	VotingSensitivity string `json:",omitempty"`
	// Context has the agent's own settings and, where it has none, those of all.
	Context policy.Settings
}

// Backend says which model an agent calls, and how.
type Backend struct {
	// Type names a provider, or "auto". It is empty when the file gives a
	// model only; the model's name then decides.
	Type string
	// Model is empty when the provider's default is meant.
	Model string
	// BaseURL is the service's address, empty for the provider's own.
	BaseURL string
	// APIKey is empty when the provider's environment variable is meant. It is
	// never printed.
	APIKey string
	// APIVersion is the version that Azure OpenAI asks for.
	APIVersion string
	// API is "responses" for OpenAI's Responses API, "chat" or empty for its chat completions.
	API string
	// Fallback are the models that are called in their order when this one cannot be
	// used. Of their Params only Headers and ExtraBody count.
	Fallback []Backend
	// ToolMode says how the model is offered the coordination tools: native, json,
	// or auto, which empty means too.
	ToolMode string
	// Params are sent with every call of the agent.
	Params backends.Params
	// Simulated says how a member of type simulated answers, and Answers is the path of the file that
	// its questions are from. They are zero for any other type.
	Simulated questions.Simulation `json:",omitzero"`
	Answers   string               `json:"-"`
}

// novelty says how much a new answer must differ from those its author was
// shown (DESIGN §4.6). The names and fractions are MassGen's.
type novelty string

// The degrees of novelty.
const (
	noveltyLenient  novelty = "lenient"
	noveltyBalanced novelty = "balanced"
	noveltyStrict   novelty = "strict"
)

// maxOverlap returns the effect.Limits.MaxOverlap of a degree: how many thousandths of its words a
// new answer may share with an answer that its author was shown; 0: any number.
func (n novelty) maxOverlap() int {
	switch n {
	case noveltyBalanced:
		return 700
	case noveltyStrict:
		return 500
	}
	return 0
}

// Provider holds what all agents keep to that call one provider with one key. A
// number of 0 is no limit, and where there has to be one, the default.
type Provider struct {
	MaxConcurrentCalls int
	RequestsPerMinute  int
	TokensPerMinute    int
	// MaxCallAttempts is how often a call is sent at most, the first time included.
	MaxCallAttempts int
	// FirstByteTimeout is how long the first byte of an answer may take, IdleTimeout
	// how long the answer may be silent after it.
	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
}

// Sidecall reports whether a call that belongs to no agent is made in each turn, and with
// which model.
type Sidecall struct {
	Made    bool
	Backend Backend
}

// Orchestrator holds the rules of coordination and the limits of steps.
type Orchestrator struct {
	// Deciding says how a turn is decided. Rules follow it.
	Deciding
	// Voting says how votes are counted and what agents are shown.
	Voting
	// Rules have no agents.
	Rules kernel.Config
	// Limits bound a step. They follow AnswerNoveltyRequirement and ToolTimeout, the longest time
	// of a tool call.
	Limits                   effect.Limits
	AnswerNoveltyRequirement novelty
	ToolTimeout              time.Duration
	// PlanningMode has tools that change the world describe what they would do until the
	// winner presents the answer.
	PlanningMode bool
	// PlanningInstruction is what agents are told while they plan; empty for nothing.
	PlanningInstruction string
	// VotingSensitivity and VotingThreshold say how critical agents are before they vote, in MassGen's words;
	// empty and 0 add nothing.
	VotingSensitivity string
	VotingThreshold   int
	// Fair and LeadCap limit the answers that an agent is ahead of others, and SkipPresentation says whether the
	// winner presents. Rules follow them; nil where the file says nothing.
	Fair             *bool
	LeadCap          *int
	SkipPresentation *bool
	// TaskPlans gives each agent tools for a plan of at most MaxTasks tasks (0: 10), and MemoryFiles tools for
	// memories in its folder.
	TaskPlans   bool `json:",omitempty"`
	MaxTasks    int  `json:",omitempty"`
	MemoryFiles bool `json:",omitempty"`
	// SnapshotStorage is the folder that keeps agents' workspaces as they were when they
	// answered, relative to the current one unless it is absolute; empty is the default.
	SnapshotStorage string
	// ContextPaths are shown to all agents that have a folder of their own.
	ContextPaths []ContextPath
	// AgentTemporaryWorkspace is the folder in which each agent's commands find the
	// answers' folders, under its id; empty is one that goes with the run.
	AgentTemporaryWorkspace string
}

// The types of display.
const (
	displaySimple = "simple"
	DisplaySilent = "silent"
)

// UI says how progress is shown.
type UI struct {
	// DisplayType is displaySimple, a few lines for each round, or DisplaySilent.
	// What MassGen has beside these is displaySimple here.
	DisplayType string
}

// Default is the configuration of an empty file: every default, and no agents.
// The rules are kernel.Defaults, under the time limits of a program that people
// wait for.
func Default() *Config {
	rules := kernel.Defaults()
	rules.TurnLimit, rules.RoundGrace = 30*time.Minute, 2*time.Minute
	return &Config{
		Orchestrator: Orchestrator{
			Rules:                    rules,
			Limits:                   effect.DefaultLimits(),
			AnswerNoveltyRequirement: noveltyLenient,
			ToolTimeout:              2 * time.Minute,
		},
		Attachments: refuse,
		UI:          UI{DisplayType: displaySimple},
		Context:     policy.Defaults(),
		secrets:     &Secrets{},
		layers:      &layers{given: map[string]bool{}, presets: map[string]*yaml.Node{}},
	}
}
