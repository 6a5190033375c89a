// Package wholefile replaces files so that nobody finds a part of one.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces a file, or makes it, for its owner alone to read. Others find the file as it
// was, or whole. If Write fails, the file is as it was. Write does not wait for the disk.
func Write(path string, data []byte) error { return write(path, data, false) }

// WriteSync is Write, but the data is on disk before the file has its name.
func WriteSync(path string, data []byte) error { return write(path, data, true) }

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
