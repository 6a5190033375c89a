package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// suite runs the parts of the benchmarks.
type suite struct {
	self    string // the path of this program
	root    string // the project's folder
	dir     string // the run's own folder, on the disk of the project
	program string // the path of the real program
	mock    *mock
	quick   bool
	panel   wallCase // the only panel to time; without agents, those of the run
	log     io.Writer
}

// part is a part of the suite. It puts what it measured into the results.
type part struct {
	name string
	run  func(*suite, context.Context, *results) error
}

func parts() []part {
	return []part{
		{"start", (*suite).runStarts},
		{"wall", (*suite).runWalls},
		{"continue", (*suite).runContinued},
		{"go", (*suite).runBenchmarks},
		{"growth", (*suite).runGrowth},
	}
}

// page is where a full run writes what it has measured.
const page = "docs/benchmarks.md"

func playSuite(ctx context.Context, args []string, out io.Writer) error {
	f, err := readFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	s := &suite{quick: f.quick, panel: f.panel, log: os.Stderr}
	r, err := s.run(ctx, f.only)
	if err != nil {
		return err
	}
	text := r.page()
	if f.write || f.only == "" && !f.quick {
		if err := os.WriteFile(filepath.Join(s.root, page), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	_, err = io.WriteString(out, text)
	return err
}

// run runs one part, or all if only is empty.
func (s *suite) run(ctx context.Context, only string) (r *results, err error) {
	remove, err := s.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r = &results{Quick: s.quick}
	if r.Machine, err = describeMachine(ctx, s.root); err != nil {
		return nil, err
	}
	if s.mock, err = startMock(ctx, s.self); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.mock.close()) }()
	for _, p := range parts() {
		if only != "" && p.name != only {
			continue
		}
		if err := p.run(s, ctx, r); err != nil {
			return nil, fmt.Errorf("part %s: %w", p.name, err)
		}
	}
	return r, nil
}

// prepare finds the project, makes a folder for the run and builds the program there.
func (s *suite) prepare(ctx context.Context) (remove func() error, err error) {
	if s.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	mod, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	s.root = filepath.Dir(strings.TrimSpace(mod))
	cache := filepath.Join(s.root, ".cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	if s.dir, err = os.MkdirTemp(cache, "bench-"); err != nil {
		return nil, fmt.Errorf("make a folder for the run: %w", err)
	}
	remove = func() error { return os.RemoveAll(s.dir) }
	s.program = filepath.Join(s.dir, "massgen")
	s.say("building the program")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", s.program, "./cmd/massgen")
	build.Dir, build.Env = s.root, append(os.Environ(), "CGO_ENABLED=0")
	if _, err := outputOf(ctx, build); err != nil {
		return nil, errors.Join(err, remove())
	}
	return remove, nil
}

// say tells how far the run is. Nothing depends on its being read.
func (s *suite) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.log, format+"\n", args...) // a lost line of progress is no fault of the run
}
