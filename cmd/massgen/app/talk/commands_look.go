package talk

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// status shows the session as it is in the store now, where another process may have
// gone on with it.
func (d *dialogue) status(string) error {
	ctx := context.Background()
	kept, err := d.s.store.Sessions.Session(ctx, d.s.chat.id)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return fmt.Errorf("/status: %w", err)
	}
	state := "ready"
	if err == nil {
		last, left, err := archive.LastTurn(ctx, d.s.store, d.s.chat.id)
		switch {
		case err != nil:
			return fmt.Errorf("/status: %w", err)
		case left:
			state = fmt.Sprintf("turn %d was interrupted: %s; another question leaves it without an answer", last.Number, wording.Quoted(last.Question))
		case last.Status == sessions.Running:
			state = fmt.Sprintf("turn %d is running, in another process: %s", last.Number, wording.Quoted(last.Question))
		}
	}
	rows := [][]string{{"session", d.s.chat.id}, {"panel", d.s.asked.panel.Names()}, {"state", state}}
	topic, err := d.s.asked.panel.Topic(ctx, d.s.chat.id)
	if err != nil {
		return fmt.Errorf("/status: %w", err)
	}
	if topic.Current != nil {
		rows = append(rows, []string{"topic", topic.Current.Name})
	}
	if p := topic.Pending; p != nil {
		rows = append(rows, []string{"pending topic", fmt.Sprintf("%s, for the question %s; /topic yes or /topic no", p.Topic.Name, wording.Quoted(p.Question))})
	}
	tokens := kept.Usage
	tokens.CostUSD = nil // it has a row of its own
	d.show(append(rows,
		[]string{"turns", strconv.Itoa(kept.Turns)}, []string{"messages", strconv.Itoa(kept.Messages)},
		[]string{"usage", tokens.Words()}, []string{"cost", kept.Usage.Price()}, []string{"kept", d.kept()}))
	return nil
}

// kept says where the session is kept.
func (d *dialogue) kept() string {
	if !d.s.store.Lasts() {
		return "in memory, for this run only"
	}
	return "in " + d.s.store.Path()
}

// show writes rows as columns says.
func (d *dialogue) show(rows [][]string) { d.s.console.Write(plain.Columns(rows)) }

// showContext shows how each agent stands to what its model can read.
func (d *dialogue) showContext(string) error {
	ctx := context.Background()
	turns, err := d.s.store.Sessions.Turns(ctx, d.s.chat.id, 0)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return fmt.Errorf("/context: %w", err)
	}
	previews, err := d.s.asked.panel.Preview(ctx, d.s.chat.id, inspect.NewestLink(turns))
	if err != nil {
		return fmt.Errorf("/context: %w", err)
	}
	d.show(wording.ContextTable(inspect.Agents(previews)))
	d.s.console.Say("Counted is the first input of the next turn, without its question.")
	return nil
}

// mostTurns is how many turns /usage lists.
const mostTurns = 20

// showUsage shows what the last turns have cost, and the session.
func (d *dialogue) showUsage(string) error {
	ctx := context.Background()
	kept, err := d.s.store.Sessions.Session(ctx, d.s.chat.id)
	if errors.Is(err, sessions.ErrNoSession) {
		return errors.New("/usage: there is none yet: ask a question first")
	}
	if err != nil {
		return fmt.Errorf("/usage: %w", err)
	}
	turns, err := d.s.store.Sessions.Turns(ctx, d.s.chat.id, mostTurns)
	if err != nil {
		return fmt.Errorf("/usage: %w", err)
	}
	rows := [][]string{{"TURN", "CALLS", "TOKENS IN", "CACHED", "TOKENS OUT", "REASONING", "COST"}}
	for _, t := range turns {
		if t.Number > kept.ParentTurn && t.Status != sessions.Running {
			rows = append(rows, usageRow(strconv.Itoa(t.Number), t.Usage))
		}
	}
	d.show(append(rows, usageRow("all", kept.Usage)))
	if kept.ParentTurn > 0 {
		d.s.console.Say("The turns up to %d were paid for in %s.", kept.ParentTurn, plain.Line(kept.Parent))
	}
	return nil
}

func usageRow(name string, u budget.Usage) []string {
	row := []string{name, plain.Thousands(u.Calls), plain.Thousands(u.InputTokens), plain.Thousands(u.CachedInputTokens), plain.Thousands(u.OutputTokens), plain.Thousands(u.ReasoningTokens), u.Price()}
	if u.UnknownCalls > 0 {
		row[1] += fmt.Sprintf(" (%d of unknown usage)", u.UnknownCalls)
	}
	return row
}
