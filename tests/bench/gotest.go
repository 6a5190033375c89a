package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// benchmark is a line of what go test -bench prints.
type benchmark struct {
	Package, Name string
	Runs          int
	Values        map[string]float64 // by unit: ns/op, B/op, allocs/op and others
}

// The benchmarks of go test that a run has, by package. A quick run leaves out the large ones.
func benchmarkPatterns(quick bool) [][2]string {
	mocked := "^BenchmarkMocked$"
	if quick {
		mocked += "/^(memory|sqlite)$/^(turn|tool|session|panel=3|panel=100)$"
	}
	return [][2]string{
		{"internal/coordination/kernel", "."},
		{"contextbuild", "."},
		{"coordinator", "^BenchmarkReplay$"},
		{"sessions/sqlite", "^BenchmarkTurn$"},
		{"tests", mocked},
		{"tests", "^BenchmarkLag$"},
	}
}

func (s *suite) runBenchmarks(ctx context.Context, r *results) error {
	benchTime := "1s"
	if s.quick {
		benchTime = "50ms"
	}
	for _, p := range benchmarkPatterns(s.quick) {
		s.say("go test -bench %s ./%s", p[1], p[0])
		program, err := s.compileTests(ctx, p[0])
		if err != nil {
			return err
		}
		out, err := s.runTests(ctx, p[0], program, benchmarkFlags(p[1], benchTime))
		if err != nil {
			return err
		}
		found, err := parseBenchmarks(p[0], out)
		if err != nil {
			return err
		}
		r.Benchmarks = append(r.Benchmarks, found...)
	}
	return nil
}

// compileTests compiles the tests of a package, once in a run, and returns their program. It
// runs without go test between, so that it ends when it is told to.
func (s *suite) compileTests(ctx context.Context, pkg string) (program string, err error) {
	program = filepath.Join(s.dir, path.Base(pkg)+".test")
	_, err = output(ctx, s.root, "go", "test", "-c", "-o", program, "./"+pkg)
	return program, err
}

// runTests runs the compiled tests of a package, and returns what they print. Their temporary
// folders are on the disk of the run.
func (s *suite) runTests(ctx context.Context, pkg, program string, flags []string) (string, error) {
	cmd := exec.Command(program, flags...)
	cmd.Dir = filepath.Join(s.root, pkg)
	cmd.Env = append(os.Environ(), "TMPDIR="+s.dir)
	return outputOf(ctx, cmd)
}

func benchmarkFlags(pattern, benchTime string) []string {
	return []string{"-test.run=^$", "-test.bench=" + pattern, "-test.benchmem", "-test.benchtime=" + benchTime}
}

// parseBenchmarks returns the benchmarks in what a test program of a package has printed.
func parseBenchmarks(pkg, out string) ([]benchmark, error) {
	var found []benchmark
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		b, err := parseBenchmark(fields)
		if err != nil {
			return nil, fmt.Errorf("read the benchmark %q: %w", strings.TrimSpace(line), err)
		}
		b.Package = pkg
		found = append(found, b)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the tests of %s ran no benchmark:\n%s", pkg, lastOf(out, 2000))
	}
	return found, nil
}

// parseBenchmark reads a name, a count, and then pairs of a value and its unit.
func parseBenchmark(fields []string) (b benchmark, err error) {
	b = benchmark{Name: strings.TrimPrefix(fields[0], "Benchmark"), Values: map[string]float64{}}
	if i := strings.LastIndex(b.Name, "-"); i > 0 { // the number of processors
		if _, err := strconv.Atoi(b.Name[i+1:]); err == nil {
			b.Name = b.Name[:i]
		}
	}
	if b.Runs, err = strconv.Atoi(fields[1]); err != nil {
		return b, err
	}
	for i := 2; i+1 < len(fields); i += 2 {
		if b.Values[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
			return b, err
		}
	}
	return b, nil
}
