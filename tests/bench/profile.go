package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	for _, kind := range []profileKind{cpuProfile(), allocationProfile()} {
		turns := c.turns
		if kind == allocationProfile() {
			turns = max(1, turns/allocationShare)
		}
		file := filepath.Join(dir, strings.ReplaceAll(c.name, "/", "-")+"."+kind.name)
		if err := s.writeProfile(ctx, kind, program, c.name, turns, file+".pprof"); err != nil {
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

// profileKind is what a profile counts.
type profileKind struct{ name, sample, unit, flags string }

func cpuProfile() profileKind {
	return profileKind{"cpu", "cpu", "ms", "-test.cpuprofile="}
}

// allocationProfile notes each allocation, so that it is the same in each run but for chance in
// the program.
func allocationProfile() profileKind {
	return profileKind{"alloc", "alloc_space", "B", "-test.memprofilerate=1 -test.memprofile="}
}

// writeProfile writes a profile of some mocked turns, such as memory/panel=100, to a file.
func (s *suite) writeProfile(ctx context.Context, kind profileKind, program, name string, turns int, file string) error {
	pattern := "^BenchmarkMocked$/^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	flags := append(benchmarkFlags(pattern, fmt.Sprint(turns, "x")), strings.Fields(kind.flags)...)
	flags[len(flags)-1] += file
	_, err := s.runTests(ctx, "tests", program, flags)
	return err
}

// profileTotal returns the total of a profile, without the samples of some functions if ignore
// is not empty.
func (s *suite) profileTotal(ctx context.Context, kind profileKind, file, ignore string) (float64, error) {
	top, err := output(ctx, s.root, "go", "tool", "pprof", "-top", "-relative_percentages", "-nodecount=1",
		"-unit="+kind.unit, "-sample_index="+kind.sample, "-ignore="+ignore, file)
	if err != nil {
		return 0, err
	}
	return parseTotal(top, kind.unit)
}

// totalPattern finds the total in what pprof prints.
var totalPattern = regexp.MustCompile(`of ([0-9.]+)([A-Za-z]+) total`)

func parseTotal(top, unit string) (float64, error) {
	match := totalPattern.FindStringSubmatch(top)
	if match == nil || match[2] != unit {
		return 0, fmt.Errorf("pprof prints no total in %s:\n%s", unit, lastOf(top, 2000))
	}
	return strconv.ParseFloat(match[1], 64)
}
