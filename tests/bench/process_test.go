package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/tests/leaks"
)

// TestMain runs the program if a test has started it as one of its roles.
func TestMain(m *testing.M) {
	if os.Getenv("BENCH_ROLE") != "" {
		main()
		return
	}
	leaks.Main(m)
}

func TestMeasureTellsWhatAProcessTook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "output")
	var out bytes.Buffer
	if err := playMeasure(t.Context(), []string{"-output", file, "go", "env", "GOOS"}, &out); err != nil {
		t.Fatal(err)
	}
	var m measurement
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if m.Began.IsZero() || m.Wall <= 0 || m.Status != 0 {
		t.Errorf("%+v", m)
	}
	if text, err := os.ReadFile(file); err != nil || len(text) == 0 {
		t.Errorf("the output is %q, %v", text, err)
	}
}

func TestMeasureTellsTheExitStatus(t *testing.T) {
	var out bytes.Buffer
	if err := playMeasure(t.Context(), []string{"go", "no-such-command"}, &out); err != nil || !strings.Contains(out.String(), `"Status":2`) {
		t.Errorf("%v: %s", err, &out)
	}
	if err := playMeasure(t.Context(), []string{filepath.Join(t.TempDir(), "missing")}, &out); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestServerEndsWithItsInput(t *testing.T) {
	t.Setenv("BENCH_ROLE", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "server")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMockIsEndedAndWaitedFor(t *testing.T) {
	t.Setenv("BENCH_ROLE", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, err := startMock(t.Context(), self)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.reset(t.Context(), false); err != nil {
		t.Error(err)
	}
	if err := m.close(); err != nil {
		t.Error(err)
	}
	if err := m.reset(t.Context(), false); err == nil {
		t.Error("the server still answers")
	}
}

func TestGroupEndsWithTheContext(t *testing.T) {
	t.Setenv("BENCH_ROLE", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.Command(self, "measure", self, "server")
	cmd.Stderr = io.Discard
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	wait, err := start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
