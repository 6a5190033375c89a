package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// status shows the session as it is in the store now, where another process may have
// gone on with it.
func (s *session) status(string) error {
	ctx := context.Background()
	kept, err := s.store.Session(ctx, s.id)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return fmt.Errorf("/status: %w", err)
	}
	state := "ready"
	if err == nil {
		last, left, err := lastTurn(ctx, s.store, s.id)
		switch {
		case err != nil:
			return fmt.Errorf("/status: %w", err)
		case left:
			state = fmt.Sprintf("turn %d was interrupted: %s; another question leaves it without an answer", last.Number, quoted(last.Question))
		case last.Status == sessions.Running:
			state = fmt.Sprintf("turn %d is running, in another process: %s", last.Number, quoted(last.Question))
		}
	}
	rows := [][]string{{"session", s.id}, {"panel", s.parts.Names(s.config)}, {"state", state}}
	topic, err := s.parts.Sidecalls.Topic(ctx, s.id)
	if err != nil {
		return fmt.Errorf("/status: %w", err)
	}
	if topic.Current != nil {
		rows = append(rows, []string{"topic", topic.Current.Name})
	}
	if p := topic.Pending; p != nil {
		rows = append(rows, []string{"pending topic", fmt.Sprintf("%s, for the question %s; /topic yes or /topic no", p.Topic.Name, quoted(p.Question))})
	}
	tokens := kept.Usage
	tokens.CostUSD = nil // it has a row of its own
	s.show(append(rows,
		[]string{"turns", strconv.Itoa(kept.Turns)}, []string{"messages", strconv.Itoa(kept.Messages)},
		[]string{"usage", usage(turn.Usage(tokens))}, []string{"cost", cost(kept.Usage)}, []string{"kept", s.kept()}))
	return nil
}

// kept says where the session is kept.
func (s *session) kept() string {
	if !s.store.Lasts() {
		return "in memory, for this run only"
	}
	return "in " + s.store.Path()
}

// show writes rows as columns says.
func (s *session) show(rows [][]string) { s.console.write(columns(rows)) }

// showContext shows how each agent stands to what its model can read.
func (s *session) showContext(string) error {
	ctx := context.Background()
	turns, err := s.store.Turns(ctx, s.id, 0)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return fmt.Errorf("/context: %w", err)
	}
	previews, err := s.parts.Preview(ctx, s.id, newestLink(turns))
	if err != nil {
		return fmt.Errorf("/context: %w", err)
	}
	s.show(contextTable(shownAgents(previews)))
	s.console.say("Counted is the first input of the next turn, without its question.")
	return nil
}

// mostTurns is how many turns /usage lists.
const mostTurns = 20

// showUsage shows what the last turns have cost, and the session.
func (s *session) showUsage(string) error {
	ctx := context.Background()
	kept, err := s.store.Session(ctx, s.id)
	if errors.Is(err, sessions.ErrNoSession) {
		return errors.New("/usage: there is none yet: ask a question first")
	}
	if err != nil {
		return fmt.Errorf("/usage: %w", err)
	}
	turns, err := s.store.Turns(ctx, s.id, mostTurns)
	if err != nil {
		return fmt.Errorf("/usage: %w", err)
	}
	rows := [][]string{{"TURN", "CALLS", "INPUT TOKENS", "CACHED", "OUTPUT TOKENS", "COST"}}
	for _, t := range turns {
		if t.Number > kept.ParentTurn && t.Status != sessions.Running {
			rows = append(rows, usageRow(strconv.Itoa(t.Number), t.Usage))
		}
	}
	s.show(append(rows, usageRow("all", kept.Usage)))
	if kept.ParentTurn > 0 {
		s.console.say("The turns up to %d were paid for in %s.", kept.ParentTurn, oneLine(kept.Parent))
	}
	return nil
}

func usageRow(name string, u sessions.Usage) []string {
	row := []string{name, thousands(u.Calls), thousands(u.InputTokens), thousands(u.CachedInputTokens), thousands(u.OutputTokens), cost(u)}
	if u.UnknownCalls > 0 {
		row[1] += fmt.Sprintf(" (%d of unknown usage)", u.UnknownCalls)
	}
	return row
}
