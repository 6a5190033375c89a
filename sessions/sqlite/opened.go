package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

var (
	errRemoved  = errors.New("was removed or moved while massgen had it open: put it back, and its log (-wal) still has what was stored meanwhile")
	errReplaced = errors.New("was replaced while massgen had it open: put the old file back, or remove its log (-wal) before you use the new one")
	errLeftLog  = errors.New("is not there, and its log (-wal) is: put the store back, or remove the log to begin a new store")
)

// opened is the file of a store as it was when the store was opened.
type opened struct {
	path string
	info os.FileInfo
}

func whenOpened(path string) (opened, error) {
	info, err := os.Stat(path)
	return opened{path, info}, err
}

// checkNoLog returns errLeftLog if a store that is to be made has a log. SQLite would take the pages of the
// log for pages of the new store.
func checkNoLog(path string) error {
	_, err := os.Lstat(path + "-wal")
	if err == nil {
		return errLeftLog
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isThere returns nil if the file is still in its place. It returns errRemoved if no file is there, and
// errReplaced if another one is. SQLite goes on with the file that it opened. A program that opens the other
// one takes the log of the first for its own.
func (o opened) isThere() error {
	now, err := os.Stat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errRemoved
	case err != nil:
		return err
	case !os.SameFile(o.info, now):
		return errReplaced
	}
	return nil
}
