// Package store is where sessions are kept for a program and a Go program that loads a
// config: in a file, in memory, or where several machines share them, always without secrets.
package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	// found says that nobody has named it: it was in the current folder.
	found bool
	// state is the user's own folder, empty without a home folder.
	state string
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
	folder, _ := lookup("XDG_STATE_HOME")
	if !filepath.IsAbs(folder) {
		home, _ := lookup("HOME")
		if home == "" {
			home, _ = lookup("USERPROFILE")
		}
		folder = filepath.Join(home, ".local", "state")
	}
	state := ""
	if filepath.IsAbs(folder) {
		state = filepath.Join(folder, "massgen")
	}
	switch {
	case isOwnFolder(OwnFolder):
		return Place{File: filepath.Join(OwnFolder, File), found: true, state: state}, nil
	case state == "":
		return Place{}, ErrNoHome
	}
	return In(state), nil
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

// Check refuses a project's folder with ErrForeign or ErrShared, or, if there is something in it
// that this user has not made with this program, or trusted, with ErrUntrusted.
// A place that somebody has named is neither.
func (p Place) Check() error {
	if !p.found {
		return nil
	}
	dir := filepath.Dir(p.File)
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	switch owners := ownersOf(info); {
	case owners.isAnother:
		return ErrForeign
	case owners.isShared:
		return ErrShared
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	now, err := p.describe()
	if err != nil {
		return err
	}
	kept, err := p.remembered(now.Folder)
	if err != nil {
		return err
	}
	isBeingMade := kept.Folder == now.Folder && kept.Store == ""
	if kept != now && !isBeingMade {
		return ErrUntrusted
	}
	return nil
}

// Trust remembers that the user trusts what is in the project's folder now. A store that takes
// the place of the one that is there is another one. Without a home folder nothing is
// remembered.
func (p Place) Trust() error {
	if !p.found || p.state == "" {
		return nil
	}
	now, err := p.describe()
	if err != nil {
		return err
	}
	if kept, err := p.remembered(now.Folder); err != nil || kept == now {
		return err
	}
	data, err := json.Marshal(now)
	record := p.record(now.Folder)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(record), 0o700)
	}
	if err == nil {
		err = replace(record, data)
	}
	if err != nil {
		return fmt.Errorf("remember that %s is trusted: %w", now.Folder, err)
	}
	return nil
}

// owners says who may change a folder.
type owners struct {
	isAnother bool // it is another user's
	isShared  bool // others may write to it
}

// trusted is what is remembered of a project's folder.
type trusted struct {
	Folder string `json:"folder"` // in a project's folder without links
	Store  string `json:"store"`  // which file it is, empty for none
}

func (p Place) describe() (trusted, error) {
	project, err := filepath.Abs(filepath.Dir(filepath.Dir(p.File)))
	if err == nil {
		project, err = filepath.EvalSymlinks(project)
	}
	if err != nil {
		return trusted{}, fmt.Errorf("find %s: %w", filepath.Dir(p.File), err)
	}
	// If it is a link to a folder of another project, that one's trust is not this one's.
	folder := filepath.Join(project, OwnFolder)
	store, err := identity(filepath.Join(folder, File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return trusted{}, fmt.Errorf("look at the store in %s: %w", folder, err)
	}
	return trusted{folder, store}, nil
}

// remembered is what is remembered of a folder.
func (p Place) remembered(folder string) (kept trusted, err error) {
	if p.state == "" {
		return kept, nil
	}
	data, err := os.ReadFile(p.record(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, fmt.Errorf("look whether %s is trusted: %w", folder, err)
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept, fmt.Errorf("%s is damaged: remove it: %w", p.record(folder), err)
	}
	return kept, nil
}

// record is the file that says that a folder is trusted.
func (p Place) record(folder string) string {
	return filepath.Join(p.state, "trusted", fmt.Sprintf("%x.json", sha256.Sum256([]byte(folder))))
}

// replace writes a file so that others find it as it was, or whole.
func replace(file string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err = f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
