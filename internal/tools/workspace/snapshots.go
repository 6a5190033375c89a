package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/massgen/massgen/internal/system/plain"
)

// The most that a snapshot of an answer has, unless its SnapshotOptions say otherwise.
const (
	DefaultSnapshotBytes = 1 << 30
	DefaultSnapshotFiles = 100_000
)

// SnapshotPlace names the answer that a snapshot belongs to.
type SnapshotPlace struct {
	Session string
	Turn    int
	Agent   string
	Round   int
	// Final marks the turn's final answer.
	Final bool
}

// SnapshotFolder is a folder for the snapshots of all sessions:
// SESSION/turnN/AGENT.roundN, and AGENT.final.
type SnapshotFolder struct{ dir string }

// NewSnapshotFolder returns the storage in a folder, which need not exist. It fails if the current
// folder is gone.
func NewSnapshotFolder(dir string) (SnapshotFolder, error) {
	dir, err := filepath.Abs(dir)
	return SnapshotFolder{dir}, err
}

// Dir returns the folder, an absolute path.
func (s SnapshotFolder) Dir() string { return s.dir }

// Path returns the path of a snapshot.
func (s SnapshotFolder) Path(p SnapshotPlace) string {
	name := fmt.Sprintf("%s.round%d", FolderName(p.Agent), p.Round)
	if p.Final {
		name = FolderName(p.Agent) + ".final"
	}
	return filepath.Join(s.session(p.Session), fmt.Sprintf("turn%d", p.Turn), name)
}

// Has reports whether a folder is the place of a snapshot of the session, and no link on the way
// leads elsewhere.
func (s SnapshotFolder) Has(session, dir string) bool {
	turn := filepath.Dir(dir)
	isName := snapshotName.MatchString(filepath.Base(dir)) && turnName.MatchString(filepath.Base(turn))
	if !isName || filepath.Dir(turn) != s.session(session) || filepath.Clean(dir) != dir {
		return false
	}
	return s.reaches(dir)
}

// reaches reports whether a folder in the storage exists, and no link on the way from the storage's
// folder leads elsewhere.
func (s SnapshotFolder) reaches(dir string) bool {
	home, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == home+strings.TrimPrefix(dir, s.dir)
}

func (s SnapshotFolder) session(id string) string { return filepath.Join(s.dir, FolderName(id)) }

// The names of turns in a session's folder, and of snapshots, also unfinished ones, in a turn's
// folder.
var (
	turnName     = regexp.MustCompile(`^turn[0-9]+$`)
	snapshotName = regexp.MustCompile(`\.(round[0-9]+|final)$|^\.snapshot-`)
)

// Remove removes the snapshots of a session, and nothing else from its folder.
func (s SnapshotFolder) Remove(session string) error {
	dir := s.session(session)
	if _, err := os.Stat(dir); err == nil && !s.reaches(dir) {
		return nil // it is behind a link, and not ours
	}
	return removeEach(dir, turnName, func(turn string) error {
		return removeEach(turn, snapshotName, RemoveSnapshot)
	})
}

// removeEach removes the folders with certain names from a folder, and that folder too if it is empty
// then.
func removeEach(dir string, named *regexp.Regexp, remove func(string) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove snapshots: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !named.MatchString(e.Name()) {
			continue
		}
		if err := remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrExist) { // something else is in it
		return fmt.Errorf("remove snapshots: %w", err)
	}
	return nil
}

// longestID is how many bytes of an id the name of a folder has.
const longestID = 64

// FolderName returns the name of an id's folder, which every system accepts. Different ids have
// different names, also where case is ignored.
func FolderName(id string) string {
	name := strings.ToLower(plain.Name(id))
	if name == id && id != "" && len(id) <= longestID && filepath.IsLocal(id) {
		return id
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	return name[:min(len(name), longestID)] + "~" + hash[:hashDigits]
}

// hashDigits is how many digits tell two ids apart.
const hashDigits = 16

// SnapshotKeeper keeps the snapshots of one workspace. It is safe for concurrent use.
type SnapshotKeeper struct {
	storage   SnapshotFolder
	workspace string
	options   SnapshotOptions

	mu   sync.Mutex
	last string // the newest snapshot
}

// Keeper returns the keeper of a workspace. Limits of 0 mean the defaults. Snapshots leave out the
// storage's own folder.
func (s SnapshotFolder) Keeper(workspace string, o SnapshotOptions) *SnapshotKeeper {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultSnapshotBytes
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = DefaultSnapshotFiles
	}
	o.Without = append([]string{s.dir}, o.Without...)
	return &SnapshotKeeper{storage: s, workspace: workspace, options: o}
}

// Keep takes a snapshot. It replaces one at the same place: a process took it and was killed before
// it could record that.
func (k *SnapshotKeeper) Keep(ctx context.Context, of SnapshotPlace) (Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	dir := k.storage.Path(of)
	turn := filepath.Dir(dir)
	if err := os.MkdirAll(turn, 0o700); err != nil {
		return Snapshot{}, fmt.Errorf("make the folder for snapshots: %w", err)
	}
	if !k.storage.reaches(turn) {
		return Snapshot{}, fmt.Errorf("keep a snapshot: a link leads elsewhere on the way to %s: remove the link", turn)
	}
	if err := RemoveSnapshot(dir); err != nil {
		return Snapshot{}, err
	}
	o := k.options
	o.Previous = k.last
	taken, err := TakeSnapshot(ctx, k.workspace, dir, o)
	if err != nil {
		return Snapshot{}, err
	}
	k.last = dir
	return taken, nil
}
