package filelock

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteWhole replaces a file, or makes it, for its owner alone to read. Others find the file as it
// was, or whole. If WriteWhole fails, the file is as it was. WriteWhole does not wait for the disk.
func WriteWhole(path string, data []byte) error { return write(path, data, false) }

// WriteWholeSync is WriteWhole, but the data is on disk before the file has its name.
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
