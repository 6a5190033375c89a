package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen/sessions"
)

// readiness remembers for a while whether the server is ready, so that many who ask cost little.
type readiness struct {
	mu   sync.Mutex
	at   time.Time
	text string
	ok   bool
}

// The time that an answer about readiness holds, and that it may take to find.
const (
	readyFor   = 2 * time.Second
	readyLimit = 5 * time.Second
)

// ready answers GET /readyz: 200 if the store answers, all panels can be opened and the server
// is not about to end, else 503. What is wrong stands in the log.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	s.readiness.mu.Lock()
	defer s.readiness.mu.Unlock()
	if s.runs.isEnded() {
		s.readiness.ok, s.readiness.text = false, "the server is ending\n"
	} else if time.Since(s.readiness.at) > readyFor {
		s.readiness.ok, s.readiness.text = s.readiness.look(context.WithoutCancel(r.Context()), s)
		s.readiness.at = time.Now()
	}
	if !s.readiness.ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	s.writeText(w, s.readiness.text)
}

// look finds out whether the server is ready.
func (*readiness) look(ctx context.Context, of *Server) (ok bool, text string) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if _, err := of.Store.List(ctx, sessions.Filter{Limit: 1}); err != nil {
		of.Log.Error("the store does not answer", "error", err)
		return false, "the store does not answer\n"
	}
	open := 0
	for _, m := range of.Models {
		if _, err := of.models[m.ID].open(ctx); err != nil {
			of.Log.Error("a panel cannot be opened", "model", m.ID, "error", err)
			continue
		}
		open++
	}
	return open == len(of.Models), fmt.Sprintf("%d of %d models can be asked\n", open, len(of.Models))
}
