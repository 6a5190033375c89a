package sqlite

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// A system that gives the store no place is told of with the cure.
func TestFaultsOfThePlace(t *testing.T) {
	for cause, want := range map[syscall.Errno]string{
		syscall.EROFS:   "make: the store sessions.db cannot be written: make the file and its folder writable, or name another file (mkdir state: ",
		syscall.EACCES:  "make: the store sessions.db cannot be written: make the file and its folder writable, or name another file (mkdir state: ",
		syscall.EMFILE:  "make: the store sessions.db cannot be opened: too many files are open: raise the limit with ulimit -n (mkdir state: ",
		syscall.ENOLCK:  "make: the file system of the store sessions.db has no locks, without which two processes could work on one session: name a folder on another (mkdir state: ",
		syscall.ENOTSUP: "make: the file system of the store sessions.db has no locks, without which two processes could work on one session: name a folder on another (mkdir state: ",
		syscall.ENOSPC:  "make: there is no room for the store sessions.db: make some on its disk (mkdir state: ",
		syscall.ENOTDIR: "make: the store sessions.db is to be in a file that is no folder: name another folder (mkdir state: ",
	} {
		got := fault("sessions.db", "make", &fs.PathError{Op: "mkdir", Path: "state", Err: cause}).Error()
		if !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", cause, got)
		}
	}
}
