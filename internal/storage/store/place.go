// Package store finds and opens the place of sessions, for the program and for a Go program
// that loads a config: a file, memory, or a store that several machines share. Stores never
// contain secrets.
package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/massgen/massgen/internal/tools/workspace"
)

// File is the store's name in the state folder.
const File = "sessions.db"

// OwnFolder is the state folder of a project, used if it exists.
const OwnFolder = ".massgen"

// Place is the place of the file that keeps sessions. The zero Place is in memory.
type Place struct {
	// File is the path, empty for none.
	File string
	// export is the file of an exported session. While it is open, File is its database.
	export string
	// found reports that the file was found in the current folder, and nobody named it.
	found bool
	// state is the user's own folder, empty without a home folder.
	state string
	// isTrusted reports that the user trusts the present files.
	isTrusted bool
}

// At returns the place of a file that a person named.
func At(file string) Place { return Place{File: file} }

// In returns the place of the store in a folder that a person named; without a name it is in
// memory.
func In(dir string) Place {
	if dir == "" {
		return Place{}
	}
	return At(filepath.Join(dir, File))
}

// Default returns the place for the variables of an environment: OwnFolder if it exists, else
// massgen in the user's state folder. A state folder that is not absolute does not count: the
// current folder must not decide by chance where conversations are. The error is ErrNoHome.
func Default(lookup func(name string) (value string, set bool)) (Place, error) {
	state := StateFolder(lookup)
	switch {
	case isOwnFolder(OwnFolder):
		return Place{File: filepath.Join(OwnFolder, File), found: true, state: state}, nil
	case state == "":
		return Place{}, ErrNoHome
	}
	return In(state), nil
}

// StateFolder returns the user's state folder, empty without a home folder.
func StateFolder(lookup func(name string) (value string, set bool)) string {
	return userFolder(lookup, "XDG_STATE_HOME", ".local", "state")
}

// ConfigFolder returns the folder of the user's configuration, empty without a home folder.
func ConfigFolder(lookup func(name string) (value string, set bool)) string {
	return userFolder(lookup, "XDG_CONFIG_HOME", ".config")
}

// LogFolder is the folder of the logs of runs, relative to the current one, unless the user names another.
const LogFolder = OwnFolder + "/massgen_logs"

// WorkspacesFolder is the folder of the folders of agents that the config gives none of their own.
const WorkspacesFolder = OwnFolder + "/workspaces"

// OfUser returns the user's folders with the files that massgen trusts, and the files with keys that MassGen has
// in other folders.
func OfUser(lookup func(name string) (value string, set bool)) []string {
	own := slices.DeleteFunc([]string{ConfigFolder(lookup), StateFolder(lookup)}, func(dir string) bool { return dir == "" })
	return append(own, KeyFiles(lookup)...)
}

// KeyFiles returns the files below the home folder from which keys are taken, as in MassGen, the first one first.
func KeyFiles(lookup func(name string) (value string, set bool)) []string {
	home, _ := lookup("HOME")
	if !filepath.IsAbs(home) {
		return nil
	}
	return []string{filepath.Join(home, ".config", "massgen", ".env"), filepath.Join(home, OwnFolder, ".env")}
}

// userFolder returns massgen's folder below the folder that a variable names, or else below a
// folder of the home folder.
func userFolder(lookup func(name string) (value string, set bool), variable string, inHome ...string) string {
	folder, _ := lookup(variable)
	if !filepath.IsAbs(folder) {
		home, _ := lookup("HOME")
		if home == "" {
			home, _ = lookup("USERPROFILE")
		}
		folder = filepath.Join(append([]string{home}, inHome...)...)
	}
	if !filepath.IsAbs(folder) {
		return ""
	}
	return filepath.Join(folder, "massgen")
}

// isOwnFolder reports whether a folder is for sessions. A folder that has only an agent's long
// results, or only files of MassGen in Python, is not.
func isOwnFolder(dir string) bool {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return true // opening an unreadable folder reports the error
	}
	others := []string{workspace.ResultsFolder, "massgen_logs", "sessions", "workspaces", "config.yaml", ".env"}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !slices.Contains(others, e.Name()) })
}

var (
	// ErrNoHome is returned if there is no folder to keep sessions in.
	ErrNoHome = errors.New("there is no home folder to keep sessions in")
	// ErrUntrusted is returned for a project's folder whose sessions and facts may be another
	// person's: models would read them. Trusted lifts it.
	ErrUntrusted = errors.New(OwnFolder + " in this folder was not made here by you, and models would be told the sessions and facts in it")
	// ErrForeign is returned for a project's folder of another user.
	ErrForeign = errors.New(OwnFolder + " in this folder belongs to another user, who could read what you ask, and decide what models are told")
	// ErrShared is returned for a project's folder that other users can change.
	ErrShared = errors.New(OwnFolder + " in this folder can be written to by others, who could decide what models are told: chmod go-w " + OwnFolder + " mends that")
)
