package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveAll removes what lets nothing be removed from it, and nothing that a link leads to.
func TestRemoveAll(t *testing.T) {
	at := t.TempDir()
	outside, dir := filepath.Join(at, "outside"), filepath.Join(at, "dir")
	for _, d := range []string{outside, filepath.Join(dir, "a", "b")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "file"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{outside, filepath.Join(dir, "a", "b"), filepath.Join(dir, "a"), dir} {
		if err := os.Chmod(d, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeAll(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
	if err := os.Symlink(outside, dir); err != nil {
		t.Fatal(err)
	}
	if err := removeAll(dir); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("where a link led is %v, %v", info, err)
	}
	if err := removeAll(dir); err != nil {
		t.Errorf("where nothing is: %v", err)
	}
}
