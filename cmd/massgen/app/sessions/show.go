package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/cmd/massgen/internal/findings"
	"github.com/massgen/massgen/cmd/massgen/internal/inspect"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// shownSession is a session as sessions show --json prints it.
type shownSession struct {
	inspect.Session
	// Panel is what the session remembers of the panel that it was begun with, absent if nothing.
	Panel *archive.Remembered `json:"panel,omitempty"`

	finish string // the command that finishes the interrupted turn
}

// look reads all that is shown of a session.
func (c *command) look(ctx context.Context, store *store.Store, kept sessions.Session) (shownSession, error) {
	read, err := inspect.Read(ctx, store.Sessions, kept, c.console.Warn)
	if err != nil {
		return shownSession{}, err
	}
	shown := shownSession{Session: read}
	if read.Interrupted != nil {
		shown.finish = c.kept.Finishing(kept.ID)
		if shown.Unfinished, err = withoutResult(ctx, c.kept, store, kept.ID, read.Left); err != nil {
			c.console.Warn(err.Error())
		}
	}
	if shown.Panel, err = archive.RecallFrom(c.env.Lookup, kept); err != nil && !errors.Is(err, archive.ErrForeign) {
		c.console.Warn(err.Error())
	}
	if shown.Panel != nil {
		shown.Panel.Mark = ""
		delete(shown.Metadata, archive.MetaPanel)
	}
	maps.DeleteFunc(shown.Metadata, isOfServer)
	return shown, c.lookAtAgents(ctx, store, &shown)
}

// withoutResult returns the calls of an interrupted turn that have no result. The error says
// why the turn cannot be gone on with.
func withoutResult(ctx context.Context, s *archive.Archive, store *store.Store, id string, left sessions.Turn) ([]coordinator.UnfinishedCall, error) {
	unfinished, err := inspect.Unfinished(ctx, store.Sessions, id, left)
	if err != nil {
		return nil, fmt.Errorf("%w; %s shows it, --continue --fresh starts the turn over", err, s.Command("replay", id))
	}
	return unfinished, nil
}

func (c *command) showSession(ctx context.Context, store *store.Store, words []string) error {
	kept, _, err := c.kept.Pick(ctx, store, words, 0)
	if err != nil {
		return err
	}
	shown, err := c.look(ctx, store, kept)
	if err != nil {
		return err
	}
	if c.kept.IsJSON() {
		return c.console.PutJSON(shown)
	}
	var b strings.Builder
	b.WriteString(plain.Columns(shown.rows()))
	if len(shown.Agents) > 0 {
		b.WriteString("\n" + plain.Columns(wording.ContextTable(shown.Agents)))
	}
	for _, t := range shown.Turns {
		fmt.Fprintf(&b, "\n--- turn %d, %s ---\n", t.Number, plain.Line(shown.state(t)))
		b.WriteString(wording.WithNewline(wording.Printable(t.Question)))
		state, err := inspect.State(ctx, store.Sessions, kept.ID, t.Number, c.console.Secrets.Redact)
		if err != nil {
			c.console.Warn(err.Error())
		}
		b.WriteString(newsLines(state))
		b.WriteString(decisionLines(t, state))
		b.WriteString(wording.PartialTexts(t.Partials))
		if t.Answer != "" {
			b.WriteString("\n" + wording.WithNewline(wording.Printable(t.Answer)))
		}
		b.WriteString(answerLines(t))
		if t.Snapshot != "" {
			fmt.Fprintf(&b, "\nthe winner's work: %s\n", plain.Line(t.Snapshot))
		}
	}
	return c.console.Put(b.String())
}

// answerLines are the answers of a turn beside the winning one.
func answerLines(t inspect.Turn) string {
	var b strings.Builder
	for _, a := range t.Answers {
		if a.Agent != t.Winner || a.Content != t.Answer {
			fmt.Fprintf(&b, "\n%s:\n%s", plain.Line(a.Label), wording.WithNewline(wording.Printable(a.Content)))
		}
	}
	return b.String()
}

// decisionLines are about how a turn was decided, behind an empty line.
func decisionLines(t inspect.Turn, s *report.State) string {
	var agents []string
	for _, a := range s.Agents {
		agents = append(agents, a.ID)
	}
	lines := findings.Turn(t.Decision, agents, false)
	if lines == nil {
		return ""
	}
	return "\n  " + strings.Join(lines, "\n  ") + "\n"
}

// newsLines has a line for each sentence about a turn, behind an empty one. A note names the agents that have seen it,
// and a vote that a newer answer made void says so. That an agent begins goes without saying where it is alone.
func newsLines(s *report.State) string {
	var b strings.Builder
	for _, n := range s.News {
		if s.IsAlone() && n.Kind == "step_started" {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\n")
		}
		b.WriteString("  " + n.String())
		switch n.Kind {
		case "noted":
			b.WriteString(" (seen by " + cmp.Or(plain.List(s.Notes[n.Index].SeenBy), "nobody") + ")")
		case "voted":
			why := s.Acts[n.Index].Void
			if void := " (void: " + why + ")"; why != "" && !strings.Contains(n.Text, void) {
				b.WriteString(void)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// rows are what is known of a session beside its turns.
func (s shownSession) rows() [][]string {
	rows := [][]string{{"session", s.ID}, {"title", wording.TitleOf(s.Session.Session)}}
	if s.Parent != "" {
		rows = append(rows, []string{"branch of", fmt.Sprintf("%s, after turn %d", s.Parent, s.ParentTurn)})
	}
	if s.Panel != nil {
		rows = append(rows, []string{"panel", s.Panel.Name()})
		if limits := s.Panel.Limits(); limits != "" {
			rows = append(rows, []string{"limits", limits + " for all turns together"})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		if key != coordinator.MetaSummary && key != coordinator.MetaSpent { // other rows show both
			rows = append(rows, []string{key, s.Metadata[key]})
		}
	}
	if s.Summary != "" {
		rows = append(rows, []string{"summary", s.Summary})
	}
	rows = append(rows, []string{"created", wording.Moment(s.Created)}, []string{"last used", wording.Moment(s.Updated)})
	rows = append(rows, s.stateRows()...)
	rows = append(rows,
		[]string{"usage", s.Usage.Words()},
		[]string{"history", fmt.Sprintf("%s · %s characters · %s", plain.Count(s.Messages, "message"), plain.Thousands(s.CharCount), s.contextSize())})
	if len(s.Agents) > 0 {
		rows = append(rows, []string{"context warning", s.ContextWarning})
	}
	if t := s.Interrupted; t != nil {
		rows = append(rows, []string{"interrupted", fmt.Sprintf("turn %d; %s finishes it", t.Number, s.finish)}, []string{"unfinished", wording.UnfinishedCalls(s.Unfinished)})
	}
	return rows
}

// contextSize describes the size of the next input, or of the history alone if no panel is known.
func (s shownSession) contextSize() string {
	tokens := plain.Thousands(s.ContextSize) + " tokens"
	switch {
	case len(s.Agents) == 0:
		return fmt.Sprintf("about %s (an estimate, %d bytes each)", tokens, prices.BytesPerToken)
	case s.ContextSizeEstimated:
		tokens = "about " + tokens
	}
	return tokens + " in the next input"
}

// stateRows are what is known of the topics, the greeting and the page.
func (s shownSession) stateRows() (rows [][]string) {
	if s.Current != nil {
		rows = append(rows, []string{"topic", strings.ReplaceAll(s.Current.String(), "\n", " · ")})
	}
	if s.Pending != nil {
		rows = append(rows, []string{"pending topic", fmt.Sprintf("%s, for the question %s", s.Pending.Topic.Name, wording.Quoted(s.Pending.Question))})
	}
	if s.Greeted {
		rows = append(rows, []string{"greeting", "given, last message " + wording.Moment(s.LastMessage)})
	}
	for _, part := range [][]string{{"page", s.Page.CurrentPage}, {"page's user", s.Page.User}, {"previous topic", s.Page.PreviousTopic}} {
		if part[1] != "" {
			rows = append(rows, part)
		}
	}
	return rows
}

// state is what a turn came to.
func (s shownSession) state(t inspect.Turn) string {
	switch {
	case s.Interrupted != nil && s.Interrupted.Number == t.Number:
		return "not finished" // "interrupted" is one that an interrupt has ended
	case t.Winner != "":
		return t.Status + ", by " + t.Winner
	}
	return t.Status
}

func (c *command) showUsage(ctx context.Context, store *store.Store, words []string) error {
	var total budget.Usage
	var err error
	if len(words) == 0 {
		var all sessions.Totals
		all, err = sessions.AddUp(ctx, store.Sessions, sessions.Filter{})
		total = all.Usage
	} else {
		var kept sessions.Session
		kept, _, err = c.kept.Pick(ctx, store, words, 0)
		total = kept.Usage
	}
	if err != nil {
		return err
	}
	if c.kept.IsJSON() {
		return c.console.PutJSON(total)
	}
	return c.console.Put(plain.Columns([][]string{
		{"calls", plain.Thousands(total.Calls)},
		{"input tokens", plain.Thousands(total.InputTokens)},
		{"of them cached", plain.Thousands(total.CachedInputTokens)},
		{"output tokens", plain.Thousands(total.OutputTokens)},
		{"of them reasoning", plain.Thousands(total.ReasoningTokens)},
		{"calls of unknown usage", plain.Thousands(total.UnknownCalls)},
		{"cost", total.Price()},
	}))
}

// quotation is a text as a quotation of Markdown: nothing in it can look like a part of what
// quotes it.
func quotation(text string) string {
	lines := strings.Split(strings.TrimRight(wording.Printable(text), "\n"), "\n")
	return "> " + strings.Join(lines, "\n> ") + "\n"
}

// inMarkdown writes a session for people to read. What was said is quoted.
func inMarkdown(s sessions.Session, turns []sessions.Turn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nSession %s, from %s to %s (UTC).\n", plain.Line(s.Title), plain.Line(s.ID),
		s.Created.UTC().Format("2006-01-02 15:04"), s.Updated.UTC().Format("2006-01-02 15:04"))
	for _, t := range turns {
		fmt.Fprintf(&b, "\n## Turn %d\n\n**Question**\n\n%s", t.Number, quotation(t.Question))
		if t.Answer == "" {
			fmt.Fprintf(&b, "\nThere is no answer (%s).\n", t.Status)
			continue
		}
		fmt.Fprintf(&b, "\n**Answer of %s** (%s)\n\n%s", plain.Line(t.Winner), t.Status, quotation(t.Answer))
	}
	return b.String()
}

// lookAtAgents adds what the agents would be shown, if the options name a panel.
func (c *command) lookAtAgents(ctx context.Context, store *store.Store, shown *shownSession) (err error) {
	if !c.panels.Flags.IsNamed() {
		return nil
	}
	panel, _, err := c.panels.Look(ctx, store, c.console.Warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, panel.Close()) }()
	previews, err := panel.Preview(ctx, shown.ID, shown.Link)
	if err != nil {
		return err
	}
	shown.SetAgents(previews)
	return nil
}
