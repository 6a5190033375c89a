//go:build faults

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// patience is how long a walk of a second may take before it counts as endless.
const patience = 5 * time.Minute

// fault is one text in a file of the kernel, and what is put in its place.
type fault struct {
	name, file   string
	right, wrong string
}

func TestWalkFindsEveryFault(t *testing.T) {
	kernel, err := filepath.Abs(filepath.Join("..", "..", "internal", "coordination", "kernel"))
	if err != nil {
		t.Fatal(err)
	}
	faults := read(t, filepath.Join("testdata", "faults.txtar"))
	if len(faults) < 10 {
		t.Errorf("there are %d faults: at least ten are wanted", len(faults))
	}
	for _, f := range chosen(t, faults) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			walk := build(t, kernel, f)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, walk, "-test.run=^TestWalk$")
			cmd.Dir = kernel
			cmd.Env = append(os.Environ(), "MASSGEN_WALK=small")
			out, err := cmd.CombinedOutput()
			switch {
			case ctx.Err() != nil:
				t.Error("the walk did not come to an end")
			case err == nil:
				t.Errorf("the walk found nothing:\n%s", out)
			case !strings.Contains(string(out), "violation: "):
				t.Errorf("the walk failed, but not with a violation:\n%s", out)
			}
		})
	}
}

// chosen returns the faults that are to be planted: all, or with MASSGEN_FAULTS=PART/PARTS each PARTSth from PART on,
// counted from 0. The gate plants another part after each commit.
func chosen(t *testing.T, faults []fault) (some []fault) {
	choice := os.Getenv("MASSGEN_FAULTS")
	if choice == "" {
		return faults
	}
	var part, parts int
	if _, err := fmt.Sscanf(choice, "%d/%d", &part, &parts); err != nil || part < 0 || part >= parts {
		t.Fatalf("MASSGEN_FAULTS=%s is no PART/PARTS", choice)
	}
	for i := part; i < len(faults); i += parts {
		some = append(some, faults[i])
	}
	t.Logf("%d of %d faults are planted", len(some), len(faults))
	return some
}

// read returns the faults of a table, in its order.
func read(t *testing.T, table string) []fault {
	archive, err := txtar.ParseFile(table)
	if err != nil {
		t.Fatal(err)
	}
	var faults []fault
	for i := 0; i+1 < len(archive.Files); i += 2 {
		right, wrong := archive.Files[i], archive.Files[i+1]
		at, side := path.Split(right.Name)
		if side != "right" || wrong.Name != at+"wrong" {
			t.Fatalf("%s: %s and %s are no pair NAME/FILE/right and NAME/FILE/wrong", table, right.Name, wrong.Name)
		}
		faults = append(faults, fault{
			name: path.Dir(path.Clean(at)), file: path.Base(at),
			right: string(right.Data), wrong: string(wrong.Data),
		})
	}
	return faults
}

// build compiles the tests of a package with a fault in place of the right text.
func build(t *testing.T, source string, f fault) string {
	file := filepath.Join(source, f.file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), f.right); n != 1 {
		t.Fatalf("%s has the text of this fault %d times, not once: bring the table up to date\n%s", f.file, n, f.right)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, f.file)
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), f.right, f.wrong, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	replace, tests := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "package.test")
	if err := os.WriteFile(replace, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags=-s -w", "-overlay", replace, "-o", tests, ".")
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the package does not build with this fault: %v\n%s", err, out)
	}
	return tests
}
