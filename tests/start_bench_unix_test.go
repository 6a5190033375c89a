//go:build unix

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/backends/backendtest"
)

// BenchmarkStart runs the program itself on a panel of three and reports
//
//	ms-to-first-request  from the start of the process to the first request's arrival
//	peak-MB              the most memory that the process held
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "massgen")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/massgen/massgen/cmd/massgen").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	var first struct {
		sync.Mutex
		at time.Time
	}
	server := backendtest.NewServer(b, func(c backendtest.Call) backendtest.Reply {
		first.Lock()
		defer first.Unlock()
		if first.at.IsZero() {
			first.at = time.Now()
		}
		return agreeable(c)
	})
	config := "agents:\n"
	for i := range 3 {
		config += fmt.Sprintf("  - {id: agent%d, backend: {type: chatcompletion, model: agent%d, base_url: %q}}\n", i+1, i+1, server.BaseURL)
	}
	file := filepath.Join(dir, "panel.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	var toFirst time.Duration
	var peak int64
	for b.Loop() {
		first.at = time.Time{}
		cmd := exec.Command(program, "--config", file, "energy?")
		cmd.Dir = dir
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		toFirst += first.at.Sub(began)
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss) // kilobytes on Linux
		}
	}
	b.ReportMetric(float64(toFirst.Microseconds())/1000/float64(b.N), "ms-to-first-request")
	b.ReportMetric(float64(peak)/1000, "peak-MB")
}
