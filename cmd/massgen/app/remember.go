package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// metaPanel is the metadata key under which a session stores its panel. The key contains a colon,
// so no session id can equal it (sessions.ParseID).
const metaPanel = "massgen:panel"

// remembered is the panel that a session began with, without secrets.
type remembered struct {
	// File is the config's name as the user gave it. Relative paths start at Folder.
	File   string `json:"file,omitempty"`
	Folder string `json:"folder,omitempty"`
	Config string `json:"config,omitempty"` // YAML; empty for a panel that flags describe, and if IsLong
	// IsLong reports that the config is too long to be stored. The session then uses its file, as long as
	// the file has the same Digest.
	IsLong bool `json:"config_is_too_long,omitempty"`
	// Digest is the SHA-256 of the config before secrets were removed, in hex.
	Digest        string `json:"digest,omitempty"`
	Backend       string `json:"backend,omitempty"`
	Models        string `json:"models,omitempty"`
	Model         string `json:"model,omitempty"`
	BaseURL       string `json:"base_url,omitempty"`
	SystemMessage string `json:"system_message,omitempty"`
	// CWD is the absolute path given by --cwd; if CWD is empty, the config's folders count.
	CWD string `json:"cwd,omitempty"`
	// Budget has the limits of the flags --session-max-usd, --session-max-tokens and
	// --session-max-calls, which hold for all turns of the session.
	Budget report.BudgetLimits `json:"session_budget,omitzero"`
	// Lacks reports that a secret was removed from the text.
	Lacks bool `json:"lacks_secrets,omitempty"`
	// Mark proves that this user made the panel (store.Marker). A config may start programs.
	Mark string `json:"mark,omitempty"`
}

// mostPanel is the most bytes of a panel that a session stores. With its mark, the panel has to fit into a
// value of the metadata (sessions.CheckMetadata).
const mostPanel = 60 << 10

// memory stores and loads the panels of sessions.
type memory struct {
	console *console
	lookup  func(name string) (string, bool)
	panel   *panelFlags
	budget  *budget.Budget
	world   providers.World
	store   *store.Store
}

// describe returns the form in which a session stores a panel.
func (m memory) describe(config *configs.Config) (remembered, error) {
	o := m.panel
	cwd, err := m.cwd()
	if err != nil {
		return remembered{}, err
	}
	limits := m.limitsOver(nil)
	if config.Text == "" {
		r := remembered{
			Budget: limits, Backend: o.backend, Model: o.model, Models: o.models, BaseURL: m.console.secrets.Redact(o.baseURL), SystemMessage: m.console.secrets.Redact(o.systemMessage), CWD: cwd,
		}
		r.Lacks = r.BaseURL != o.baseURL || r.SystemMessage != o.systemMessage
		return r, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return remembered{}, fmt.Errorf("find the current folder: %w", err)
	}
	r := remembered{File: config.File, Folder: folder, Config: m.console.secrets.Redact(config.Text), Digest: digestOf(config.Text), CWD: cwd, Budget: limits}
	r.Lacks = r.Config != config.Text
	text, err := r.text()
	if err != nil {
		return remembered{}, fmt.Errorf("encode the panel: %w", err)
	}
	if len(text) > mostPanel {
		r.Config, r.IsLong = "", true
	}
	return r, nil
}

// cwd returns the absolute path of --cwd, or "" without the flag.
func (m memory) cwd() (string, error) {
	if m.panel.cwd == "" {
		return "", nil
	}
	dir, err := filepath.Abs(m.panel.cwd)
	if err != nil {
		return "", fmt.Errorf("--cwd: %w", err)
	}
	return dir, nil
}

func digestOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// name returns the panel's name for messages.
func (r remembered) name() string {
	if r.File == "" {
		return cmp.Or(r.Models, r.Model, r.Backend, "one model")
	}
	return r.File
}

// limitsOver returns the limits of a session: those of the flags, else those that a session stores
// with the panel was, which may be nil.
func (m memory) limitsOver(was *remembered) report.BudgetLimits {
	limits := budget.Budget{Session: m.budget.Session}
	if was != nil {
		limits = limits.Over(was.budget())
	}
	l := report.BudgetLimits{MaxTokens: limits.Session.Tokens, MaxCalls: limits.Session.Calls}
	if usd := limits.Session.USD; usd != nil {
		l.MaxUSD = new(usd.Float())
	}
	return l
}

// budget returns the limits that a session stores.
func (r remembered) budget() budget.Budget {
	l := budget.Limits{Tokens: r.Budget.MaxTokens, Calls: r.Budget.MaxCalls}
	if r.Budget.MaxUSD != nil {
		l.USD = new(budget.Dollars(*r.Budget.MaxUSD))
	}
	return budget.Budget{Session: l}
}

// limits returns the stored limits in words, "" if there are none.
func (r remembered) limits() string {
	var parts []string
	if usd := r.Budget.MaxUSD; usd != nil {
		parts = append(parts, "max_usd "+budget.Dollars(*usd).String())
	}
	if tokens := r.Budget.MaxTokens; tokens != nil {
		parts = append(parts, "max_tokens "+plain.Thousands(*tokens))
	}
	if calls := r.Budget.MaxCalls; calls != nil {
		parts = append(parts, "max_calls "+plain.Thousands(*calls))
	}
	return strings.Join(parts, ", ")
}

// isSame reports whether two panels differ in no more than their File, Folder, Budget and Mark.
func (r remembered) isSame(other remembered) bool {
	r.File, r.Folder, r.Budget, r.Mark = other.File, other.Folder, other.Budget, other.Mark
	return r == other
}

// text returns the JSON that Mark signs.
func (r remembered) text() (string, error) {
	r.Mark = ""
	data, err := json.Marshal(r)
	return string(data), err
}

// path returns the path of the config file, or "" if the config came with massgen or if there is
// no config.
func (r remembered) path() string {
	if r.File == "" || strings.HasPrefix(r.File, "@") {
		return ""
	}
	if filepath.IsAbs(r.File) {
		return r.File
	}
	return filepath.Join(r.Folder, r.File)
}

// current reads the current text of the config file. isThere is false if there is no such file.
func (r remembered) current() (text string, isThere bool) {
	if r.path() == "" {
		return "", false
	}
	if info, err := os.Stat(r.path()); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	data, err := os.ReadFile(r.path())
	return string(data), err == nil
}

// errForeign reports a panel that another user or machine made.
var errForeign = errors.New("the panel it was begun with came from elsewhere, and a panel may start programs and read files")

// recallFrom decodes the panel that a session stores. It returns nil if the session stores none.
// If another user or machine made the panel, it returns the panel together with errForeign.
func recallFrom(lookup func(string) (string, bool), kept sessions.Session) (*remembered, error) {
	data := kept.Metadata[metaPanel]
	if data == "" {
		return nil, nil
	}
	var r remembered
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		return nil, fmt.Errorf("session %s: read the panel it was begun with: %w: --config FILE names another", plain.Line(kept.ID), err)
	}
	text, err := r.text()
	if err != nil {
		return nil, err
	}
	own, err := store.NewMarker(lookup).IsOwn(text, r.Mark)
	if err == nil && !own {
		err = errForeign
	}
	return &r, err
}

// recall calls recallFrom for the session with an id. It returns nil if there is no such session.
func (m memory) recall(ctx context.Context, id string) (*remembered, error) {
	kept, err := m.store.Session(ctx, id)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return recallFrom(m.lookup, kept)
}

// metadata returns a panel as metadata of its session, or an error if the store would refuse it: a turn
// must not fail because of it.
func (m memory) metadata(r remembered) (map[string]string, error) {
	text, err := r.text()
	if err == nil {
		r.Mark, err = store.NewMarker(m.lookup).Mark(text)
	}
	data, marshalErr := json.Marshal(r)
	metadata := map[string]string{metaPanel: string(m.store.Mask(data))}
	return metadata, cmp.Or(err, marshalErr, sessions.CheckMetadata(metadata))
}

// remember passes set the panel that a conversation's session still has to store, if there is one. Its error
// is a warning.
func (m memory) remember(c *conversation, panel remembered, set func(metadata map[string]string) error) error {
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
func (m memory) keep(ctx context.Context, c *conversation, panel remembered) {
	if err := m.remember(c, panel, func(metadata map[string]string) error { return m.store.SetMetadata(ctx, c.id, metadata) }); err != nil {
		m.console.warn(err.Error())
	}
}

// disown removes the mark from the panel of an imported session, so that the panel counts as
// foreign even if this user made it.
func disown(ctx context.Context, kept *store.Store, made sessions.Session) error {
	var r remembered
	data := made.Metadata[metaPanel]
	if data == "" || json.Unmarshal([]byte(data), &r) == nil && r.Mark == "" {
		return nil
	}
	r.Mark = ""
	text, err := r.text()
	if err == nil {
		err = kept.SetMetadata(ctx, made.ID, map[string]string{metaPanel: text})
	}
	if err != nil {
		return fmt.Errorf("take the mark from the panel of session %s: %w", plain.Line(made.ID), err)
	}
	return nil
}

// config parses the config of a stored panel, or makes one from its flags.
func (m memory) config(r remembered) (*configs.Config, error) {
	text := r.Config
	if r.Lacks || r.IsLong {
		now, isThere := r.current()
		switch isSame := isThere && digestOf(now) == r.Digest; {
		case isSame:
			text = now
		case r.IsLong:
			return nil, fmt.Errorf("the panel it was begun with, %s, is too long to be kept, and the file has changed or is gone: name a panel, such as --config FILE", plain.Line(r.name()))
		default:
			return nil, fmt.Errorf("the panel it was begun with, %s, had a key in its text, and keys are not kept: name a panel, such as --config FILE", plain.Line(r.name()))
		}
	}
	if text == "" {
		return flagsConfig(panelFlags{backend: r.Backend, model: r.Model, models: r.Models, baseURL: r.BaseURL, systemMessage: r.SystemMessage})
	}
	config, err := m.world.ParseConfig(r.File, text, m.console.secrets)
	if err != nil {
		return nil, err
	}
	if now, isThere := r.current(); isThere && digestOf(now) != r.Digest {
		m.console.say("massgen: the session goes on with its panel as it was: %s has changed since; --config %s takes it as it is now", r.path(), shellWord(r.path()))
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
	isForeign := errors.Is(err, errForeign)
	if err != nil && !isForeign && named == nil {
		return chosen, false, err
	}
	if was != nil && !isForeign {
		s.chat.rebudget(s.memory, *was)
	}
	if was != nil && named == nil {
		if isForeign {
			if yes, err := s.memory.wantsForeign(s.kept, like, was); err != nil || !yes {
				return chosen, false, errors.Join(err, fmt.Errorf("session %s: %w: --config FILE names one", plain.Line(like), errForeign))
			}
		}
		cwd, err := s.memory.cwd()
		if err != nil {
			return chosen, false, err
		}
		was.CWD, was.Budget = cmp.Or(cwd, was.CWD), s.memory.limitsOver(was)
		chosen, err = s.connectAgain(ctx, like, *was)
		return chosen, !isForeign, err
	}
	if named == nil {
		if named, err = s.panels.load(s.memory.world); err != nil {
			return chosen, false, err
		}
	}
	now, err := s.memory.describe(named)
	if err != nil {
		return chosen, false, err
	}
	now.Budget = s.memory.limitsOver(was)
	remembers = was != nil && !isForeign
	if remembers && !now.isSame(*was) {
		s.console.say("massgen: session %s was begun with another panel, %s: %s is asked now", plain.Line(like), plain.Line(was.name()), plain.Line(now.name()))
	}
	chosen, err = s.connect(ctx, named, now)
	return chosen, remembers, err
}

// connectAgain connects the panel that session id stores.
func (s *session) connectAgain(ctx context.Context, id string, was remembered) (asked, error) {
	config, err := s.memory.config(was)
	if err != nil {
		return asked{}, fmt.Errorf("session %s: %w", plain.Line(id), err)
	}
	return s.connect(ctx, config, was)
}

// wantsForeign shows a foreign panel and asks the user whether to use it. Without a terminal the
// answer is no.
func (m memory) wantsForeign(by *storage, id string, r *remembered) (bool, error) {
	if !by.canAsk() {
		return false, nil
	}
	text := r.Config
	if r.IsLong {
		text = "# the content of " + r.path() + ", which is too long to be kept\n"
	}
	m.console.write(printable(text))
	return by.asks(fmt.Sprintf("session %s: %s: this is its config, and its paths are seen from %s.\nUse it from now on?", plain.Line(id), errForeign, plain.Line(r.Folder)))
}

// takePanelOf replaces the current panel by the panel that session id stores. It keeps the current
// panel if both panels are the same. It also keeps the current panel, and prints a message, if the
// stored panel is foreign. remembers reports whether the session stores a panel.
func (s *session) takePanelOf(ctx context.Context, id string) (remembers bool, err error) {
	was, err := s.memory.recall(ctx, id)
	switch {
	case errors.Is(err, errForeign):
		s.console.say("massgen: session %s: %s: the panel that is asked stays %s", plain.Line(id), errForeign, s.asked.panel.Names())
		return true, nil
	case err != nil || was == nil:
		return false, err
	}
	s.chat.rebudget(s.memory, *was)
	was.Budget = s.memory.limitsOver(was)
	if was.isSame(s.asked.known) && was.Folder == s.asked.known.Folder && was.limits() == s.asked.known.limits() {
		return true, nil
	}
	other, err := s.connectAgain(ctx, id, *was)
	if err != nil {
		return false, err
	}
	left := s.asked
	s.asked = other
	s.feed.remark("panel: %s", s.asked.panel.Names())
	if err := left.close(); err != nil {
		s.console.warn(err.Error())
	}
	return true, nil
}
