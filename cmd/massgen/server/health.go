package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen/sessions"
)

// readiness answers whether the server is ready. It remembers the answer for a while, so that many
// requests cost little.
type readiness struct {
	respond   responder
	store     *sessions.Store
	checkRoom func() error // may be nil
	models    *models
	runs      *runs

	mu   sync.Mutex
	at   time.Time
	text string
	ok   bool
}

// How long an answer about readiness holds, and how long it may take.
const (
	readyFor   = 2 * time.Second
	readyLimit = 5 * time.Second
)

// ServeHTTP answers GET /readyz: 200 if the store answers and has room, all panels can be opened and the server
// is not about to end, else 503. The log has the reason.
func (s *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs.isEnded() {
		s.ok, s.text = false, "the server is ending\n"
	} else if time.Since(s.at) > readyFor {
		s.ok, s.text = s.look(context.WithoutCancel(r.Context()))
		s.at = time.Now()
	}
	if !s.ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	s.respond.writeText(w, s.text)
}

// look finds out whether the server is ready.
func (s *readiness) look(ctx context.Context) (ok bool, text string) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if _, err := s.store.List(ctx, sessions.Filter{Limit: 1}); err != nil {
		s.respond.log.Error("the store does not answer", "error", err)
		return false, "the store does not answer\n"
	}
	if s.checkRoom != nil {
		if err := s.checkRoom(); err != nil {
			s.respond.log.Error("a turn cannot be stored", "error", err)
			return false, "the store has no room\n"
		}
	}
	open := 0
	for _, m := range s.models.list {
		if _, err := m.open(ctx); err != nil {
			s.respond.log.Error("a panel cannot be opened", "model", m.ID, "error", err)
			continue
		}
		open++
	}
	return open == len(s.models.list), fmt.Sprintf("%d of %d models can be asked\n", open, len(s.models.list))
}
