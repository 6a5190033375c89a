package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/logs"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/sessions"
)

// readiness answers whether the server is ready. It remembers the answer for a while, so that many
// requests cost little.
type readiness struct {
	respond responder
	health  *health.Monitor
	metrics *metrics.Registry
	models  *models
	runs    *runs

	// broken are the errors of the panels that could not be opened, by model. The look under way owns it.
	broken map[string]string

	mu sync.Mutex // guards the fields below
	// looking is closed when the look under way is over, nil without one.
	looking chan struct{}
	at      time.Time
	text    string
	ok      bool
}

// How long an answer about readiness holds, and how long it may take.
const (
	readyFor   = 2 * time.Second
	readyLimit = 5 * time.Second
)

// ServeHTTP answers GET /readyz: 200 if the store answers and has room, all panels can be opened and the server
// is not about to end, else 503. The log has the reason.
func (s *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ok, text := s.answer(r.Context())
	if !ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	s.respond.writeText(w, text)
}

// answer waits for a look at most readyLimit: a panel whose server is slow to start opens for a minute.
func (s *readiness) answer(ctx context.Context) (ok bool, text string) {
	if s.runs.isEnding() {
		return false, "the server is ending\n"
	}
	if looking := s.begin(ctx); looking != nil {
		late := time.NewTimer(readyLimit)
		defer late.Stop()
		select {
		case <-looking:
		case <-late.C:
			return false, "the panels are still being opened\n"
		case <-ctx.Done():
			return false, "the request has ended\n"
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ok, s.text
}

// refresh looks anew for GET /metrics, which does not wait for it: the figures of a server whose /readyz nobody asks
// for are those of the last scrape.
func (s *readiness) refresh() {
	if !s.runs.isEnding() {
		s.begin(context.Background())
	}
}

// begin begins a look unless the last one still holds. It returns the look under way, nil without one.
func (s *readiness) begin(ctx context.Context) (looking <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looking != nil || time.Since(s.at) <= readyFor {
		return s.looking
	}
	over := make(chan struct{})
	s.looking = over
	s.runs.work.Go(func() {
		ok, text := s.look(context.WithoutCancel(ctx))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ok, s.text, s.at, s.looking = ok, text, time.Now(), nil
		close(over)
	})
	return over
}

// look finds out whether the server is ready.
func (s *readiness) look(ctx context.Context) (ok bool, text string) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if ok, text := s.health.Ready(ctx); !ok {
		return false, text
	}
	open, panels := 0, 0
	broken := map[string]string{}
	for _, m := range s.models.list {
		if m.Preset != "" { // its panel is open already, as its config has it
			continue
		}
		panels++
		if _, err := m.open(ctx); err != nil {
			if broken[m.ID] = err.Error(); s.broken[m.ID] != broken[m.ID] { // one line, however often somebody asks
				s.respond.log.Error("a panel cannot be opened", logs.Model, m.ID, logs.Error, err)
			}
			continue
		}
		open++
	}
	s.broken = broken
	s.metrics.Set(metrics.Ready(), map[bool]float64{true: 1}[open == panels], "part", "panels")
	return open == panels, fmt.Sprintf("%d of %d models can be asked\n", open, panels)
}

// watchStore adds a store to what a turn needs. checkRoom may be nil.
func watchStore(h *health.Monitor, store *sessions.Store, checkRoom func() error) {
	h.Watch(health.Database, func(ctx context.Context) error {
		_, err := store.List(ctx, sessions.Filter{Limit: 1})
		return err
	})
	if checkRoom != nil {
		h.Watch(health.Disk, func(context.Context) error { return checkRoom() })
	}
}
