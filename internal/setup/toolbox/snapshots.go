package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/tools/workspace"
	"github.com/massgen/massgen/sessions"
)

// storage returns the place for snapshots of workspaces: the config's folder, else the folder in the
// options.
func (b *Toolbox) storage() (workspace.SnapshotFolder, error) {
	dir := cmp.Or(b.config.Orchestrator.SnapshotStorage, b.Snapshots)
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "massgen-snapshots-"+sessions.NewID())
	}
	return workspace.NewSnapshotFolder(dir)
}

// outside refuses a snapshot_storage that an agent could write to. The default one may be in
// the agent's folder, if that is the project's own.
func outside(cwd string, config *configs.Config, storage workspace.SnapshotFolder) error {
	dir := config.Orchestrator.SnapshotStorage
	if dir == "" {
		return nil
	}
	at, err := throughLinks(storage.Dir())
	if err != nil {
		return fmt.Errorf("find snapshot_storage: %w", err)
	}
	if _, inside := workspace.Inside(at, cwd); inside {
		return fmt.Errorf("snapshot_storage (%s) is in it, where the agent could change what its peers judge: name another folder", dir)
	}
	return nil
}

// throughLinks returns the target of an absolute path. The end of the path need not exist yet.
func throughLinks(file string) (string, error) {
	real, err := filepath.EvalSymlinks(file)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(file) == file {
		return real, err
	}
	dir, err := throughLinks(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, filepath.Base(file))
	target, err := os.Readlink(file)
	switch {
	case err != nil:
		return file, nil //nolint:nilerr // it is no link
	case !filepath.IsAbs(target):
		target = filepath.Join(dir, target)
	}
	return throughLinks(target)
}

// keepsSnapshots returns a function that copies a workspace, without some files, to a folder
// for each of its agent's answers.
func keepsSnapshots(storage workspace.SnapshotFolder, w *workspace.Workspace, without []string) func(context.Context, agents.CallInfo) (agents.Snapshot, error) {
	keeper := storage.Keeper(w.Dir(), workspace.SnapshotOptions{Without: without, LeaveOut: notForPeers})
	return func(ctx context.Context, of agents.CallInfo) (agents.Snapshot, error) {
		if err := w.Check(); err != nil {
			return agents.Snapshot{}, err
		}
		taken, err := keeper.Keep(ctx, workspace.SnapshotPlace{Session: of.Session, Turn: of.Turn, Agent: of.Agent, Round: of.Round, Final: of.Final})
		return agents.Snapshot(taken), err
	}
}

// notForPeers returns the reason why a file of a workspace is hidden from other agents: the
// program's own files, or a project's secrets.
func notForPeers(name string) string {
	base := strings.ToLower(path.Base(name))
	isExample := slices.Contains([]string{".example", ".sample", ".template", ".dist"}, path.Ext(base))
	switch {
	case strings.EqualFold(name, store.OwnFolder):
		return "it is massgen's own"
	case base == ".env" || strings.HasPrefix(base, ".env.") && !isExample:
		return "it may hold secrets"
	}
	return ""
}
