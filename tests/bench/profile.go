package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// profileCase is a mocked turn, and how many of them a profile of the CPU covers: enough for
// about a second. The numbers are fixed, so that profiles of two commits compare.
type profileCase struct {
	name  string
	turns int
}

func profileCases() []profileCase {
	return []profileCase{
		{"memory/turn", 8000}, {"memory/tool", 4000}, {"memory/session", 200},
		{"memory/panel=3", 3000}, {"memory/panel=100", 100}, {"memory/panel=300", 30}, {"memory/panel=1000", 5},
		{"sqlite/turn", 500}, {"sqlite/session", 20}, {"sqlite/panel=3", 200},
	}
}

// allocationShare is how many of the turns a profile of allocations covers: one in so many.
// It notes each allocation, which takes long.
const allocationShare = 10

// playProfile writes profiles of the mocked turns, and their largest entries as text.
func playProfile(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("profile", flag.ContinueOnError)
	only := flags.String("only", "", "profile one `turn`, such as memory/panel=100")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	cases := profileCases()
	if *only != "" {
		cases = slices.DeleteFunc(cases, func(c profileCase) bool { return c.name != *only })
		if len(cases) == 0 {
			return fmt.Errorf("-only %s: there is no such turn", *only)
		}
	}
	s := &suite{log: os.Stderr}
	remove, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	dir := filepath.Join(s.root, ".cache", "profiles")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of profiles: %w", err)
	}
	program, err := s.compileTests(ctx, "tests")
	if err != nil {
		return err
	}
	for _, c := range cases {
		s.say("profile %s", c.name)
		if err := s.profile(ctx, program, dir, c, out); err != nil {
			return fmt.Errorf("profile %s: %w", c.name, err)
		}
	}
	return nil
}

// profile writes both profiles of a mocked turn, and prints the paths of their texts.
func (s *suite) profile(ctx context.Context, program, dir string, c profileCase, out io.Writer) error {
	parts := strings.Split(c.name, "/")
	pattern := "^BenchmarkMocked$/^" + strings.Join(parts, "$/^") + "$"
	base := filepath.Join(dir, strings.Join(parts, "-"))
	for _, kind := range []struct {
		name, sample string
		turns        int
		flags        []string
	}{
		{"cpu", "cpu", c.turns, []string{"-test.cpuprofile"}},
		{"alloc", "alloc_space", max(1, c.turns/allocationShare), []string{"-test.memprofilerate=1", "-test.memprofile"}},
	} {
		file := base + "." + kind.name
		flags := append(benchmarkFlags(pattern, fmt.Sprint(kind.turns, "x")), append(kind.flags, file+".pprof")...)
		if _, err := output(ctx, filepath.Join(s.root, "tests"), program, flags...); err != nil {
			return err
		}
		top, err := output(ctx, s.root, "go", "tool", "pprof", "-top", "-nodecount=60", "-sample_index="+kind.sample, file+".pprof")
		if err != nil {
			return err
		}
		if err := os.WriteFile(file+".txt", []byte(top), 0o644); err != nil {
			return fmt.Errorf("write a profile: %w", err)
		}
		if _, err := fmt.Fprintln(out, file+".txt"); err != nil {
			return fmt.Errorf("print a path: %w", err)
		}
	}
	return nil
}
