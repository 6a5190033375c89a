//go:build faults

package faults

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestElectionFindsEveryFault(t *testing.T) {
	election, err := filepath.Abs(filepath.Join("..", "..", "internal", "coordination", "election"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range chosen(t, read(t, filepath.Join("testdata", "election.txtar"))) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			tests := build(t, election, f)
			cmd := exec.CommandContext(t.Context(), tests, "-test.short", "-test.failfast")
			cmd.Dir = election
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("the tests found nothing:\n%s", out)
			}
		})
	}
}
