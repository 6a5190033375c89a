package workspace

import (
	"os"
	"testing"
)

// A workspace leaves nothing in the folder for temporary files before its first command, so that an
// interrupt while others start leaves nothing at all.
func TestNothingTemporaryBeforeTheFirstCommand(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	count := func() int {
		entries, err := os.ReadDir(temp)
		must(t, err)
		return len(entries)
	}
	dir := t.TempDir()
	w, err := Open(Options{Dir: dir, Answers: func(string, string) bool { return false }, Command: &CommandOptions{Unfenced: true}})
	must(t, err)
	if n := count(); n > 0 {
		t.Errorf("%d folders are made when it is opened", n)
	}
	s := scene{Workspace: w, t: t}
	if out, ok := s.call("run_command", map[string]any{"argv": []string{"true"}}); !ok {
		t.Errorf("the command says %s", out)
	}
	if n := count(); n == 0 {
		t.Error("a command has no folder for temporary files")
	}
	must(t, w.Close())
	if n := count(); n > 0 {
		t.Errorf("%d folders are left", n)
	}
}
