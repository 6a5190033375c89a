package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/workspace"
	"github.com/massgen/massgen/agents/workspace/snapshot"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// snapshotStorage is where agents' workspaces are kept with their answers: the config's
// folder, or one beside the sessions, or where they would be if no database had them. Those
// of a session that is only in memory stay in a temporary folder: the result names it.
func (s *session) snapshotStorage() (snapshot.Storage, error) {
	switch dir := s.config.Orchestrator.SnapshotStorage; {
	case dir != "":
		return snapshot.NewStorage(dir)
	case s.store.lasting == nil, s.store.snapshots == "":
		return snapshot.NewStorage(filepath.Join(os.TempDir(), "massgen-snapshots-"+sessions.NewID()))
	}
	return snapshot.NewStorage(s.store.snapshots)
}

// outside refuses a snapshot_storage that an agent could write to. The default one may be in
// its folder, if that is the project's own.
func outside(cwd string, config *configs.Config, storage snapshot.Storage) error {
	if dir := config.Orchestrator.SnapshotStorage; dir != "" && within(storage.Dir(), cwd) {
		return fmt.Errorf("snapshot_storage (%s) is in it, where the agent could change what its peers judge: name another folder", dir)
	}
	return nil
}

// besideStore is the default storage: a folder beside the sessions' file.
func besideStore(file string) string {
	if filepath.Base(file) == storeFile {
		return filepath.Join(filepath.Dir(file), "snapshots")
	}
	return file + ".snapshots"
}

// keepsSnapshots keeps a workspace, without some files, in a folder with each of its agent's
// answers.
func keepsSnapshots(storage snapshot.Storage, w *workspace.Workspace, without []string) func(context.Context, agents.CallInfo) (agents.Snapshot, error) {
	keeper := storage.Keeper(w.Dir(), snapshot.Options{Without: without, LeaveOut: notForPeers})
	return func(ctx context.Context, of agents.CallInfo) (agents.Snapshot, error) {
		if err := w.Check(); err != nil {
			return agents.Snapshot{}, err
		}
		taken, err := keeper.Keep(ctx, snapshot.Place{Session: of.Session, Turn: of.Turn, Agent: of.Agent, Round: of.Round, Final: of.Final})
		return agents.Snapshot(taken), err
	}
}

// notForPeers says why something of a workspace is not shown to others: the program keeps
// its own there, and a project its secrets.
func notForPeers(name string) string {
	base := strings.ToLower(path.Base(name))
	isExample := slices.Contains([]string{".example", ".sample", ".template", ".dist"}, path.Ext(base))
	switch {
	case strings.EqualFold(name, ownFolder):
		return "it is massgen's own"
	case base == ".env" || strings.HasPrefix(base, ".env.") && !isExample:
		return "it may hold secrets"
	}
	return ""
}

// storages are those that have snapshots of a session: the default one, and those that its
// journals tell of. A journal that cannot be read is warned of: what it belongs to can be
// forgotten all the same.
func storages(ctx context.Context, store *maskedStore, id string, console console) (list []snapshot.Storage, err error) {
	if store.snapshots != "" {
		beside, err := snapshot.NewStorage(store.snapshots)
		if err != nil {
			return nil, err
		}
		list = append(list, beside)
	}
	turns, err := store.Turns(ctx, id, 0)
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return nil, err
	}
	for _, t := range turns {
		kept, err := coordinator.ReadWork(ctx, store, id, t.Number)
		if err != nil {
			console.warn(err.Error())
		}
		for _, dir := range kept.Dirs {
			if s, ok := snapshot.StorageOf(dir, id); ok && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list, nil
}

// removeSnapshots removes a session's snapshots.
func removeSnapshots(list []snapshot.Storage, id string) error {
	var errs []error
	for _, s := range list {
		errs = append(errs, s.Remove(id))
	}
	return errors.Join(errs...)
}
