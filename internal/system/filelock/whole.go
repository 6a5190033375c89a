package filelock

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteWhole makes or replaces a file that only its owner can read. Other processes see the old file or
// the whole new one. If it fails, the old file stays. It does not wait for the disk.
func WriteWhole(path string, data []byte) error { return write(path, data, false) }

// WriteWholeSync is WriteWhole, but the data is on disk before the file gets its name.
func WriteWholeSync(path string, data []byte) error { return write(path, data, true) }

func write(path string, data []byte, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if sync {
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
