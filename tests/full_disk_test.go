//go:build linux || darwin

package tests

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app"
)

// TestFileSizeLimit runs the program in a process whose files may not grow beyond so many
// bytes, from none at all to nearly enough. It ends by itself, with an error of one line that
// has the cure; and without the limit --continue finishes the turn, which has the result of
// one that nothing was in the way of, and no model was asked again what it had said already,
// as far as that was on disk.
func TestFileSizeLimit(t *testing.T) {
	for _, p := range killPanels() {
		if p.name != "rounds" && p.name != "alone" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			whole := p.begin(t)
			before := whole.largestFile()
			whole.run("before 0", whole.question()...)
			want := whole.outcome()
			stopped, begun := 0, 0
			for _, bytes := range []int64{0, 4096, 40_000, 80_000, 110_000, 140_000, before + 200_000, before + 300_000, before + 450_000} {
				r := p.begin(t)
				r.limit = strconv.FormatInt(bytes, 10)
				r.run("before 0", r.question()...)
				r.limit = ""
				if r.code == app.ExitCompleted {
					continue // it was enough
				}
				stopped++
				r.checkStopped(bytes)
				r.bury()
				if r.graves[0].accepted {
					begun++
				}
				r.resume("before 0")
				r.check(want)
				if t.Failed() {
					t.Fatalf("with a limit of %d bytes", bytes)
				}
			}
			t.Logf("%d limits were too tight, with %d of them the turn had begun", stopped, begun)
			if begun < 3 || begun == stopped {
				t.Errorf("%d limits were too tight, and with %d of them the turn had begun", stopped, begun)
			}
		})
	}
}

// checkStopped looks at how a process ended that could not write.
func (r *killRun) checkStopped(limit int64) {
	r.t.Helper()
	var told []string
	for line := range strings.Lines(r.stderr) {
		if strings.Contains(line, "raise it with ulimit -f") {
			told = append(told, line)
		}
	}
	const cure = " has no room below the file size limit of this process ("
	if (r.code != app.ExitUsage && r.code != app.ExitFailed) || r.stdout != "" || len(told) != 1 || !strings.Contains(told[0], cure+strconv.FormatInt(limit, 10)+" bytes): ") {
		r.t.Errorf("exit status %d with a limit of %d bytes: %s\n%s", r.code, limit, r.stdout, r.stderr)
	}
	if strings.Contains(r.stderr, "panic") || strings.Contains(r.stderr, "goroutine ") {
		r.t.Errorf("it broke down: %s", r.stderr)
	}
}

// largestFile is the size of the largest file of the store.
func (r *killRun) largestFile() (bytes int64) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "state", "sessions.db*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			r.t.Fatal(err)
		}
		bytes = max(bytes, info.Size())
	}
	return bytes
}
