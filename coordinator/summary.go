package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Summarizer makes the summaries of older turns.
type Summarizer struct {
	SidecallModel
	// Window is the number of tokens that its model can read, 0 if unknown, and Counter counts
	// them.
	Window  int
	Counter prices.Counter
}

func (s *Summarizer) check() error {
	if s != nil && s.Backend == nil {
		return errors.New("the summarizer has no backend")
	}
	return nil
}

// room returns the most tokens of a call for a summary.
func (s *Summarizer) room() int {
	output := 0
	if s.Params.MaxTokens != nil {
		output = *s.Params.MaxTokens
	}
	return policy.Room(s.Window, 0, output, 1)
}

// MetaSummary is the key of a session's metadata for its newest summary, a KeptSummary as JSON.
// The turns themselves stay in the store. No id can set the key (sessions.ParseID), because it
// has a colon.
const MetaSummary = "massgen:summary"

// KeptSummary is a summary as a session keeps it: the turns that it covers, and its text.
type KeptSummary struct {
	policy.Range
	Text string `json:"text"`
	// Link is the link of the last turn in the history that the summary covers.
	Link blob.Ref `json:"link"`
}

func (v *view) keepSummary(ctx context.Context, session string, kept []byte) error {
	return v.panel.opts.Store.SetMetadata(ctx, session, map[string]string{MetaSummary: string(kept)})
}

// summary returns the newest summary of the turns before this one, which may be nil. A parent session's
// summary does not count if this session branched off before the summary's last turn: it covers other
// turns. An unreadable summary, such as an import may have, does not count either: the next one
// summarizes the turns themselves.
func (p *Panel) summary(ctx context.Context, d *effect.Turn) (*effect.Summary, error) {
	if !summarizes(p.opts.Agents) || d.History == (blob.Ref{}) {
		return nil, nil
	}
	session, err := p.opts.Store.Session(ctx, d.Session)
	if err != nil {
		return nil, err
	}
	kept, ok := readKept(session.Metadata[MetaSummary])
	if !ok {
		return nil, nil
	}
	link, err := linkOf(ctx, p.opts.Store, d.History, kept.Last)
	if err != nil || link == (blob.Ref{}) || link != kept.Link {
		return nil, err
	}
	text, err := p.opts.Store.Put(ctx, []byte(kept.Text))
	return &effect.Summary{Range: kept.Range, Text: text}, err
}

// readKept reads a summary as a session keeps it. ok is false if data is not a summary.
func readKept(data string) (kept KeptSummary, ok bool) {
	err := json.Unmarshal([]byte(data), &kept)
	return kept, err == nil && kept.First == 1 && kept.Last >= 1
}

// linkOf returns the link of a turn in the history that ends with head, zero if the history has
// no such turn.
func linkOf(ctx context.Context, texts sessions.Texts, head blob.Ref, turn int) (blob.Ref, error) {
	at := head
	for link, err := range sessions.Chain(ctx, texts, head) {
		switch {
		case err != nil:
			return blob.Ref{}, err
		case link.Turn == turn:
			return at, nil
		case link.Turn < turn:
			return blob.Ref{}, nil
		}
		at = link.Previous
	}
	return blob.Ref{}, nil
}

// describeSummary stores the input of the call for a new summary: the turns from the earlier
// summary up to a turn, or as many of them as the model can read.
func (p *Panel) describeSummary(ctx context.Context, d *effect.Turn, covers policy.Range) (effect.Sidecall, error) {
	s := p.opts.Summarizer
	count := func(m backends.Message) int { return s.Counter.Message(m).Tokens }
	earlier, turns, err := agents.Unsummarized(ctx, p.opts.Store, d, covers.Last)
	if err != nil {
		return effect.Sidecall{}, err
	}
	room := s.room()
	messages, covered := contextbuild.SummaryCall(earlier, turns, policy.SummaryWords(room), room, count)
	sidecall, err := agents.DescribeSidecall(ctx, p.opts.Store, effect.Summarizing, s.Model, s.Params, messages, nil)
	sidecall.Covers = policy.Range{First: 1, Last: turns[covered-1].Turn}
	return sidecall, err
}

// stepSummarizer returns the model that summarizes the omitted messages of steps, nil if no
// agent's policy needs one.
func (p *Panel) stepSummarizer(ctx context.Context) (*effect.StepSummarizer, error) {
	if !summarizes(p.opts.Agents) {
		return nil, nil
	}
	s := p.opts.Summarizer
	params := s.Params
	params.Headers, params.ExtraBody = nil, nil // they belong to its member
	ref, err := agents.PutJSON(ctx, p.opts.Store, params)
	by := &effect.StepSummarizer{Model: s.Model, Params: ref}
	if room := s.room(); room != policy.Unlimited {
		by.Bytes = max(room*prices.BytesPerToken, 1)
	}
	return by, err
}

// summaryReader reads the replies to calls for a summary. It is nil if the panel makes no summaries.
type summaryReader struct {
	panel *Panel
	// warned gets the context warnings that hold with the last summary.
	warned chan []report.AgentContextWarning
}

func newSummaryReader(p *Panel) *summaryReader {
	if p.opts.Summarizer == nil {
		return nil
	}
	return &summaryReader{p, make(chan []report.AgentContextWarning, 1)}
}

// read reads a reply, and selects each agent's history with the new summary.
func (s *summaryReader) read(ctx context.Context, t *effect.Turn, sidecall effect.Sidecall, reply backends.Message) (change effect.Change, err error) {
	text := strings.TrimSpace(contextbuild.Clean(reply.Text()))
	if text == "" {
		return change, errors.New("the summary is empty")
	}
	store := s.panel.opts.Store
	summary := effect.Summary{Range: sidecall.Covers}
	if summary.Text, err = store.Put(ctx, []byte(text)); err != nil {
		return change, err
	}
	link, err := linkOf(ctx, store, t.History, summary.Last)
	if err != nil {
		return change, err
	}
	kept, err := json.Marshal(KeptSummary{summary.Range, text, link})
	if err == nil {
		err = sessions.CheckMetadata(map[string]string{MetaSummary: string(kept)})
	}
	if err != nil {
		return change, err
	}
	if change.Kept, err = store.Put(ctx, kept); err != nil {
		return change, err
	}
	change.Summary = &summary
	changed := t.Changed(change)
	var warnings []report.AgentContextWarning
	for i := range t.Size() {
		if t.Agent(i) == nil {
			change.Shown, change.Steps = append(change.Shown, nil), append(change.Steps, nil)
			continue
		}
		chosen, err := s.panel.chooseFor(ctx, &changed, i)
		if err != nil {
			return change, err
		}
		change.Shown, change.Steps = append(change.Shown, chosen.shown()), append(change.Steps, chosen.Step)
		if chosen.warning != nil {
			warnings = append(warnings, *chosen.warning)
		}
	}
	s.warned <- warnings
	return change, nil
}

// heed replaces the context warnings of a report when a summary call of this process ends.
func (s *summaryReader) heed(ev turn.Event, r *report.Report) {
	done, ok := ev.(turn.ModelDone)
	if !ok || s == nil || done.Key.Purpose != effect.Summarizing || done.Reply.Failure != nil {
		return
	}
	select {
	case warnings := <-s.warned:
		r.SetWarnings(warnings)
	default: // the call was made before the turn was resumed
	}
}
