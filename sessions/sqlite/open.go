package sqlite

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	_ "embed" // for the empty store
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	codes "modernc.org/sqlite/lib"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/internal/system/filelock"
	"github.com/massgen/massgen/internal/system/sleep"
)

// applicationID marks a file as a store: "mass" as a big-endian number.
const applicationID = 0x6d617373

// migrate brings a database up to a version, all of it or nothing. It refuses a database that is
// newer, and one with objects that massgen does not make, before any of them is used.
func migrate(ctx context.Context, db *sql.DB, steps sqlstore.Steps, newest int) error {
	version, err := checkObjects(ctx, db, newest)
	if err != nil || version == newest {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()         // after Commit it does nothing, and else the error is there already
	version, err = checkObjects(ctx, tx, newest) // again: another process may have migrated it
	if err != nil {
		return err
	}
	if version > newest {
		return newerError(version, newest)
	}
	exec := func(statements string) error {
		_, err := tx.ExecContext(ctx, statements)
		return err
	}
	if err := steps.Apply(dialect("", 0), version, newest, exec); err != nil {
		return err
	}
	if err := exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, newest)); err != nil {
		return err
	}
	return tx.Commit()
}

func versionOf(ctx context.Context, db *sql.DB) (version int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}

// prepare makes the file if it is not there, and looks at it if it is, before
// anything may write to it.
func prepare(ctx context.Context, path string, wait time.Duration) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(ctx, path, wait)
	case err != nil:
		return fault(path, "open", err)
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no ordinary file: name another", path)
	case info.Mode().Perm()&0o200 == 0:
		return fmt.Errorf("the store %s %w: it is read-only: make it writable (chmod u+w), or name another file", path, ErrReadOnly)
	case info.Size() == 0:
		return create(ctx, path, wait)
	}
	if err := mayWrite(path); err != nil {
		return fault(path, "open", err)
	}
	return inspect(ctx, path)
}

// inspect refuses a file that is no store. It opens it as one that does not
// change, so that SQLite neither locks it nor writes anything, not even beside
// it. Reading it without SQLite would not do: on closing a file, POSIX drops the
// locks that the process has on it by another Store.
func inspect(ctx context.Context, path string) error {
	return unlessWritten(ctx, path, func() error { return inspectOnce(ctx, path) })
}

// clockTick is more than the time for which a file's time may stay the same although the
// file changes.
const clockTick = 100 * time.Millisecond

// unlessWritten looks at a file again if it was found damaged while another process wrote
// to it: then one part may be from before and another from after. That its log is gone
// says nothing, as the other may have closed the store since.
func unlessWritten(ctx context.Context, path string, look func() error) error {
	for {
		before, err := os.Stat(path)
		if err != nil {
			return fault(path, "open", err)
		}
		isFresh := time.Since(before.ModTime()).Abs() < clockTick
		err = look()
		if !errors.Is(err, errDamaged) {
			return err
		}
		after, statErr := os.Stat(path)
		if statErr != nil {
			return fault(path, "open", statErr)
		}
		if !isFresh && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()) {
			return err
		}
		if err := sleep.For(ctx, clockTick); err != nil {
			return fault(path, "open", err)
		}
	}
}

func inspectOnce(ctx context.Context, path string) (err error) {
	db, err := connect(path, patience, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return fault(path, "open", err)
	}
	defer func() { err = errors.Join(err, fault(path, "open", db.Close())) }()
	var application, version, tables int
	err = db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application)
	if err == nil {
		version, err = versionOf(ctx, db)
	}
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	}
	if codeOf(err) == codes.SQLITE_CORRUPT && isWrittenTo(path) {
		return inspectWithLog(ctx, path) // it may have been read in the middle of a change by another process
	}
	if err != nil {
		return fault(path, "open", err)
	}
	if application != applicationID {
		return foreignError(path)
	}
	switch {
	case version < 1: // no store was ever without one
		err = fmt.Errorf("%w (its version is %d)", errDamaged, version)
	case version > sqlstore.Version:
		err = newerError(version, sqlstore.Version)
	}
	return fault(path, "open", err)
}

// inspectWithLog refuses a file that is damaged also with the changes in its log. Reading
// both takes SQLite's locks, and moves nothing from the log to the file.
func inspectWithLog(ctx context.Context, path string) (err error) {
	index := path + "-shm"
	_, noIndex := os.Stat(index)
	db, err := connect(path, patience, url.Values{"mode": {"ro"}})
	if err != nil {
		return fault(path, "open", err)
	}
	var found string
	err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w (%s)", errDamaged, found)
	}
	err = errors.Join(fault(path, "open", err), fault(path, "open", db.Close()))
	if err != nil && errors.Is(noIndex, fs.ErrNotExist) {
		if removeErr := os.Remove(index); !errors.Is(removeErr, fs.ErrNotExist) { // the check has made it
			err = errors.Join(err, removeErr)
		}
	}
	return err
}

// isWrittenTo reports whether the store has changes that are not in its file yet.
func isWrittenTo(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// create makes a store. Whoever else is about to make the same one waits, and
// nobody ever sees half of it.
func create(ctx context.Context, path string, wait time.Duration) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault(path, "make", err)
	}
	lock, err := waitLock(ctx, path+"-lock-new", wait)
	if err != nil {
		return fault(path, "make", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return errors.Join(lock.Release(), inspect(ctx, path))
	}
	return errors.Join(fault(path, "make", createLocked(ctx, path)), lock.Release())
}

// emptyStore is a store without sessions, in WAL mode. SQLite would need a fifth of the time of a
// short turn to make one from the schema.
//
//go:embed schema/empty.db.gz
var emptyStore []byte

func createLocked(ctx context.Context, path string) error {
	if err := cmp.Or(checkNoLog(path), removeUnfinished(path)); err != nil {
		return err
	}
	content, err := gzip.NewReader(bytes.NewReader(emptyStore))
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+unfinished+"*")
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = file.Sync() // before the file has its name
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// unfinished is in the names of stores that are being made.
const unfinished = "-new-"

// removeUnfinished removes what processes have left that were killed while they
// made the store.
func removeUnfinished(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+unfinished) {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}

// waitLock waits until nobody else has a lock.
func waitLock(ctx context.Context, path string, wait time.Duration) (*filelock.Lock, error) {
	for end := time.Now().Add(wait); ; {
		lock, err := filelock.Try(path)
		if lock != nil || err != nil {
			return lock, err
		}
		if time.Now().After(end) {
			return nil, errors.New("another process has been making it for long: try again when it is done")
		}
		if err := sleep.For(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}
