package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/massgen/massgen/internal/system/filelock"
)

// ProjectConfig is the config of a project, which is used if the user trusts it: it may start programs.
const ProjectConfig = OwnFolder + "/config.yaml"

// TrustFile remembers that the user trusts a file with its content of now.
func TrustFile(lookup func(name string) (value string, set bool), file string) error {
	record, sum, err := trustOf(lookup, file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
		return fmt.Errorf("remember that %s is trusted: %w", file, err)
	}
	if err := filelock.WriteWhole(record, []byte(sum)); err != nil {
		return fmt.Errorf("remember that %s is trusted: %w", file, err)
	}
	return nil
}

// TrustsFile reports whether the user trusts a file, and it has not changed since. It trusts no file of another
// user, and none that others may change.
func TrustsFile(lookup func(name string) (value string, set bool), file string) (bool, error) {
	for _, path := range []string{filepath.Dir(file), file} {
		info, err := os.Lstat(path)
		if err != nil {
			return false, err
		}
		if o := ownersOf(info); o.isAnother || o.isShared || info.Mode()&fs.ModeSymlink != 0 {
			return false, nil
		}
	}
	record, sum, err := trustOf(lookup, file)
	if errors.Is(err, ErrNoHome) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	kept, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && string(kept) == sum, err
}

// trustOf returns the path of a file's record, and the sum of its content.
func trustOf(lookup func(name string) (value string, set bool), file string) (record, sum string, err error) {
	state := StateFolder(lookup)
	if state == "" {
		return "", "", ErrNoHome
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(state, "trusted", fmt.Sprintf("%x.file", sha256.Sum256([]byte(path)))), fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
