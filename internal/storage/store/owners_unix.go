//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// ownersOf returns who may change a folder. A group with the number of the folder's owner
// counts as that user's own group, as on Debian.
func ownersOf(info fs.FileInfo) owners {
	at, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owners{}
	}
	byGroup := info.Mode().Perm()&0o020 != 0 && at.Gid != at.Uid
	return owners{isAnother: int64(at.Uid) != int64(os.Geteuid()), isShared: byGroup || info.Mode().Perm()&0o002 != 0}
}
