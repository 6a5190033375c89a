//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLinksThatAnotherProcessHasTaken are made again: it may have the same folder.
func TestLinksThatAnotherProcessHasTaken(t *testing.T) {
	dir, answer := t.TempDir(), t.TempDir()
	one, err := openLinks(dir)
	must(t, err)
	want := map[string]string{"agent1": answer}
	must(t, one.show(want))
	two, err := openLinks(dir)
	must(t, err)
	for range 2 {
		must(t, one.show(want))
		if target, err := os.Readlink(filepath.Join(dir, "agent1")); err != nil || target != answer {
			t.Errorf("it leads to %q, %v", target, err)
		}
	}
	must(t, two.close())
	must(t, one.close())
}
