package sqlite_test

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/massgen/massgen/sessions/sqlite"
)

// TestFileThatOthersMayWrite opens a file that its owner alone, root, may write to. That
// is found out before SQLite opens it, which would leave its log beside it.
func TestFileThatOthersMayWrite(t *testing.T) {
	said := make(chan error)
	go func() {
		// A thread of Linux has a user of its own. It ends with its goroutine, which
		// does not unlock it.
		runtime.LockOSThread()
		const nobody = 65534
		if os.Getuid() == 0 {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				said <- errno
				return
			}
		}
		_, err := sqlite.Open(t.Context(), "/etc/passwd")
		said <- err
	}()
	const want = "/etc/passwd cannot be written: make the file and its folder writable, or name another file"
	if err := <-said; err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line with %q", err, want)
	}
}
