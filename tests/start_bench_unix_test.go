//go:build unix

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
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
	program := buildProgram(b)
	var first firstRequest
	server := backendtest.NewServer(b, func(c backendtest.Call) backendtest.Reply {
		first.note()
		return agreeable(c)
	})
	file := filepath.Join(dir, "panel.yaml")
	if err := os.WriteFile(file, []byte(panelFile(server.BaseURL)), 0o600); err != nil {
		b.Fatal(err)
	}
	var toFirst time.Duration
	var peak int64
	for b.Loop() {
		cmd := exec.Command(program, "--config", file, "energy?")
		cmd.Dir = dir
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		toFirst += first.take().Sub(began)
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss) // kilobytes on Linux
		}
	}
	b.ReportMetric(float64(toFirst.Microseconds())/1000/float64(b.N), "ms-to-first-request")
	b.ReportMetric(float64(peak)/1000, "peak-MB")
}
