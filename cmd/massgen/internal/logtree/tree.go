// Package logtree writes what happens in turns into a folder, in the files that programs written for MassGen
// read. The files follow from a turn's events and its result; they have no secrets, and only their owner reads
// them.
package logtree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/internal/storage/store"
)

// Default is the folder of the logs unless the user names another.
const Default = store.LogFolder

// Tree is the folder of one run. Files are reached through root alone: an agent may be able to write to the
// folder, and a link of it must lead nowhere else.
type Tree struct {
	dir   string // absolute
	root  *os.Root
	mask  func(text string) string
	turns int
}

// Create makes the folder of a run in base, which is Default for "". It refuses a base of another user. Mask
// hides secrets.
func Create(base string, now time.Time, mask func(text string) string) (*Tree, error) {
	folders := []string{base}
	if base == "" {
		base = filepath.FromSlash(Default)
		folders = []string{store.OwnFolder, base}
	}
	for _, dir := range folders {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if info, err := os.Lstat(dir); err != nil {
			return nil, err
		} else if len(folders) > 1 && !info.IsDir() {
			return nil, fmt.Errorf("%s is no folder: name another", dir)
		}
		if another, err := store.IsAnothers(dir); err != nil {
			return nil, err
		} else if another {
			return nil, fmt.Errorf("%s belongs to another user, who could read the answers: name another folder", dir)
		}
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return nil, err
	}
	for {
		dir := filepath.Join(base, "log_"+stamp(now))
		switch err := os.Mkdir(dir, 0o700); {
		case err == nil:
			root, err := os.OpenRoot(dir)
			if err != nil {
				return nil, err
			}
			return &Tree{dir: dir, root: root, mask: mask}, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
		now = now.Add(time.Microsecond) // another run began at the same time
	}
}

// stamp names a time as MassGen's folders do: 20251120_143022_123456.
func stamp(at time.Time) string {
	return fmt.Sprintf("%s_%06d", at.Format("20060102_150405"), at.Nanosecond()/1000)
}

// Close ends the use of the folder.
func (t *Tree) Close() error { return t.root.Close() }

// Dir is the absolute path of the run's folder.
func (t *Tree) Dir() string { return t.dir }

// NextStatus is the path of the status of the next turn.
func (t *Tree) NextStatus() string {
	return filepath.Join(t.dir, attemptOf(t.turns+1), statusFile)
}

// AnswerFile is the path of the answer of the newest turn, by the agent that won it.
func (t *Tree) AnswerFile(winner string) string {
	return filepath.Join(t.dir, turnFolder(t.turns), finalFolder, winner, answerFile)
}

// AttemptFile is the path of the same answer among the files of the turn's attempt.
func (t *Tree) AttemptFile(winner string) string {
	return filepath.Join(t.dir, attemptOf(t.turns), finalFolder, winner, answerFile)
}

// folderOf returns the name of an agent's folder. An agent may have the name of one of the files beside it, also in
// other letters, which some systems take for the same.
func folderOf(agent string) string {
	name, _ := strings.CutSuffix(strings.ToLower(agent), ".tmp")
	if slices.Contains([]string{statusFile, eventsFile, tableFile, metadataFile, finalFolder}, name) {
		return agent + "_"
	}
	return agent
}

func turnFolder(turn int) string { return fmt.Sprintf("turn_%d", turn) }

func attemptOf(turn int) string { return filepath.Join(turnFolder(turn), "attempt_1") }

// The names of files and folders.
const (
	statusFile  = "status.json"
	answerFile  = "answer.txt"
	voteFile    = "vote.json"
	contextFile = "context.txt"
	eventsFile  = "events.jsonl"
	finalFolder = "final"

	tableFile    = "coordination_table.txt"
	metadataFile = "execution_metadata.yaml"
)

// write writes a file whole: a reader finds the old file or the new one. The path starts at the folder.
func (t *Tree) write(path, text string) error {
	if err := t.root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temporary := path + ".tmp"
	if err := t.root.WriteFile(temporary, []byte(t.mask(text)), 0o600); err != nil {
		return err
	}
	return t.root.Rename(temporary, path)
}
