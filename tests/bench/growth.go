package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// growthResult is what a mocked turn takes at two sizes of its panel.
type growthResult struct{ Small, Large panelCost }

// panelCost is what a mocked turn of a panel takes.
type panelCost struct {
	Agents      int
	CPU         time.Duration
	Bytes       float64 // that it allocates
	Inputs      int64   // bytes of the bodies that the program sends for such a turn
	BesideCPU   float64 // the share of the CPU that is not for inputs
	BesideBytes float64 // the share of the bytes that is not for inputs
}

// inputFunctions match the functions that build inputs, hash them and note them.
const inputFunctions = `massgen/contextbuild\.|agents\.\(\*(inputBuilder|sentRecords)\)|backends\.Request\.Digest`

func (s *suite) runGrowth(ctx context.Context, r *results) (err error) {
	small, large := 100, 1000
	if s.quick {
		large = 300
	}
	s.say("growth from %d to %d agents", small, large)
	program, err := s.compileTests(ctx, "tests")
	if err != nil {
		return err
	}
	// Of fewer turns the ratio was 8.9 in one run, and 18.5 in another.
	if r.Growth.Small, err = s.panelCost(ctx, program, small, 200); err != nil {
		return err
	}
	r.Growth.Large, err = s.panelCost(ctx, program, large, 20)
	return err
}

// panelCost runs a mocked turn once, and then turns more, in processes of their own. The
// difference is what these turns cost, without the start.
func (s *suite) panelCost(ctx context.Context, program string, agents, turns int) (panelCost, error) {
	c := panelCost{Agents: agents}
	var took [2]time.Duration
	for i, n := range []int{1, 1 + turns} {
		file := filepath.Join(s.dir, "growth.txt")
		flags := benchmarkFlags(fmt.Sprintf("^BenchmarkMocked$/^memory$/^panel=%d$", agents), fmt.Sprint(n, "x"))
		m, err := s.measured(ctx, filepath.Join(s.root, "tests"), file, program, flags...)
		if err != nil {
			return c, err
		}
		out, err := os.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("read what the benchmark has printed: %w", err)
		}
		found, err := parseBenchmarks("tests", string(out))
		if err != nil {
			return c, err
		}
		took[i], c.Bytes = m.CPU, found[0].Values["B/op"]
	}
	c.CPU = (took[1] - took[0]) / time.Duration(turns)
	var err error
	if c.BesideCPU, err = s.shareBesideInputs(ctx, cpuProfile(), program, agents, 2*turns); err != nil {
		return c, err
	}
	if c.BesideBytes, err = s.shareBesideInputs(ctx, allocationProfile(), program, agents, max(2, turns/10)); err != nil {
		return c, err
	}
	if err := s.mock.reset(ctx, false); err != nil {
		return c, err
	}
	if _, err := s.turn(ctx, agents, latency{}); err != nil {
		return c, err
	}
	counted, err := s.mock.counts(ctx)
	c.Inputs = counted.bytes()
	return c, err
}

// shareBesideInputs profiles some mocked turns, and returns the share of the samples in which
// no function of inputFunctions was at work.
func (s *suite) shareBesideInputs(ctx context.Context, kind profileKind, program string, agents, turns int) (float64, error) {
	file := filepath.Join(s.dir, "growth.pprof")
	if err := s.writeProfile(ctx, kind, program, fmt.Sprint("memory/panel=", agents), turns, file); err != nil {
		return 0, err
	}
	all, err := s.profileTotal(ctx, kind, file, "")
	if err != nil {
		return 0, err
	}
	beside, err := s.profileTotal(ctx, kind, file, inputFunctions)
	if err != nil {
		return 0, err
	}
	if !(beside < all) {
		return 0, fmt.Errorf("the profile has no function that matches %s: correct inputFunctions", inputFunctions)
	}
	return beside / all, nil
}

// besideCPU returns the seconds that a turn takes beside its inputs.
func (c panelCost) besideCPU() float64 { return c.CPU.Seconds() * c.BesideCPU }

// besideMB returns how many million bytes a turn allocates beside its inputs.
func (c panelCost) besideMB() float64 { return c.Bytes * c.BesideBytes / 1e6 }
