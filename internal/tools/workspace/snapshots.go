package snapshot

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

// The most that a snapshot of an answer has, unless its Options say otherwise.
const (
	DefaultMaxBytes = 1 << 30
	DefaultMaxFiles = 100_000
)

// Place says which answer a snapshot belongs to.
type Place struct {
	Session string
	Turn    int
	Agent   string
	Round   int
	// Final says that it is the turn's final answer.
	Final bool
}

// Storage is a folder for the snapshots of all sessions:
// SESSION/turnN/AGENT.roundN, and AGENT.final.
type Storage struct{ dir string }

// NewStorage returns the storage in a folder, which need not be there. The error is that of
// a current folder that is gone.
func NewStorage(dir string) (Storage, error) {
	dir, err := filepath.Abs(dir)
	return Storage{dir}, err
}

// Dir returns the folder, an absolute path.
func (s Storage) Dir() string { return s.dir }

// Path returns where a snapshot is.
func (s Storage) Path(p Place) string {
	name := fmt.Sprintf("%s.round%d", FileName(p.Agent), p.Round)
	if p.Final {
		name = FileName(p.Agent) + ".final"
	}
	return filepath.Join(s.session(p.Session), fmt.Sprintf("turn%d", p.Turn), name)
}

// Has says whether a folder is where a snapshot of the session is kept here, and no link leads
// elsewhere on the way.
func (s Storage) Has(session, dir string) bool {
	turn := filepath.Dir(dir)
	isName := snapshotName().MatchString(filepath.Base(dir)) && turnName().MatchString(filepath.Base(turn))
	if !isName || filepath.Dir(turn) != s.session(session) || filepath.Clean(dir) != dir {
		return false
	}
	return s.reaches(dir)
}

// reaches says that a folder in the storage is there, and no link leads elsewhere on the way from
// the storage's own.
func (s Storage) reaches(dir string) bool {
	home, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == home+strings.TrimPrefix(dir, s.dir)
}

func (s Storage) session(id string) string { return filepath.Join(s.dir, FileName(id)) }

// The names of folders in a session's, and in a turn's: those of snapshots, and of such as
// were not finished.
var (
	turnName     = plain.Pattern(`^turn[0-9]+$`)
	snapshotName = plain.Pattern(`\.(round[0-9]+|final)$|^\.snapshot-`)
)

// Remove removes the snapshots of a session, and nothing else that is in its folder.
func (s Storage) Remove(session string) error {
	dir := s.session(session)
	if _, err := os.Stat(dir); err == nil && !s.reaches(dir) {
		return nil // what a link leads to is not ours
	}
	return removeEach(dir, turnName(), func(turn string) error {
		return removeEach(turn, snapshotName(), Remove)
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

// longestName is how many bytes of an id stand in the name of a folder.
const longestName = 64

// FileName is an id as every system takes it for the name of a folder. Ids that differ have
// names that do, also where case is ignored.
func FileName(id string) string {
	name := strings.ToLower(plain.Name(id))
	if name == id && id != "" && len(id) <= longestName && filepath.IsLocal(id) {
		return id
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
	return name[:min(len(name), longestName)] + "~" + hash[:hashDigits]
}

// hashDigits are those that tell two ids apart.
const hashDigits = 16

// Keeper keeps the snapshots of one workspace. It is safe for concurrent use.
type Keeper struct {
	storage   Storage
	workspace string
	options   Options

	mu   sync.Mutex
	last string // the newest snapshot
}

// Keeper returns the keeper of a workspace. Limits that are 0 are the default ones, and
// what is in the storage is left out.
func (s Storage) Keeper(workspace string, o Options) *Keeper {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = DefaultMaxFiles
	}
	o.Without = append([]string{s.dir}, o.Without...)
	return &Keeper{storage: s, workspace: workspace, options: o}
}

// Keep takes a snapshot. One that is there already is of a process that was killed before
// anybody knew of it: it is taken anew.
func (k *Keeper) Keep(ctx context.Context, of Place) (Snapshot, error) {
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
	if err := Remove(dir); err != nil {
		return Snapshot{}, err
	}
	o := k.options
	o.Previous = k.last
	taken, err := Take(ctx, k.workspace, dir, o)
	if err != nil {
		return Snapshot{}, err
	}
	k.last = dir
	return taken, nil
}
