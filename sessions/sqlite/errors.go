package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// fault returns an error of SQLite or the system as one line that names the
// store's file, what was being done, and where there is one, the cure.
func fault(path, doing string, err error) error {
	switch code := codeOf(err); {
	case err == nil, errors.Is(err, errNoStore), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errNewer):
		return fmt.Errorf("the store %s %w: update massgen", path, err)
	case code == codes.SQLITE_NOTADB:
		return foreignError(path)
	case hasCode(err, codes.SQLITE_CORRUPT_VTAB):
		return fmt.Errorf("%s: the search index of the store %s is damaged: compact the store to build it anew (%w)", doing, path, err)
	case errors.Is(err, errDamaged), errors.Is(err, errChanged), errors.Is(err, errRemoved), errors.Is(err, errReplaced), errors.Is(err, errLeftLog):
		return fmt.Errorf("%s: the store %s %w", doing, path, err)
	case code == codes.SQLITE_CORRUPT:
		return fmt.Errorf("%s: the store %s %w (%w)", doing, path, errDamaged, err)
	case code == codes.SQLITE_IOERR, errors.Is(err, syscall.EFBIG):
		return ioFault(path, doing, err)
	case code == codes.SQLITE_FULL, errors.Is(err, syscall.ENOSPC):
		return noRoom(path, doing, err)
	case code == codes.SQLITE_BUSY || code == codes.SQLITE_LOCKED:
		return fmt.Errorf("%s: another process has been writing to the store %s for long: try again when it is done (%w)", doing, path, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: the store %s is to be in a file that is no folder: name another folder (%w)", doing, path, err)
	case code == codes.SQLITE_CANTOPEN && noFilesLeft():
		return fmt.Errorf("%s: the store %s cannot be opened: this process has as many files open as it may: raise that with ulimit -n (%w)", doing, path, err)
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%s: the store %s cannot be opened: too many files are open: raise the limit with ulimit -n (%w)", doing, path, err)
	case errors.Is(err, syscall.ENOLCK) || errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%s: the file system of the store %s has no locks, without which two processes could work on one session: name a folder on another (%w)", doing, path, err)
	case errors.Is(err, syscall.EROFS) || code == codes.SQLITE_READONLY || code == codes.SQLITE_CANTOPEN || code == codes.SQLITE_PERM || errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: the store %s %w: make the file and its folder writable, or name another file (%w)", doing, path, ErrReadOnly, err)
	}
	return fmt.Errorf("%s: the store %s: %w", doing, path, err)
}

// noFilesLeft reports that no more files can be opened, which SQLite does not tell from one that may
// not be.
func noFilesLeft() bool {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
	}
	return f.Close() != nil
}

// ErrReadOnly is returned for a store that can be read and not written.
var ErrReadOnly = errors.New("cannot be written")

// ioFault is the fault of a file that could not be read or written.
func ioFault(path, doing string, err error) error {
	if most, ok := mostBytes(path); ok {
		return fmt.Errorf("%s: the store %s has no room below the file size limit of this process (%d bytes): raise it with ulimit -f (%w)", doing, path, most, err)
	}
	if hasCode(err, codes.SQLITE_IOERR_SHMSIZE) {
		return noRoom(path, doing, err)
	}
	return fmt.Errorf("%s: the store %s: %w", doing, path, err)
}

func noRoom(path, doing string, err error) error {
	return fmt.Errorf("%s: there is no room for the store %s: make some on its disk (%w)", doing, path, err)
}

// codeOf returns SQLite's code of an error, without its extension, or 0.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// hasCode reports whether an error has a code of SQLite with its extension: SQLITE_CORRUPT_VTAB is about an
// index of full-text search, and SQLite returns SQLITE_IOERR_SHMSIZE if the disk has no room for the file -shm.
func hasCode(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == code
}

var (
	errNoStore = errors.New("is no store of massgen")
	errNewer   = errors.New("was written by a newer massgen")
	errChanged = errors.New("was changed by another program: put a copy from before in its place, or name another file")
	errDamaged = errors.New("is damaged: put a copy from before in its place, or move it away to begin a new one")
)

func foreignError(path string) error {
	return fmt.Errorf("%s %w: name another file, or move this one away", path, errNoStore)
}

func newerError(version, known int) error {
	return fmt.Errorf("%w (it has version %d, and this one knows %d)", errNewer, version, known)
}
