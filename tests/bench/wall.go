package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wallCase is a panel whose turns are timed.
type wallCase struct {
	Agents  int
	Latency latency
	Runs    int
}

// wallResult is what the turns of a panel took, run by run.
type wallResult struct {
	wallCase
	Critical      time.Duration
	Calls         int
	Bytes         int64 // of all inputs
	Program, Bare []measurement
}

// wallCases returns the panels of a run.
func wallCases(quick bool) []wallCase {
	constant := func(ms int) latency { return latency{Median: time.Duration(ms) * time.Millisecond} }
	if quick {
		return []wallCase{{1, constant(500), 2}, {3, constant(500), 3}, {30, constant(500), 2}, {100, constant(100), 2}}
	}
	var cases []wallCase
	for _, agents := range []int{1, 3, 10, 30, 100, 300, 1000} {
		cases = append(cases, wallCase{agents, constant(500), runsOf(agents)})
	}
	for _, l := range []latency{constant(100), {300 * time.Millisecond, 1}} {
		for _, agents := range []int{3, 30, 100} {
			cases = append(cases, wallCase{agents, l, runsOf(agents)})
		}
	}
	return cases
}

// runsOf returns how often a panel is run: the small ones more often, which differ more.
func runsOf(agents int) int {
	if agents <= 30 {
		return 5
	}
	return 3
}

func (s *suite) runWalls(ctx context.Context, r *results) error {
	cases := wallCases(s.quick)
	if s.panel.Agents > 0 {
		cases = []wallCase{s.panel}
	}
	for _, c := range cases {
		s.say("%d agents, calls of %s, %d runs", c.Agents, c.Latency, c.Runs)
		w, err := s.wall(ctx, c)
		if err != nil {
			return fmt.Errorf("%d agents, calls of %s: %w", c.Agents, c.Latency, err)
		}
		r.Walls = append(r.Walls, w)
	}
	return nil
}

// wall records the bodies of a turn without latency, and then runs the program and the bare
// client by turns.
func (s *suite) wall(ctx context.Context, c wallCase) (w wallResult, err error) {
	w.wallCase = c
	recording := filepath.Join(s.dir, "bodies")
	defer func() { err = errors.Join(err, os.RemoveAll(recording)) }()
	if err := s.mock.reset(ctx, true); err != nil {
		return w, err
	}
	if _, err := s.turn(ctx, c.Agents, latency{}); err != nil {
		return w, err
	}
	if err := s.mock.saveBodies(ctx, recording); err != nil {
		return w, err
	}
	for range c.Runs {
		if err := s.mock.reset(ctx, false); err != nil {
			return w, err
		}
		program, err := s.turn(ctx, c.Agents, c.Latency)
		if err != nil {
			return w, err
		}
		counted, err := s.mock.counts(ctx)
		if err == nil {
			err = s.mock.reset(ctx, false)
		}
		if err != nil {
			return w, err
		}
		bare, err := s.measured(ctx, s.dir, os.DevNull, s.self, "bare", "-base", s.mock.base(c.Latency), "-bodies", recording)
		if err != nil {
			return w, err
		}
		again, err := s.mock.counts(ctx)
		if err != nil {
			return w, err
		}
		if again.Rounds != counted.Rounds {
			return w, fmt.Errorf("the program's rounds are %+v, and the bare client's %+v: they must be equal", counted.Rounds, again.Rounds)
		}
		w.Critical, w.Calls, w.Bytes = counted.criticalPath(), counted.calls(), counted.bytes()
		w.Program, w.Bare = append(w.Program, program), append(w.Bare, bare)
	}
	return w, nil
}

// question is what the panels are asked.
const question = "What is the cheapest source of energy?"

// turn runs the program once, on a new store.
func (s *suite) turn(ctx context.Context, agents int, l latency) (m measurement, err error) {
	dir, err := os.MkdirTemp(s.dir, "turn-")
	if err != nil {
		return m, fmt.Errorf("make a folder for a turn: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config := filepath.Join(dir, "panel.yaml")
	if err := os.WriteFile(config, []byte(panelConfig(agents, s.mock.base(l))), 0o600); err != nil {
		return m, fmt.Errorf("write a config: %w", err)
	}
	result := filepath.Join(dir, "result.json")
	m, err = s.measured(ctx, dir, result, s.program,
		"--config", config, "--json", "--no-display", "--state-dir", filepath.Join(dir, "state"), question)
	if err != nil {
		return m, err
	}
	return m, checkResult(result)
}

// checkResult reports a turn that has no winner.
func checkResult(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the result of a turn: %w", err)
	}
	var result struct{ Status, Winner string }
	if err := json.Unmarshal(text, &result); err != nil {
		return fmt.Errorf("read the result of a turn: %w", err)
	}
	if result.Status != "completed" || result.Winner != "agent1" {
		return fmt.Errorf("the turn is %s, and its winner %q: it must be completed, and agent1's", result.Status, result.Winner)
	}
	return nil
}

// panelConfig returns the config of a panel whose agents share a base URL.
func panelConfig(agents int, base string) string {
	var config strings.Builder
	config.WriteString("agents:\n")
	for i := range agents {
		fmt.Fprintf(&config, "  - {id: agent%d, backend: {type: chatcompletion, model: mock%d, base_url: %q}}\n", i+1, i+1, base)
	}
	return config.String()
}
