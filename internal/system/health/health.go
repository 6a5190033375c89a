// Package health watches what a turn needs: the database, Temporal, the disk. It logs one line when a part is
// away, and one when it is back, however many operations fail meanwhile.
package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/logs"
	"github.com/massgen/massgen/internal/system/metrics"
)

// The parts.
const (
	Database = "database"
	Temporal = "temporal"
	Disk     = "disk"
	Worker   = "worker"
)

// Monitor checks the parts that a turn needs. It is safe for concurrent use.
type Monitor struct {
	log     *slog.Logger
	metrics *metrics.Registry

	looking sync.Mutex // held by the one look at a time
	mu      sync.Mutex // guards the fields below
	parts   []*part
	at      time.Time // of the last look
	drains  bool
}

// part is one thing that a turn needs.
type part struct {
	name  string
	check func(context.Context) error
	err   error     // nil while it works
	since time.Time // when it was found away; zero while it works
	known bool      // checked once
}

// How often the parts are checked, how long a check may take, and how long an answer about readiness holds.
const (
	every     = 5 * time.Second
	longest   = 4 * time.Second
	readyFor  = 2 * time.Second
	isStarted = "it has not started yet"
)

// New returns a Monitor that expects parts: until each is watched, no turn can be played.
func New(log *slog.Logger, m *metrics.Registry, expected ...string) *Monitor {
	h := &Monitor{log: log, metrics: m}
	m.Set(metrics.Draining(), 0)
	for _, name := range expected {
		h.parts = append(h.parts, &part{name: name, err: errors.New(isStarted)})
		h.show(name, false)
	}
	return h
}

// Watch checks a part from now on. check returns why it is away, and replaces another of the same name; nil means that
// the part works no more.
func (h *Monitor) Watch(name string, check func(context.Context) error) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = time.Time{}
	for _, p := range h.parts {
		if p.name == name {
			if p.check = check; check == nil {
				p.err, p.known = errors.New(isStarted), false
				h.show(name, false)
			}
			return
		}
	}
	h.parts = append(h.parts, &part{name: name, check: check, err: errors.New(isStarted)})
}

// Drains records that the program is about to end: no turn can be played from now on.
func (h *Monitor) Drains() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drains = true
	h.metrics.Set(metrics.Draining(), 1)
}

// Run checks the parts until ctx is done.
func (h *Monitor) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		h.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Ready returns whether a turn could be played now, and a line for each part that is away. Many calls cost one look.
func (h *Monitor) Ready(ctx context.Context) (ok bool, text string) {
	if h == nil {
		return true, "ready\n"
	}
	h.mu.Lock()
	isFresh := time.Since(h.at) < readyFor
	h.mu.Unlock()
	if !isFresh {
		h.look(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines strings.Builder
	if h.drains {
		lines.WriteString("the program is ending\n")
	}
	for _, p := range h.parts {
		if p.err != nil {
			lines.WriteString(gone(p.name) + "\n")
		}
	}
	if lines.Len() > 0 {
		return false, lines.String()
	}
	return true, "ready\n"
}

// IsAway reports whether a part that was checked is away.
func (h *Monitor) IsAway() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.parts {
		if p.known && p.err != nil {
			return true
		}
	}
	return false
}

// look checks all parts, at the same time.
func (h *Monitor) look(ctx context.Context) {
	h.looking.Lock()
	defer h.looking.Unlock()
	if ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	parts := append([]*part(nil), h.parts...)
	checks := make([]func(context.Context) error, len(parts))
	for i, p := range parts {
		checks[i] = p.check
	}
	h.mu.Unlock()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	var all sync.WaitGroup
	for i, p := range parts {
		if checks[i] != nil {
			all.Go(func() { h.found(p, checks[i](limited)) })
		}
	}
	all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = time.Now()
}

// found takes the result of a check, and logs a change.
func (h *Monitor) found(p *part, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := p.err
	p.err = err
	h.show(p.name, err == nil)
	switch {
	case err != nil && (was == nil || !p.known):
		p.since = time.Now()
		h.log.Error(gone(p.name), logs.Part, p.name, logs.Error, err)
	case err == nil && was != nil && p.known:
		h.log.Info(back(p.name), logs.Part, p.name, logs.Away, time.Since(p.since).Round(time.Millisecond))
	}
	p.known = true
}

func (h *Monitor) show(name string, works bool) {
	up := 0.0
	if works {
		up = 1
	}
	h.metrics.Set(metrics.Ready(), up, "part", name)
}

func gone(name string) string {
	switch name {
	case Disk:
		return "the disk takes no files"
	case Worker:
		return "the worker takes no turns"
	}
	return fmt.Sprintf("%s is away", called(name))
}

func back(name string) string {
	switch name {
	case Disk:
		return "the disk takes files again"
	case Worker:
		return "the worker takes turns again"
	}
	return fmt.Sprintf("%s is back", called(name))
}

func called(name string) string {
	if name == Temporal {
		return "Temporal"
	}
	return "the " + name
}
