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

// SnapshotPlace says which answer a snapshot belongs to.
type SnapshotPlace struct {
	Session string
	Turn    int
	Agent   string
	Round   int
	// Final says that it is the turn's final answer.
	Final bool
}

// SnapshotFolder is a folder for the snapshots of all sessions:
// SESSION/turnN/AGENT.roundN, and AGENT.final.
type SnapshotFolder struct{ dir string }

// NewSnapshotFolder returns the storage in a folder, which need not be there. The error is that of
// a current folder that is gone.
func NewSnapshotFolder(dir string) (SnapshotFolder, error) {
	dir, err := filepath.Abs(dir)
	return SnapshotFolder{dir}, err
}

// Dir returns the folder, an absolute path.
func (s SnapshotFolder) Dir() string { return s.dir }

// Path returns where a snapshot is.
func (s SnapshotFolder) Path(p SnapshotPlace) string {
	name := fmt.Sprintf("%s.round%d", FolderName(p.Agent), p.Round)
	if p.Final {
		name = FolderName(p.Agent) + ".final"
	}
	return filepath.Join(s.session(p.Session), fmt.Sprintf("turn%d", p.Turn), name)
}

// Has says whether a folder is where a snapshot of the session is kept here, and no link leads
// elsewhere on the way.
func (s SnapshotFolder) Has(session, dir string) bool {
	turn := filepath.Dir(dir)
	isName := snapshotName().MatchString(filepath.Base(dir)) && turnName().MatchString(filepath.Base(turn))
	if !isName || filepath.Dir(turn) != s.session(session) || filepath.Clean(dir) != dir {
		return false
	}
	return s.reaches(dir)
}

// reaches says that a folder in the storage is there, and no link leads elsewhere on the way from
// the storage's own.
func (s SnapshotFolder) reaches(dir string) bool {
	home, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == home+strings.TrimPrefix(dir, s.dir)
}

func (s SnapshotFolder) session(id string) string { return filepath.Join(s.dir, FolderName(id)) }

// The names of folders in a session's, and in a turn's: those of snapshots, and of such as
// were not finished.
var (
	turnName     = plain.Pattern(`^turn[0-9]+$`)
	snapshotName = plain.Pattern(`\.(round[0-9]+|final)$|^\.snapshot-`)
)

// Remove removes the snapshots of a session, and nothing else that is in its folder.
func (s SnapshotFolder) Remove(session string) error {
	dir := s.session(session)
	if _, err := os.Stat(dir); err == nil && !s.reaches(dir) {
		return nil // what a link leads to is not ours
	}
	return removeEach(dir, turnName(), func(turn string) error {
		return removeEach(turn, snapshotName(), RemoveSnapshot)
	})
}

// removeEach removes what has certain names in a folder, and the folder if nothing else is
// left in it.
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

// longestID is how many bytes of an id stand in the name of a folder.
const longestID = 64

// FolderName is an id as every system takes it for the name of a folder. Ids that differ have
// names that do, also where case is ignored.
func FolderName(id string) string {
	name := strings.ToLower(plain.Name(id))
	if name == id && id != "" && len(id) <= longestID && filepath.IsLocal(id) {
		return id
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	return name[:min(len(name), longestID)] + "~" + hash[:hashDigits]
}

// hashDigits are those that tell two ids apart.
const hashDigits = 16

// SnapshotKeeper keeps the snapshots of one workspace. It is safe for concurrent use.
type SnapshotKeeper struct {
	storage   SnapshotFolder
	workspace string
	options   SnapshotOptions

	mu   sync.Mutex
	last string // the newest snapshot
}

// Keeper returns the keeper of a workspace. Limits that are 0 are the default ones, and
// what is in the storage is left out.
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

// Keep takes a snapshot. One that is there already is of a process that was killed before
// anybody knew of it: it is taken anew.
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
