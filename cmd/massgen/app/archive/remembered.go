package archive

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

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// MetaPanel is the metadata key under which a session stores its panel. The key contains a colon,
// so no session id can equal it (sessions.ParseID).
const MetaPanel = "massgen:panel"

// Remembered is the panel that a session began with, without secrets.
type Remembered struct {
	// File is the config's name as the user gave it.
	File string `json:"file,omitempty"`
	// Folder is the folder in which the session began. The config's relative paths start there. It is empty for
	// a panel that an older version described by flags.
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
	// Preset and Strategy are the flags' that the session goes on with.
	Preset   string `json:"preset,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	// Budget has the limits of the flags --session-max-usd, --session-max-tokens and
	// --session-max-calls, which hold for all turns of the session.
	Budget report.BudgetLimits `json:"session_budget,omitzero"`
	// Lacks reports that a secret was removed from the text.
	Lacks bool `json:"lacks_secrets,omitempty"`
	// Mark proves that this user made the panel (store.Marker). A config may start programs.
	Mark string `json:"mark,omitempty"`
}

// DigestOf returns the SHA-256 of a config, in hex.
func DigestOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// Name returns the panel's name for messages.
func (r Remembered) Name() string {
	if r.File == "" {
		return cmp.Or(r.Models, r.Model, r.Backend, "one model")
	}
	return r.File
}

// SessionBudget returns the limits that a session stores.
func (r Remembered) SessionBudget() budget.Budget {
	l := budget.Limits{Tokens: r.Budget.MaxTokens, Calls: r.Budget.MaxCalls}
	if r.Budget.MaxUSD != nil {
		l.USD = new(budget.Dollars(*r.Budget.MaxUSD))
	}
	return budget.Budget{Session: l}
}

// Limits returns the stored limits in words, "" if there are none.
func (r Remembered) Limits() string {
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

// IsSame reports whether two panels differ in no more than their File, Folder, Preset, Strategy, Budget
// and Mark.
func (r Remembered) IsSame(other Remembered) bool {
	r.File, r.Folder, r.Budget, r.Mark = other.File, other.Folder, other.Budget, other.Mark
	r.Preset, r.Strategy = other.Preset, other.Strategy
	return r == other
}

// Text returns the JSON that Mark signs.
func (r Remembered) Text() (string, error) {
	r.Mark = ""
	data, err := json.Marshal(r)
	return string(data), err
}

// Path returns the path of the config file, or "" if the config came with massgen or if there is
// no config.
func (r Remembered) Path() string {
	if r.File == "" || strings.HasPrefix(r.File, "@") {
		return ""
	}
	if filepath.IsAbs(r.File) {
		return r.File
	}
	return filepath.Join(r.Folder, r.File)
}

// Current reads the current text of the config file. isThere is false if there is no such file.
func (r Remembered) Current() (text string, isThere bool) {
	if r.Path() == "" {
		return "", false
	}
	if info, err := os.Stat(r.Path()); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	data, err := os.ReadFile(r.Path())
	return string(data), err == nil
}

// ErrForeign reports a panel that another user or machine made.
var ErrForeign = errors.New("the panel it was begun with came from elsewhere, and a panel may start programs and read files")

// RecallFrom decodes the panel that a session stores. It returns nil if the session stores none.
// If another user or machine made the panel, it returns the panel together with an error that is
// ErrForeign.
func RecallFrom(lookup func(string) (string, bool), kept sessions.Session) (*Remembered, error) {
	data := kept.Metadata[MetaPanel]
	if data == "" {
		return nil, nil
	}
	var r Remembered
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		return nil, fmt.Errorf("session %s: read the panel it was begun with: %w: --config FILE names another", plain.Line(kept.ID), err)
	}
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	own, err := store.NewMarker(lookup).IsOwn(text, r.Mark)
	var missing *store.NoKeyError
	switch {
	case errors.As(err, &missing):
		err = fmt.Errorf("%w (%s)", ErrForeign, plain.Line(missing.Error()))
	case err == nil && !own:
		err = ErrForeign
	}
	return &r, err
}

// Disown removes the mark from the panel of an imported session, so that the panel counts as
// foreign even if this user made it.
func Disown(ctx context.Context, kept *store.Store, made sessions.Session) error {
	var r Remembered
	data := made.Metadata[MetaPanel]
	if data == "" || json.Unmarshal([]byte(data), &r) == nil && r.Mark == "" {
		return nil
	}
	r.Mark = ""
	text, err := r.Text()
	if err == nil {
		err = kept.Sessions.SetMetadata(ctx, made.ID, map[string]string{MetaPanel: text})
	}
	if err != nil {
		return fmt.Errorf("take the mark from the panel of session %s: %w", plain.Line(made.ID), err)
	}
	return nil
}
