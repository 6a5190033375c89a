package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/workspace/snapshot"
	"github.com/massgen/massgen/sessions"
)

// beside is the default storage: a folder beside the sessions' file.
func beside(file string) string {
	if filepath.Base(file) == File {
		return filepath.Join(filepath.Dir(file), "snapshots")
	}
	return file + ".snapshots"
}

// SnapshotsOf are the storages that have snapshots of a session: the default one, and those
// that its journals tell of. A journal that cannot be read is warned of: what it belongs to
// can be forgotten all the same.
func (s *Store) SnapshotsOf(ctx context.Context, id string, warn func(text string)) (list Snapshots, err error) {
	if s.Snapshots != "" {
		beside, err := snapshot.NewStorage(s.Snapshots)
		if err != nil {
			return nil, err
		}
		list = append(list, beside)
	}
	turns, err := s.Turns(ctx, id, 0)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return nil, err
	}
	for _, t := range turns {
		kept, err := coordinator.ReadRecord(ctx, s, id, t.Number)
		if err != nil {
			warn(err.Error())
		}
		for _, dir := range kept.Work.Dirs {
			if storage, ok := snapshot.StorageOf(dir, id); ok && !slices.Contains(list, storage) {
				list = append(list, storage)
			}
		}
	}
	return list, nil
}

// Snapshots are the storages that have those of a session.
type Snapshots []snapshot.Storage

// Remove removes the snapshots of a session.
func (list Snapshots) Remove(id string) error {
	var errs []error
	for _, storage := range list {
		errs = append(errs, storage.Remove(id))
	}
	return errors.Join(errs...)
}
