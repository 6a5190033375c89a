package child

import (
	"os/exec"
	"syscall"
	"testing"
)

// TestReap: a command that has ended keeps its number until its group was killed, so that
// the signal cannot reach another's.
func TestReap(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	called := false
	err := reap(cmd, func() {
		called = true
		if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
			t.Errorf("its number is free already: %v", err)
		}
	})
	if err != nil || !called {
		t.Errorf("it was waited for: %v, %v", called, err)
	}
}
