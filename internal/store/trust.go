package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Trusted is the place for a user who trusts what is in it now. Open remembers that.
func (p Place) Trusted() Place {
	p.isTrusted = true
	return p
}

// Check refuses a project's folder with ErrForeign or ErrShared, or, if there is something in it
// that this user has not made with this program, or trusted, with ErrUntrusted. A place that
// somebody has named is neither. It waits for a process that is opening the same store.
func (p Place) Check(ctx context.Context) error {
	return p.alone(ctx, func() error { return nil })
}

// open has a function open the store, unless Check refuses the place, and remembers that what is
// in it then is the user's.
func (p Place) open(ctx context.Context, open func() error) error {
	return p.alone(ctx, func() error {
		if !p.found || p.state == "" {
			return open()
		}
		before, err := p.describe()
		if err == nil && before.Store == "" {
			err = p.remember(before) // for who comes after this process was killed
		}
		if err != nil {
			return err
		}
		failed := open()
		now, err := p.describe()
		switch {
		case err != nil:
		case now.Store == "":
			err = os.Remove(p.record(now.Folder))
		default:
			err = p.remember(now)
		}
		return errors.Join(failed, err)
	})
}

// alone does something with a place that Check does not refuse, while no other process does.
func (p Place) alone(ctx context.Context, do func() error) (err error) {
	if !p.found {
		return do()
	}
	if err := checkOwners(filepath.Dir(p.File)); err != nil {
		return err
	}
	now, err := p.describe()
	if err != nil {
		return err
	}
	if p.state != "" {
		lock := flock.New(p.record(now.Folder) + ".lock")
		if err = os.MkdirAll(filepath.Dir(lock.Path()), 0o700); err == nil {
			_, err = lock.TryLockContext(ctx, 2*time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("look whether %s is trusted: %w", now.Folder, err)
		}
		defer func() { err = errors.Join(err, lock.Unlock()) }()
	}
	if err := p.compare(); err != nil {
		return err
	}
	return do()
}

// owners says who may change a folder.
type owners struct {
	isAnother bool // it is another user's
	isShared  bool // others may write to it
}

func checkOwners(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	switch owners := ownersOf(info); {
	case owners.isAnother:
		return ErrForeign
	case owners.isShared:
		return ErrShared
	}
	return nil
}

// trusted is what is remembered of a project's folder.
type trusted struct {
	Folder    string `json:"folder"`    // in a project's folder without links
	Store     string `json:"store"`     // which file it is, empty for none
	Log       string `json:"log"`       // which file has its latest changes, empty for none
	Snapshots string `json:"snapshots"` // where a link that stands for their folder leads
}

// compare returns ErrUntrusted if what is in the folder is neither what is remembered of it nor
// what the user trusts.
func (p Place) compare() error {
	if p.isTrusted {
		return nil
	}
	if entries, err := os.ReadDir(filepath.Dir(p.File)); err != nil || len(entries) == 0 {
		return err
	}
	now, err := p.describe()
	if err != nil {
		return err
	}
	kept, err := p.remembered(now.Folder)
	if err != nil {
		return err
	}
	if kept.Folder == now.Folder && kept.Store == "" { // who was making it was killed
		kept.Store, kept.Log = now.Store, now.Log
	}
	if log, err := os.Stat(filepath.Join(now.Folder, File+"-wal")); err != nil || log.Size() == 0 {
		now.Log = kept.Log // nothing comes from it
	}
	if kept != now || hasSurprise(now.Folder) {
		return ErrUntrusted
	}
	return nil
}

// hasSurprise says that something is beside the store that this program never leaves there, and
// SQLite would follow: a journal to roll back, since a store has a log, or a link or a pipe.
func hasSurprise(folder string) bool {
	for _, ending := range []string{"-journal", "-wal", "-shm"} {
		info, err := os.Lstat(filepath.Join(folder, File+ending))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || ending == "-journal" || !info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

func (p Place) describe() (now trusted, err error) {
	project, err := filepath.Abs(filepath.Dir(filepath.Dir(p.File)))
	if err == nil {
		project, err = filepath.EvalSymlinks(project)
	}
	if err != nil {
		return now, fmt.Errorf("find %s: %w", filepath.Dir(p.File), err)
	}
	// If it is a link to a folder of another project, that one's trust is not this one's.
	now.Folder = filepath.Join(project, OwnFolder)
	if now.Store, err = identityOf(filepath.Join(now.Folder, File)); err != nil {
		return now, err
	}
	if now.Log, err = identityOf(filepath.Join(now.Folder, File+"-wal")); err != nil {
		return now, err
	}
	snapshots := beside(filepath.Join(now.Folder, File))
	if info, err := os.Lstat(snapshots); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if now.Snapshots, err = os.Readlink(snapshots); err != nil {
			return now, fmt.Errorf("look at the link for snapshots: %w", err)
		}
	}
	return now, nil
}

// identityOf is the identity of a file, empty for none.
func identityOf(file string) (string, error) {
	id, err := identity(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at the store: %w", err)
	}
	return id, nil
}

// remembered is what is remembered of a folder.
func (p Place) remembered(folder string) (kept trusted, err error) {
	if p.state == "" {
		return kept, nil
	}
	data, err := os.ReadFile(p.record(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, fmt.Errorf("look whether %s is trusted: %w", folder, err)
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept, fmt.Errorf("%s is damaged: remove it: %w", p.record(folder), err)
	}
	return kept, nil
}

// remember keeps what is in a folder. A store that takes the place of the one that is there is
// another one.
func (p Place) remember(now trusted) error {
	if kept, err := p.remembered(now.Folder); err != nil || kept == now {
		return err
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = replace(p.record(now.Folder), data)
	}
	if err != nil {
		return fmt.Errorf("remember that %s is trusted: %w", now.Folder, err)
	}
	return nil
}

// record is the file that says that a folder is trusted.
func (p Place) record(folder string) string {
	return filepath.Join(p.state, "trusted", fmt.Sprintf("%x.json", sha256.Sum256([]byte(folder))))
}
