package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/massgen/massgen/internal/system/filelock"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// beside returns the default storage of snapshots: a folder beside the sessions' file.
func beside(file string) string {
	if filepath.Base(file) == File {
		return filepath.Join(filepath.Dir(file), "snapshots")
	}
	return file + ".snapshots"
}

// elsewhere is the file, in the default storage, that lists the other storages.
const elsewhere = "elsewhere.json"

// KeepSnapshotsIn remembers a storage that a config names, so that deleting a session deletes
// its snapshots there. Journals name that place too, but a journal may come from anywhere.
func (s *Store) KeepSnapshotsIn(dir string) error {
	if s.Snapshots == "" || dir == "" {
		return nil
	}
	dir, err := filepath.Abs(dir)
	var known []string
	if err == nil {
		known, err = s.otherStorages()
	}
	if err != nil || slices.Contains(known, dir) {
		return err
	}
	data, err := json.Marshal(append(known, dir))
	if err == nil {
		err = os.MkdirAll(s.Snapshots, 0o700)
	}
	if err == nil {
		err = filelock.WriteWhole(filepath.Join(s.Snapshots, elsewhere), data)
	}
	if err != nil {
		return fmt.Errorf("record the folder of snapshots: %w", err)
	}
	return nil
}

func (s *Store) otherStorages() (list []string, err error) {
	if s.Snapshots == "" {
		return nil, nil
	}
	file := filepath.Join(s.Snapshots, elsewhere)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("find the other folders of snapshots: %s: %w", file, err)
	}
	return list, nil
}

// SnapshotStorages returns the storages that may have snapshots of this store's sessions: the
// default one, and those that configs named.
func (s *Store) SnapshotStorages() (list Snapshots, err error) {
	dirs, err := s.otherStorages()
	if err != nil {
		return nil, err
	}
	if s.Snapshots != "" {
		dirs = append(dirs, s.Snapshots)
	}
	for _, dir := range dirs {
		storage, err := workspace.NewSnapshotFolder(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, storage)
	}
	return list, nil
}

// Snapshots are storages of snapshots.
type Snapshots []workspace.SnapshotFolder

// Remove removes the snapshots of a session.
func (list Snapshots) Remove(id string) error {
	var errs []error
	for _, storage := range list {
		errs = append(errs, storage.Remove(id))
	}
	return errors.Join(errs...)
}
