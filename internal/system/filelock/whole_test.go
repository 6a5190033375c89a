package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/massgen/massgen/internal/system/filelock"
)

func TestWriteReplacesTheWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, write := range []func(string, []byte) error{filelock.WriteWhole, filelock.WriteWholeSync} {
		for _, text := range []string{"a longer text", "short"} {
			if err := write(path, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != text {
				t.Errorf("the file has %q, %v, want %q", data, err, text)
			}
		}
	}
}

func TestWriteThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "folder")
	if err := os.Mkdir(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := filelock.WriteWhole(taken, []byte("text")); err == nil {
		t.Error("a file replaced a folder")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "folder" {
		t.Errorf("left are %v, %v", entries, err)
	}
}
