//go:build unix

package talk

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInboxWaitsForNoWriter: a pipe is no message, and a folder that cannot be removed costs one warning.
func TestInboxWaitsForNoWriter(t *testing.T) {
	dir := t.TempDir()
	b, err := openInbox(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.root.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := syscall.Mkfifo(filepath.Join(dir, "msg_1.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "msg_2.json", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	for range 2 {
		if got := b.take(warn); len(got) > 0 {
			t.Errorf("%q", got)
		}
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "msg_1.json is no message") || !strings.Contains(warnings[1], "msg_2.json is not taken") {
		t.Errorf("warnings: %q", warnings)
	}
}
