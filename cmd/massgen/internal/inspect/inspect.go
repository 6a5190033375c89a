// Package inspect reads stored sessions for people: their turns and topics, the events of a turn, and the
// inputs of its calls. It calls no model.
package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/setup/sidecalls"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Session is a session as sessions show --json prints it.
type Session struct {
	sessions.Session
	TurnCount int    `json:"turn_count"`
	Turns     []Turn `json:"turns"` // in place of the session's number of turns
	// Interrupted is the turn that a process left unfinished, absent without one.
	Interrupted *Turn `json:"interrupted,omitempty"`
	// Unfinished has the calls of that turn without a result. Read does not set it.
	Unfinished []coordinator.UnfinishedCall `json:"unfinished,omitempty"`
	// State has the session's topics, greeting and page (seed 002), which Metadata lacks here.
	// ShouldGreet reports whether a greeting would be right now.
	topic.State
	ShouldGreet bool `json:"should_greet"`
	// History is the section about all earlier turns in the next turn's inputs, by the policy full;
	// empty without any. Agents with another policy or a full context see less (Agents).
	History string `json:"history"`
	// HistoryMessages are the messages that the model of a panel of one is sent in place of History, with the
	// tools' calls and results. A larger panel has none.
	HistoryMessages []backends.Message `json:"history_messages,omitempty"`
	Size
	// ContextWarning is the worst of the agents' warnings, NoWarning without a config.
	ContextWarning string `json:"context_warning"`
	// Agents has the agents of a panel, absent without one.
	Agents []Agent `json:"agents,omitempty"`

	// Left is the interrupted turn as the store has it. Link is the newest link of the history.
	// Summary is the stored summary of this history in words, empty without one.
	Left    sessions.Turn `json:"-"`
	Link    blob.Ref      `json:"-"`
	Summary string        `json:"-"`
}

// Size has the length of a history.
type Size struct {
	// CharCount counts the characters of the history: the questions that have an
	// answer, and the answers.
	CharCount int `json:"char_count"`
	// ContextSize counts the tokens of the next input without its question, with the tools that it
	// offers: the count of the agent with the most. Without a panel it estimates the history alone,
	// with the tool calls and results in it, at three bytes each.
	ContextSize          int  `json:"context_size_estimate"`
	ContextSizeEstimated bool `json:"context_size_is_estimate"`
}

// Turn is a turn with what happened in it.
type Turn struct {
	Number   int           `json:"number"`
	Question string        `json:"question"`
	Answer   string        `json:"answer"`
	Winner   string        `json:"winner"`
	Status   kernel.Status `json:"status"`
	// Snapshot is the folder with the copy of the winner's workspace at the time of its answer. It is
	// "" without one, and for a turn that a branch shares with its session.
	Snapshot string `json:"snapshot"`
	// Record is as in the result of --json. It is empty for a turn that a branch shares.
	report.Record
}

// ReadTurn returns a turn with its record. If it cannot read the record, it passes the reason to warn and
// returns the rest.
func ReadTurn(ctx context.Context, s *sessions.Store, session string, t sessions.Turn, warn func(string)) Turn {
	kept, err := coordinator.ReadRecord(ctx, s, session, t.Number)
	if err != nil {
		warn(err.Error())
	}
	return Turn{t.Number, t.Question, t.Answer, t.Winner, t.Status, kept.Final.Dir, kept}
}

// Read reads a session, except its Unfinished calls and its Agents. It passes errors about a turn or the
// metadata to warn, and returns errors of the store.
func Read(ctx context.Context, s *sessions.Store, kept sessions.Session, warn func(string)) (Session, error) {
	turns, err := s.Turns(ctx, kept.ID, 0)
	if err != nil {
		return Session{}, err
	}
	left, err := s.Interrupted(ctx, kept.ID)
	if err != nil {
		return Session{}, err
	}
	shown := Session{
		Session: kept, TurnCount: kept.Turns, Turns: []Turn{}, Size: Size{ContextSizeEstimated: true},
		ContextWarning: NoWarning, Link: NewestLink(turns),
	}
	for _, t := range turns {
		shown.Turns = append(shown.Turns, ReadTurn(ctx, s, kept.ID, t, warn))
	}
	if err := shown.measure(ctx, s, turns); err != nil {
		return Session{}, err
	}
	if n := len(shown.Turns); n > 0 && len(shown.Turns[n-1].StepStates) == 1 {
		history, err := readSolo(ctx, s, shown.Link)
		if err != nil {
			warn(err.Error())
		} else {
			shown.HistoryMessages = soloMessages(history)
		}
	}
	if len(left) > 0 {
		shown.Left = left[0]
		shown.Interrupted = new(ReadTurn(ctx, s, kept.ID, left[0], warn))
	}
	if shown.State, err = sidecalls.ReadTopic(kept); err != nil {
		warn(err.Error())
	} else {
		delete(shown.Metadata, sidecalls.MetaTopic)
	}
	if shown.Summary, err = summaryOf(kept, turns); err != nil {
		warn(err.Error())
	}
	if !shown.Greeted {
		if shown.LastMessage, err = sidecalls.LastMessage(ctx, s, kept.ID); err != nil {
			return Session{}, err
		}
	}
	shown.ShouldGreet = shown.State.ShouldGreet(time.Now())
	return shown, nil
}

// summaryOf returns the stored summary of a session in words, or "" for a summary of turns that the
// session does not have, which a branch may inherit.
func summaryOf(kept sessions.Session, turns []sessions.Turn) (string, error) {
	data := kept.Metadata[coordinator.MetaSummary]
	if data == "" {
		return "", nil
	}
	var s coordinator.KeptSummary
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return "", fmt.Errorf("the summary of session %s cannot be read: %w", kept.ID, err)
	}
	if !slices.ContainsFunc(turns, func(t sessions.Turn) bool { return t.Winner != "" && t.Link == s.Link }) {
		return "", nil
	}
	return fmt.Sprintf("of turns %d to %d: %s", s.First, s.Last, plain.Line(s.Text)), nil
}

// measure builds the history of the turns that have an answer, and measures it.
func (s *Session) measure(ctx context.Context, texts *sessions.Store, turns []sessions.Turn) error {
	var history []contextbuild.Exchange
	size, said := 0, 0
	for _, t := range turns {
		if t.Winner == "" {
			continue
		}
		history = append(history, contextbuild.Exchange{Turn: t.Number, Question: t.Question, Answer: t.Answer})
		s.CharCount += utf8.RuneCountInString(t.Question) + utf8.RuneCountInString(t.Answer)
		size += len(t.Question) + len(t.Answer)
		between, err := agents.MessagesBetween(ctx, texts, t)
		if err != nil {
			return err
		}
		for _, m := range between {
			said += prices.Counter{}.Message(m).Tokens
		}
	}
	s.History = contextbuild.HistorySection(history)
	s.ContextSize = (size+prices.BytesPerToken-1)/prices.BytesPerToken + said
	return nil
}

// SetAgents sets Agents, and by them ContextWarning and ContextSize.
func (s *Session) SetAgents(previews []coordinator.Preview) {
	s.Agents = Agents(previews)
	for i, a := range s.Agents {
		if i == 0 || a.Tokens > s.ContextSize {
			s.ContextSize, s.ContextSizeEstimated = a.Tokens, a.Estimated
		}
		if s.ContextWarning != string(policy.AtLimit) && a.Warning != NoWarning {
			s.ContextWarning = a.Warning
		}
	}
}

// NewestLink returns the newest link of the history of turns, or zero if no turn has an answer.
func NewestLink(turns []sessions.Turn) blob.Ref {
	for _, t := range slices.Backward(turns) {
		if t.Link != (blob.Ref{}) {
			return t.Link
		}
	}
	return blob.Ref{}
}

// Unfinished returns the calls of an interrupted turn without a result. The error says why the turn cannot
// continue.
func Unfinished(ctx context.Context, r coordinator.Recording, session string, left sessions.Turn) ([]coordinator.UnfinishedCall, error) {
	replayed, err := coordinator.Replay(ctx, r, session, left)
	if err != nil {
		return nil, fmt.Errorf("turn %d cannot be gone on with: %w", left.Number, err)
	}
	return replayed.Unfinished, nil
}
