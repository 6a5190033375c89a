package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// LastHere returns the session of the current folder that was used last. A session belongs to the folder in which
// it began. In .massgen of the current folder all sessions belong to it. In --state-dir a session without a recorded
// folder belongs to every folder.
func (s *Archive) LastHere(ctx context.Context, kept *store.Store) (sessions.Session, error) {
	last, err := lastUsed(ctx, kept)
	if err != nil || isOwn(kept) {
		return last, err
	}
	here, err := os.Stat(".")
	if err != nil {
		return last, fmt.Errorf("find the current folder: %w", err)
	}
	list := []sessions.Session{last}
	for page := (sessions.Filter{Limit: PageSize}); ; {
		for _, other := range list {
			if s.beganIn(other, here) {
				return other, nil
			}
		}
		page.After = list[len(list)-1].Place()
		if list, err = kept.Sessions.List(ctx, page); err != nil {
			return last, err
		}
		if len(list) == 0 {
			return last, fmt.Errorf("no session began in this folder: --anywhere takes the last one of all folders, %s (%s); %s lists them",
				plain.Line(last.ID), wording.Quoted(wording.TitleOf(last)), s.Command("sessions", "list"))
		}
	}
}

// isOwn reports whether a store is in .massgen of the current folder.
func isOwn(kept *store.Store) bool {
	own, ownErr := filepath.Abs(store.OwnFolder)
	path, err := filepath.Abs(kept.Path())
	return ownErr == nil && err == nil && filepath.Dir(path) == own
}

// beganIn reports whether a session belongs to a folder. Older versions and the server recorded no folder.
func (s *Archive) beganIn(kept sessions.Session, folder os.FileInfo) bool {
	var panel Remembered
	if data := kept.Metadata[MetaPanel]; data != "" && json.Unmarshal([]byte(data), &panel) != nil {
		return false
	}
	if panel.Folder == "" {
		return s.flags.StateDir != ""
	}
	began, err := os.Stat(panel.Folder)
	return err == nil && os.SameFile(began, folder)
}
