// Package store is where sessions are kept for a program and a Go program that loads a
// config: in a file, in memory, or where several machines share them, always without secrets.
package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/massgen/massgen/internal/workspace"
)

// File is the store's name in the state folder.
const File = "sessions.db"

// OwnFolder is the state folder of a project, where somebody has made it.
const OwnFolder = ".massgen"

// Place is where the file is that keeps sessions. The zero Place is in memory.
type Place struct {
	// File is empty for no file.
	File string
	// export is the file of an exported session, whose database File is while it is open.
	export string
	// found says that nobody has named it: it was in the current folder.
	found bool
	// state is the user's own folder, empty without a home folder.
	state string
	// isTrusted says that the user wants what is found there now.
	isTrusted bool
}

// At is the place of a file that somebody has named.
func At(file string) Place { return Place{File: file} }

// In is the place of the store in a folder that somebody has named; without a name it is in
// memory.
func In(dir string) Place {
	if dir == "" {
		return Place{}
	}
	return At(filepath.Join(dir, File))
}

// Default is the place for the variables of an environment: OwnFolder where it exists, else
// massgen in the user's state folder. A state folder that is not absolute is none: the current
// folder shall not decide by chance where conversations are. The error is ErrNoHome.
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

// StateFolder returns the user's own, empty without a home folder.
func StateFolder(lookup func(name string) (value string, set bool)) string {
	return userFolder(lookup, "XDG_STATE_HOME", ".local", "state")
}

// ConfigFolder returns the folder of the user's configuration, empty without a home folder.
func ConfigFolder(lookup func(name string) (value string, set bool)) string {
	return userFolder(lookup, "XDG_CONFIG_HOME", ".config")
}

// OfUser returns the user's folders that massgen reads what it trusts from.
func OfUser(lookup func(name string) (value string, set bool)) []string {
	return slices.DeleteFunc([]string{ConfigFolder(lookup), StateFolder(lookup)}, func(dir string) bool { return dir == "" })
}

// userFolder returns massgen's folder in the one that a variable names, else in a folder of the
// home folder.
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

// isOwnFolder reports whether a folder is for sessions: not one that has nothing but results of an
// agent, or what MassGen in Python keeps there.
func isOwnFolder(dir string) bool {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return true // one that cannot be read is told of by who opens it
	}
	others := []string{workspace.ResultsFolder, "massgen_logs", "sessions", "workspaces", "config.yaml", ".env"}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !slices.Contains(others, e.Name()) })
}

var (
	// ErrNoHome says that nothing tells where sessions are to be kept.
	ErrNoHome = errors.New("there is no home folder to keep sessions in")
	// ErrUntrusted is returned for a project's folder whose sessions and facts may be anybody's:
	// models would be told them. Trust ends it.
	ErrUntrusted = errors.New(OwnFolder + " in this folder was not made here by you, and models would be told the sessions and facts in it")
	// ErrForeign is returned for a project's folder of another user.
	ErrForeign = errors.New(OwnFolder + " in this folder belongs to another user, who could read what you ask, and decide what models are told")
	// ErrShared is returned for a project's folder that others can change.
	ErrShared = errors.New(OwnFolder + " in this folder can be written to by others, who could decide what models are told: chmod go-w " + OwnFolder + " mends that")
)
