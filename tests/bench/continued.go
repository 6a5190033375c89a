package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// longTurns is how many turns the long session has.
const longTurns = 10_000

// runContinued goes on with a session of longTurns turns, all of which are shown.
func (s *suite) runContinued(ctx context.Context, r *results) error {
	runs := 10
	if s.quick {
		runs = 3
	}
	s.say("--continue on %d turns, %d runs", longTurns, runs)
	dir := filepath.Join(s.dir, "continued")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder for the long session: %w", err)
	}
	dump, config := filepath.Join(dir, "long.jsonl"), filepath.Join(dir, "panel.yaml")
	if err := writeLongSession(ctx, dump, longTurns); err != nil {
		return err
	}
	text := panelConfig(3, s.mock.base(latency{Median: time.Millisecond})) + "context: {policy: full}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a config: %w", err)
	}
	state := filepath.Join(dir, "state")
	if _, err := output(ctx, dir, s.program, "sessions", "import", "--state-dir", state, dump); err != nil {
		return err
	}
	for range runs {
		if err := s.mock.reset(ctx, false); err != nil {
			return err
		}
		result := filepath.Join(dir, "result.json")
		m, err := s.measured(ctx, dir, result, s.program,
			"--config", config, "--json", "--no-display", "--state-dir", state, "--continue", question)
		if err == nil {
			err = checkResult(result)
		}
		if err != nil {
			return err
		}
		toFirst, err := s.toFirst(ctx, m)
		if err != nil {
			return err
		}
		r.Continued = append(r.Continued, toFirst)
	}
	return nil
}

// writeLongSession writes the export of a session with so many short turns, of a store in memory:
// the program imports it in one transaction, where asking would take as many as there are turns.
func writeLongSession(ctx context.Context, path string, turns int) error {
	store, id := sessions.NewMemory(), "long"
	for i := range turns {
		begun, err := store.Begin(ctx, id, fmt.Sprintf("Question %d: what then?", i))
		if err == nil {
			err = store.Append(ctx, id, begun.Turn, []byte(`{"type":"test"}`))
		}
		if err == nil {
			err = store.End(ctx, id, begun.Turn, sessions.Ended{
				Status: kernel.Completed, Winner: "agent1", Answer: fmt.Sprintf("Answer %d: this and that.", i), MessageCount: 2,
			})
		}
		if err != nil {
			return fmt.Errorf("make turn %d of the long session: %w", i+1, err)
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the long session: %w", err)
	}
	if err := errors.Join(store.Export(ctx, id, file), file.Close()); err != nil {
		return fmt.Errorf("write the long session: %w", err)
	}
	return nil
}
