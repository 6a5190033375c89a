package main

import (
	"context"
	"os"
	"time"
)

// startResult is what the program takes until it is at work.
type startResult struct {
	ToFirst []time.Duration // from the start of the process to the first request's arrival
	Turns   []measurement   // of a panel of three
	Version []measurement   // of --version
}

func (s *suite) runStarts(ctx context.Context, r *results) error {
	runs := 20
	s.say("start, %d runs", runs)
	for range runs {
		if err := s.mock.reset(ctx, false); err != nil {
			return err
		}
		m, err := s.turn(ctx, 3, latency{Median: time.Millisecond})
		if err != nil {
			return err
		}
		toFirst, err := s.toFirst(ctx, m)
		if err != nil {
			return err
		}
		version, err := s.measured(ctx, s.dir, os.DevNull, s.program, "--version")
		if err != nil {
			return err
		}
		r.Start.ToFirst = append(r.Start.ToFirst, toFirst)
		r.Start.Turns = append(r.Start.Turns, m)
		r.Start.Version = append(r.Start.Version, version)
	}
	return nil
}

// toFirst returns the time from the start of a process to the arrival of its first request.
func (s *suite) toFirst(ctx context.Context, m measurement) (time.Duration, error) {
	c, err := s.mock.counts(ctx)
	return c.First.Sub(m.Began), err
}
