package store

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// identity tells a file from any other that replaces it. Another file may get the same number,
// but then it has another creation time.
func identity(path string) (string, error) {
	var at unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &at); err != nil {
		return "", &fs.PathError{Op: "statx", Path: path, Err: err}
	}
	born := "unknown" // on some file systems
	if at.Mask&unix.STATX_BTIME != 0 {
		born = fmt.Sprintf("%d.%09d", at.Btime.Sec, at.Btime.Nsec)
	}
	return fmt.Sprintf("device %d:%d file %d made %s", at.Dev_major, at.Dev_minor, at.Ino, born), nil
}
