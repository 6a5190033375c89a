package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/sessions/storetest"
)

// BenchmarkContinue runs the program itself with --continue, on a session of 10 turns
// and on one of 10,000, by turns. Nothing is asked, so that it says who is on the panel
// and ends, or three agents are asked a question, and shown the last messages (window)
// or all of them (full). It reports the medians
//
//	short-ms, long-ms  from the start of the process to its end, or to the first request's arrival
//	ratio              the longer session's time over the shorter one's
func BenchmarkContinue(b *testing.B) {
	program := buildProgram(b)
	for _, c := range []struct{ name, policy, question string }{
		{"nothing-asked", "full", ""}, {"policy=window", "window", "what then?"}, {"policy=full", "full", "what then?"},
	} {
		b.Run(c.name, func(b *testing.B) {
			var first firstRequest
			server := backendtest.NewServer(b, func(call backendtest.Call) backendtest.Reply {
				first.note()
				return agreeable(call)
			})
			config := panelFile(server.BaseURL) + fmt.Sprintf("context: {policy: %s}\n", c.policy)
			short, long := keptSession(b, 10, config), keptSession(b, 10_000, config)
			times := map[string][]time.Duration{}
			for b.Loop() {
				for _, dir := range []string{short, long} {
					cmd := exec.Command(program, "--config", "panel.yaml", "--state-dir", ".", "--continue")
					if c.question != "" {
						cmd.Args = append(cmd.Args, c.question)
					}
					cmd.Dir = dir
					began := time.Now()
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
					until := time.Now()
					if c.question != "" {
						until = first.take()
					}
					times[dir] = append(times[dir], until.Sub(began))
				}
			}
			b.ReportMetric(milliseconds(median(times[short])), "short-ms")
			b.ReportMetric(milliseconds(median(times[long])), "long-ms")
			b.ReportMetric(float64(median(times[long]))/float64(median(times[short])), "ratio")
		})
	}
}

// firstRequest is when a server was first called since it was taken last.
type firstRequest struct {
	mu sync.Mutex
	at time.Time
}

func (f *firstRequest) note() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.IsZero() {
		f.at = time.Now()
	}
}

// take returns when the first call was, and forgets it.
func (f *firstRequest) take() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.at
	f.at = time.Time{}
	return at
}

func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// buildProgram returns the path of a massgen of this source.
func buildProgram(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "massgen")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/massgen/massgen/cmd/massgen").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// panelFile is the config of a panel of three at one address.
func panelFile(url string) string {
	config := "agents:\n"
	for i := range 3 {
		config += fmt.Sprintf("  - {id: agent%d, backend: {type: chatcompletion, model: agent%d, base_url: %q}}\n", i+1, i+1, url)
	}
	return config
}

// keptSession returns a folder that has a config, panel.yaml, and a store with a session
// of so many turns.
func keptSession(b *testing.B, turns int, config string) string {
	b.Helper()
	dir := b.TempDir()
	err := os.WriteFile(filepath.Join(dir, "panel.yaml"), []byte(config), 0o600)
	if err != nil {
		b.Fatal(err)
	}
	store, err := sqlite.Open(b.Context(), filepath.Join(dir, "sessions.db"))
	if err != nil {
		b.Fatal(err)
	}
	_, err = store.Import(b.Context(), storetest.LongSession(b, "long", turns), "")
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return dir
}
