package talk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/sidecalls"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// mostPanel is the most bytes of a panel that a session stores. With its mark, the panel has to fit into a
// value of the metadata (sessions.CheckMetadata).
const mostPanel = 60 << 10

// memory stores and loads the panels of sessions.
type memory struct {
	console *cmdline.Console
	lookup  func(name string) (string, bool)
	panel   *cmdline.PanelFlags
	budget  *budget.Budget
	world   providers.World
	store   *store.Store
}

// describe returns the form in which a session stores a panel.
func (m memory) describe(config *configs.Config) (archive.Remembered, error) {
	o := m.panel
	cwd, err := m.cwd()
	if err != nil {
		return archive.Remembered{}, err
	}
	folder, err := os.Getwd()
	if err != nil && config.Text != "" { // else nothing needs it
		return archive.Remembered{}, fmt.Errorf("find the current folder: %w", err)
	}
	limits := m.limitsOver(nil)
	if config.Text == "" {
		r := archive.Remembered{
			Folder: folder, Budget: limits, Backend: o.Backend, Model: o.Model, Models: o.Models, BaseURL: m.console.Secrets.Redact(o.BaseURL), SystemMessage: m.console.Secrets.Redact(o.SystemMessage), CWD: cwd,
			Preset: o.Preset, Strategy: o.Strategy,
		}
		r.Lacks = r.BaseURL != o.BaseURL || r.SystemMessage != o.SystemMessage
		return r, nil
	}
	r := archive.Remembered{File: config.File, Folder: folder, Config: m.console.Secrets.Redact(config.Text), Digest: archive.DigestOf(config.Text), CWD: cwd, Budget: limits, Preset: o.Preset, Strategy: o.Strategy}
	r.Lacks = r.Config != config.Text
	text, err := r.Text()
	if err != nil {
		return archive.Remembered{}, fmt.Errorf("encode the panel: %w", err)
	}
	if len(text) > mostPanel {
		r.Config, r.IsLong = "", true
	}
	return r, nil
}

// cwd returns the absolute path of --cwd, or "" without the flag.
func (m memory) cwd() (string, error) {
	if m.panel.CWD == "" {
		return "", nil
	}
	dir, err := filepath.Abs(m.panel.CWD)
	if err != nil {
		return "", fmt.Errorf("--cwd: %w", err)
	}
	return dir, nil
}

// limitsOver returns the limits of a session: those of the flags, else those that a session stores
// with the panel was, which may be nil.
func (m memory) limitsOver(was *archive.Remembered) report.BudgetLimits {
	limits := budget.Budget{Session: m.budget.Session}
	if was != nil {
		limits = limits.Over(was.SessionBudget())
	}
	l := report.BudgetLimits{MaxTokens: limits.Session.Tokens, MaxCalls: limits.Session.Calls}
	if usd := limits.Session.USD; usd != nil {
		l.MaxUSD = new(usd.Float())
	}
	return l
}

// recall calls recallFrom for the session with an id. It returns nil if there is no such session.
func (m memory) recall(ctx context.Context, id string) (*archive.Remembered, error) {
	kept, err := m.store.Sessions.Session(ctx, id)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return archive.RecallFrom(m.lookup, kept)
}

// metadata returns a panel as metadata of its session, or an error if the store would refuse it: a turn
// must not fail because of it.
func (m memory) metadata(r archive.Remembered) (map[string]string, error) {
	text, err := r.Text()
	if err == nil {
		r.Mark, err = store.NewMarker(m.lookup).Mark(text)
	}
	data, marshalErr := json.Marshal(r)
	metadata := map[string]string{archive.MetaPanel: string(m.store.Sessions.Mask(data))}
	return metadata, cmp.Or(err, marshalErr, sessions.CheckMetadata(metadata))
}

// remember passes set the panel that a conversation's session still has to store, if there is one. Its error
// is a warning.
func (m memory) remember(c *conversation, panel archive.Remembered, set func(metadata map[string]string) error) error {
	what := "the panel of session %s is not remembered, so name it each time: %w"
	switch {
	case !m.store.Lasts() || c.remembers && c.rebudgeted == nil:
		return nil
	case c.remembers:
		what = "the new limits of session %s are not remembered, so give them each time: %w"
		panel = *c.rebudgeted
	}
	metadata, err := m.metadata(panel)
	if err == nil {
		err = set(metadata)
	}
	c.remembers, c.rebudgeted = true, nil
	if err != nil {
		return fmt.Errorf(what, plain.Line(c.id), err)
	}
	return nil
}

// keep stores the panel with SetMetadata, after the turn has begun.
func (m memory) keep(ctx context.Context, c *conversation, panel archive.Remembered) {
	if err := m.remember(c, panel, func(metadata map[string]string) error { return m.store.Sessions.SetMetadata(ctx, c.id, metadata) }); err != nil {
		m.console.Warn(err.Error())
	}
}

// redecided returns a stored panel with the preset and strategy of the flags, if they name one.
func (m memory) redecided(r archive.Remembered) archive.Remembered {
	if m.panel.Preset != "" || m.panel.Strategy != "" {
		r.Preset, r.Strategy = m.panel.Preset, m.panel.Strategy
	}
	return r
}

// config returns the config of a stored panel, with its preset and strategy.
func (m memory) config(r archive.Remembered) (*configs.Config, error) {
	config, err := m.plainConfig(r)
	if err != nil {
		return nil, err
	}
	return config.WithPreset(r.Preset, r.Strategy)
}

// plainConfig parses the config of a stored panel, or makes one from its flags.
func (m memory) plainConfig(r archive.Remembered) (*configs.Config, error) {
	text := r.Config
	if r.Lacks || r.IsLong {
		now, isThere := r.Current()
		switch isSame := isThere && archive.DigestOf(now) == r.Digest; {
		case isSame:
			text = now
		case r.IsLong:
			return nil, fmt.Errorf("the panel it was begun with, %s, is too long to be kept, and the file has changed or is gone: name a panel, such as --config FILE", plain.Line(r.Name()))
		default:
			return nil, fmt.Errorf("the panel it was begun with, %s, had a key in its text, and keys are not kept: name a panel, such as --config FILE", plain.Line(r.Name()))
		}
	}
	if text == "" {
		return program.FlagsConfig(cmdline.PanelFlags{Backend: r.Backend, Model: r.Model, Models: r.Models, BaseURL: r.BaseURL, SystemMessage: r.SystemMessage})
	}
	config, err := m.world.ParseConfig(r.File, text, m.console.Secrets)
	if err != nil {
		return nil, err
	}
	if now, isThere := r.Current(); isThere && archive.DigestOf(now) != r.Digest {
		m.console.Say("massgen: the session goes on with its panel as it was: %s has changed since; --config %s takes it as it is now", r.Path(), wording.ShellWord(r.Path()))
	}
	if folder, err := os.Getwd(); err != nil || folder != r.Folder {
		config.From(r.Folder)
	}
	return config, nil
}

// choosePanel connects the panel for a session. It takes the first of these that exists: the config
// that the flags name (named, or nil), the panel that the session like stores, and the user's
// default config. remembers reports whether the session like stores a panel that this user made.
func (s *session) choosePanel(ctx context.Context, like string, named *configs.Config) (chosen asked, remembers bool, err error) {
	was, err := s.memory.recall(ctx, like)
	isForeign := errors.Is(err, archive.ErrForeign)
	if err != nil && !isForeign && named == nil {
		return chosen, false, err
	}
	if was != nil && !isForeign {
		s.chat.rebudget(s.memory, *was)
	}
	if was != nil && named == nil {
		if isForeign {
			if yes, askErr := s.memory.wantsForeign(s.kept, like, was, err); askErr != nil || !yes {
				return chosen, false, errors.Join(askErr, fmt.Errorf("session %s: %w: --config FILE names one", plain.Line(like), err))
			}
		}
		cwd, err := s.memory.cwd()
		if err != nil {
			return chosen, false, err
		}
		was.CWD, was.Budget = cmp.Or(cwd, was.CWD), s.memory.limitsOver(was)
		chosen, err = s.connectAgain(ctx, like, s.memory.redecided(*was))
		return chosen, !isForeign, err
	}
	if named == nil {
		if named, err = s.panels.Load(s.memory.world); err != nil {
			return chosen, false, err
		}
	}
	now, err := s.memory.describe(named)
	if err != nil {
		return chosen, false, err
	}
	now.Budget = s.memory.limitsOver(was)
	remembers = was != nil && !isForeign
	if remembers && !now.IsSame(*was) {
		s.console.Say("massgen: session %s was begun with another panel, %s: %s is asked now", plain.Line(like), plain.Line(was.Name()), plain.Line(now.Name()))
	}
	chosen, err = s.connect(ctx, named, now)
	return chosen, remembers, err
}

// connectAgain connects the panel that session id stores.
func (s *session) connectAgain(ctx context.Context, id string, was archive.Remembered) (asked, error) {
	config, err := s.memory.config(was)
	if err != nil {
		return asked{}, fmt.Errorf("session %s: %w", plain.Line(id), err)
	}
	return s.connect(ctx, config, was)
}

// wantsForeign shows a foreign panel, with the reason why it is foreign, and asks the user whether to use
// it. Without a terminal the answer is no.
func (m memory) wantsForeign(by *archive.Archive, id string, r *archive.Remembered, why error) (bool, error) {
	if !by.CanAsk() {
		return false, nil
	}
	text := r.Config
	if r.IsLong {
		text = "# the content of " + r.Path() + ", which is too long to be kept\n"
	}
	m.console.Write(wording.Printable(text))
	return by.Asks(fmt.Sprintf("session %s: %s: this is its config, and its paths are seen from %s.\nUse it from now on?", plain.Line(id), why, plain.Line(r.Folder)))
}

// takePanelOf replaces the current panel by the panel that session id stores. It keeps the current
// panel if both panels are the same. It also keeps the current panel, and prints a message, if the
// stored panel is foreign. remembers reports whether the session stores a panel.
func (s *session) takePanelOf(ctx context.Context, id string) (remembers bool, err error) {
	was, err := s.memory.recall(ctx, id)
	switch {
	case errors.Is(err, archive.ErrForeign):
		s.console.Say("massgen: session %s: %s: the panel that is asked stays %s", plain.Line(id), err, s.asked.panel.Names())
		return true, nil
	case err != nil || was == nil:
		return false, err
	}
	s.chat.rebudget(s.memory, *was)
	*was = s.memory.redecided(*was)
	was.Budget = s.memory.limitsOver(was)
	isDecidedSo := was.Preset == s.asked.known.Preset && was.Strategy == s.asked.known.Strategy
	if isDecidedSo && was.IsSame(s.asked.known) && was.Folder == s.asked.known.Folder && was.Limits() == s.asked.known.Limits() {
		return true, nil
	}
	other, err := s.connectAgain(ctx, id, *was)
	if err != nil {
		return false, err
	}
	s.replacePanel(other)
	s.feed.remark("panel: %s", other.panel.Names())
	return true, nil
}

// conversation is the state of the session that is talked in.
type conversation struct {
	id    string
	title string // the question of the unfinished turn, if the session has no title yet
	turns int    // that were over when the program came to the session
	last  int    // number of the last turn that the conversation knows, 0 for none
	// unfinished is the turn that a process left in this session, nil without one.
	// busy reports whether a turn is running, in another process.
	unfinished *sessions.Turn
	busy       bool
	// remembers reports that the session stores its panel already, or must not store one.
	remembers bool
	// rebudgeted is the panel that the session stores, with limits that flags of this run
	// changed; nil without a change.
	rebudgeted *archive.Remembered
}

// name returns the session's id and title.
func (c *conversation) name() string {
	if c.title == "" {
		return plain.Line(c.id)
	}
	return plain.Line(c.id) + ", " + wording.Quoted(c.title)
}

// load reads what a store has of the session. isElsewhere reports whether other processes play turns
// that this one may go on with.
func (c *conversation) load(ctx context.Context, from *store.Store, isElsewhere bool, warn func(string)) error {
	kept, err := from.Sessions.Session(ctx, c.id)
	switch {
	case errors.Is(err, sessions.ErrNoSession):
		return nil
	case err != nil:
		return err
	}
	if _, err := sidecalls.ReadTopic(kept); err != nil {
		warn(err.Error())
	}
	c.turns, c.title = kept.Turns, kept.Title
	last, left, err := archive.LastTurn(ctx, from, c.id)
	c.last = last.Number
	switch {
	case err != nil || last.Status != sessions.Running:
		return err
	case left, isElsewhere:
		c.unfinished, c.title = &last, cmp.Or(c.title, last.Question)
	default:
		c.busy = true
	}
	c.turns--
	return nil
}

// advance takes the number of the turn that has begun. It reports whether another process has deleted the
// session: then the numbers begin anew, and the panel is no longer stored.
func (c *conversation) advance(number int) (wasDeleted bool) {
	wasDeleted = number <= c.last
	c.last = number
	if wasDeleted {
		c.turns, c.remembers, c.rebudgeted = 0, false, nil
	}
	return wasDeleted
}

// rebudget notes that the session must store the limits and the strategy of the flags. was is the panel
// that it stores.
func (c *conversation) rebudget(m memory, was archive.Remembered) {
	stored := was
	was = m.redecided(was)
	was.Budget = m.limitsOver(&was)
	if was.Limits() != stored.Limits() || was.Preset != stored.Preset || was.Strategy != stored.Strategy {
		c.rebudgeted = &was
	}
}
