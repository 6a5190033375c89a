package talk

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInboxReadsNoPipe: a pipe without a writer is removed, and nobody waits for it.
func TestInboxReadsNoPipe(t *testing.T) {
	dir := t.TempDir()
	b, err := openInbox(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "msg_1.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	if got := b.take(func(text string) { warnings = append(warnings, text) }); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := strings.Join(warnings, " "); got != "--inbox-dir: msg_1.json is no message: it is no regular file" {
		t.Error(got)
	}
	if err := b.root.Close(); err != nil {
		t.Error(err)
	}
}
