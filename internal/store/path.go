// Package store is where sessions are kept for a program and a Go program that loads a
// config: in a file, in memory, or where several machines share them, always without secrets.
package store

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/massgen/massgen/internal/workspace"
)

// File is the store's name in the state folder.
const File = "sessions.db"

// OwnFolder is the state folder of a project, where somebody has made it.
const OwnFolder = ".massgen"

// Dir is the folder that keeps the sessions if nobody names another: .massgen/ where it
// exists, or massgen in the user's state folder, empty without a home folder. A folder that is
// not absolute is none: the current folder shall not decide by chance where conversations
// are.
func Dir(lookup func(name string) (value string, set bool)) string {
	if isOwnFolder(OwnFolder) {
		return OwnFolder
	}
	folder, _ := lookup("XDG_STATE_HOME")
	if !filepath.IsAbs(folder) {
		home, _ := lookup("HOME")
		if home == "" {
			home, _ = lookup("USERPROFILE")
		}
		folder = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(folder) {
		return ""
	}
	return filepath.Join(folder, "massgen")
}

// isOwnFolder says that somebody has made a folder for sessions. One that an agent has
// kept its results in, and nothing else is in, is none.
func isOwnFolder(dir string) bool {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	ofAgent := err == nil && len(entries) == 1 && entries[0].Name() == workspace.ResultsFolder
	return !ofAgent // one that cannot be read is told of by who opens it
}

// ErrNoHome says that nothing tells where sessions are to be kept.
var ErrNoHome = errors.New("there is no home folder to keep sessions in")
