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

	"github.com/massgen/massgen/internal/system/filelock"
)

// Trusted returns the place as one whose current files the user trusts. Open remembers the trust.
func (p Place) Trusted() Place {
	p.isTrusted = true
	return p
}

// Check returns an error for a project's folder that the program must not use. The error is
// ErrForeign or ErrShared because of the folder's owner or mode. It is ErrUntrusted if the folder
// contains files that this user has neither made with this program nor trusted. Check accepts
// every place that somebody has named. Check waits while another process opens the same store.
func (p Place) Check(ctx context.Context) error {
	return p.alone(ctx, func() error { return nil })
}

// open calls the function open unless Check refuses the place. Then it remembers that the files in
// the place belong to the user.
func (p Place) open(ctx context.Context, open func() error) error {
	return p.alone(ctx, func() error {
		if !p.found || p.state == "" {
			return open()
		}
		before, err := p.describe()
		if err == nil && before.Store == "" {
			err = p.remember(before) // for the next process if this one is killed
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

// alone calls do unless Check refuses the place. If the user has a state folder, alone locks the
// record of a project's folder, so that only one process at a time runs do for this place.
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
			return fmt.Errorf("check whether %s is trusted: %w", now.Folder, err)
		}
		defer func() { err = errors.Join(err, lock.Unlock()) }()
	}
	if err := p.compare(); err != nil {
		return err
	}
	return do()
}

// owners describes the users that may change a folder.
type owners struct {
	isAnother bool // another user owns the folder
	isShared  bool // other users may write to the folder
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

// trusted is the record of a project's folder that the user trusts.
type trusted struct {
	Folder    string `json:"folder"`    // OwnFolder in the project's path without links
	Store     string `json:"store"`     // the identity of the store's file, empty for none
	Log       string `json:"log"`       // the identity of the write-ahead log, empty for none
	Snapshots string `json:"snapshots"` // the target if the snapshots' folder is a link
}

// compare returns ErrUntrusted if the files in the folder differ from the remembered ones and the
// user has not said that they are trusted.
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
	if kept.Folder == now.Folder && kept.Store == "" { // a kill interrupted its creation
		kept.Store, kept.Log = now.Store, now.Log
	}
	if log, err := os.Stat(filepath.Join(now.Folder, File+"-wal")); err != nil || log.Size() == 0 {
		now.Log = kept.Log // an empty or missing log changes nothing in the store
	}
	if kept != now || hasSurprise(now.Folder) {
		return ErrUntrusted
	}
	return nil
}

// hasSurprise reports whether there is a file beside the store that this program never leaves
// there and that SQLite would use. One such file is a rollback journal, because stores here have
// a write-ahead log instead. The others are links and pipes.
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
	// If OwnFolder is a link into another project, the trust in that project does not count here.
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

// identityOf returns the identity of a file, "" if there is no such file.
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

// remembered reads the record of a folder. It returns the zero record if there is none.
func (p Place) remembered(folder string) (kept trusted, err error) {
	if p.state == "" {
		return kept, nil
	}
	data, err := os.ReadFile(p.record(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, fmt.Errorf("check whether %s is trusted: %w", folder, err)
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept, fmt.Errorf("%s is damaged: remove it: %w", p.record(folder), err)
	}
	return kept, nil
}

// remember writes the record of a folder's files. A file that later replaces the store does not
// match the record, even under the same name.
func (p Place) remember(now trusted) error {
	if kept, err := p.remembered(now.Folder); err != nil || kept == now {
		return err
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = filelock.WriteWhole(p.record(now.Folder), data)
	}
	if err != nil {
		return fmt.Errorf("remember that %s is trusted: %w", now.Folder, err)
	}
	return nil
}

// record returns the path of the file with the record of a folder.
func (p Place) record(folder string) string {
	return filepath.Join(p.state, "trusted", fmt.Sprintf("%x.json", sha256.Sum256([]byte(folder))))
}

// IsAnothers reports whether another user owns a folder.
func IsAnothers(dir string) (bool, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", dir, err)
	}
	return ownersOf(info).isAnother, nil
}
