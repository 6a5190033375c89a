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
	Agents int
	CPU    time.Duration
	Bytes  float64 // that it allocates
	Inputs int64   // bytes of the bodies that the program sends for such a turn
}

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
	if r.Growth.Small, err = s.panelCost(ctx, program, small, 40); err != nil {
		return err
	}
	r.Growth.Large, err = s.panelCost(ctx, program, large, 5)
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
