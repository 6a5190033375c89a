package massgen

import (
	"context"
	"log/slog"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// Option changes how Load and New make a panel.
type Option func(*panels.Settings)

// The types of options' arguments.
type (
	// ApprovalRequest asks a person whether a tool call may run.
	ApprovalRequest = coordinator.ApprovalRequest
	// Decision is the person's answer. The model gets the reason of a denial.
	Decision = coordinator.Decision
	// Recorder keeps model calls exactly as they were sent.
	Recorder = debugbackend.Recorder
	// RecorderOptions name the folder that a Recorder writes to, and how many calls it keeps
	// in memory.
	RecorderOptions = debugbackend.Options
	// Rules are the rules of coordination.
	Rules = kernel.Config
	// Store keeps sessions; sessions.NewMemory makes one, and sqlite.Open opens one.
	Store = sessions.Keeper
)

// WithAfterTurn calls f when a turn has its result and its answer is in the session, before Turn.Wait returns. An error
// or a panic of f is the turn's error beside the result. f must not wait for the turn, and must not close the panel.
// Several of these options are called in their order.
func WithAfterTurn(f func(ctx context.Context, t *Turn, r Result) error) Option {
	return func(s *panels.Settings) {
		if f != nil {
			s.AfterTurn = append(s.AfterTurn, f)
		}
	}
}

// WithApproval sets the function that decides about tool calls that the config's permissions
// leave to a person. It is called for one call at a time in a turn.
func WithApproval(f func(ctx context.Context, request ApprovalRequest) (Decision, error)) Option {
	return func(s *panels.Settings) { s.Approve = f }
}

// WithBeforeTurn calls f before a turn is accepted. An error of f refuses the turn: Panel.Ask and Panel.Run return it.
// Several of these options are called in their order, up to the first error.
func WithBeforeTurn(f func(ctx context.Context, t *Turn) error) Option {
	return func(s *panels.Settings) {
		if f != nil {
			s.BeforeTurn = append(s.BeforeTurn, f)
		}
	}
}

// WithFacts has the model of an agent look for facts about the user after each answer. Later turns of the user's sessions
// get the facts. The zero Agent means the model of the panel's first agent.
func WithFacts(by Agent) Option {
	return func(s *panels.Settings) { s.Facts = sidecall(s, by) }
}

// WithLogger logs the steps of turns, and warnings; without it nothing is logged. The logger's handler must
// not begin turns of the panel, and must not close it: Close would wait for the handler for ever.
func WithLogger(l *slog.Logger) Option {
	return func(s *panels.Settings) {
		if l != nil {
			s.Log = l
		}
	}
}

// WithPreset decides turns as a preset says: one of the config's, or council, blind, fusion, pick or
// quick.
func WithPreset(name string) Option { return func(s *panels.Settings) { s.Preset = name } }

// WithRecorder makes Panel.Recorder keep every model call, without the keys that the panel
// knows.
func WithRecorder(o RecorderOptions) Option { return func(s *panels.Settings) { s.Record = &o } }

// WithRules lets f change the rules of the config, or the default ones.
func WithRules(f func(*Rules)) Option {
	return func(s *panels.Settings) {
		if f != nil {
			s.Rules = append(s.Rules, f)
		}
	}
}

// WithStateDir keeps sessions in a folder, which is created if needed.
func WithStateDir(dir string) Option { return func(s *panels.Settings) { s.Place = store.In(dir) } }

// WithStore keeps sessions in a store that the caller closes.
func WithStore(kept Store) Option {
	return func(s *panels.Settings) {
		if kept != nil {
			s.Store = store.Of(kept, s.Secrets.Redact)
		}
	}
}

// WithStrategy decides turns by a strategy: consensus, blind, majority, judge or cascade. It lies over
// the config and a preset.
func WithStrategy(name string) Option { return func(s *panels.Settings) { s.Strategy = name } }

// WithTools gives all agents tools beside their own.
func WithTools(tools ...agents.Tool) Option {
	return func(s *panels.Settings) { give(s, func(int) []agents.Tool { return tools }) }
}

// WithTopic has the model of an agent find what each question does to the topic of its session, before the panel's
// agents are asked. The agents are told the topic. The zero Agent means the model of the panel's first agent.
func WithTopic(by Agent) Option {
	return func(s *panels.Settings) { s.Topic = sidecall(s, by) }
}

// sidecall returns the model of an agent for calls that belong to no agent.
func sidecall(s *panels.Settings, by Agent) *panels.Sidecall {
	hide(s.Secrets, by)
	return &panels.Sidecall{Backend: by.backend(), Own: by.Backend}
}
