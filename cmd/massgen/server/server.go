// Package server offers panels over HTTP as if each were one model: in the form of OpenAI's API,
// for the programs and chat pages that speak it.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/sessions"
)

// Settings say what a server offers.
type Settings struct {
	// Models are what a request can name, in the order in which they are listed.
	Models []Model
	// Store keeps the sessions. It stays the caller's.
	Store *sessions.Store
	// Redact masks secrets in what is sent.
	Redact func(text string) string
	Log    *slog.Logger
	// PlayedElsewhere says that other processes play the turns.
	PlayedElsewhere bool
	// Permissions hold the tool calls of the models' panels that wait for a person; nil where
	// nobody is asked.
	Permissions *Permissions
	// NoReasoning leaves out what the agents say to each other before the answer.
	NoReasoning bool
	Access      Access
	Limits      Limits
	// Version is the program's.
	Version string
}

// Model is a panel, or one agent of it, under the name by which a request names it.
type Model struct {
	ID string
	// Created is when its config was last changed.
	Created time.Time
	// Agents are the ids of its agents.
	Agents []string
	// Open opens the panel. The server opens it with the first request and closes it.
	Open func(ctx context.Context) (*massgen.Panel, error)
	// OpenFor opens the panel for one session alone, if its agents have folders: no other session
	// sees what is in them. The server opens it for each turn and closes it; that of Open answers
	// no questions then. Nil has all sessions share one panel.
	OpenFor func(ctx context.Context, session string) (*massgen.Panel, error)
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	Settings
	models    map[string]*model
	sequences *sequences
	runs      *runs
	limiter   *limiter
	metrics   *tally
	readiness readiness
	askings   *askings
	mux       *http.ServeMux
	guard     *guard
	mcp       *mcpServer
}

// The limits of a connection and of a request.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	mostHeader    = 64 << 10
	mostBody      = 16 << 20
)

// New returns a server of models, of which there is at least one.
func New(s Settings) *Server {
	server := &Server{
		Settings: s, models: map[string]*model{}, sequences: newSequences(), runs: newRuns(), limiter: newLimiter(s.Limits), metrics: newTally(), mux: http.NewServeMux(),
	}
	if s.Permissions == nil {
		server.Permissions = &Permissions{}
	}
	server.askings = newAskings(server)
	for _, m := range s.Models {
		server.models[m.ID] = &model{Model: m}
	}
	server.mcp = newMCPServer(server)
	server.routes()
	server.guard = newGuard(server, server.mux)
	return server
}

func (s *Server) routes() {
	s.mux.HandleFunc("GET /v1/models", s.listModels)
	s.mux.HandleFunc("GET /v1/models/{id...}", s.showModel)
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.routeSessions()
	responses{s}.routes(s.mux)
	s.mux.Handle("/mcp", s.mcp)
	s.routePage()
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { s.writeText(w, "ok\n") })
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { s.metrics.show(w, s) })
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, refusal{status: http.StatusNotFound, code: "not_found", message: "there is no " + r.Method + " here: see docs/server.md for what there is"})
	})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guard.ServeHTTP(w, r) }

// Serve answers the requests that come to l, until ctx is done. It then ends the turns that run
// with their best answers so far, waits for the responses, and closes the panels and l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: mostHeader,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	var stopper sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	stopper.Go(func() {
		<-ctx.Done()
		s.runs.end()
		s.mcp.end()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if h.Shutdown(grace) != nil {
			s.Log.Warn("some requests did not end in time", "error", h.Close())
		}
	})
	err := h.Serve(l)
	stop()
	stopper.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("serve: %w", err)
	}
	return errors.Join(err, s.close())
}

// close ends what goes on without a request, and closes the panels.
func (s *Server) close() error {
	s.runs.end()
	s.mcp.end()
	s.runs.wait()
	var all []error
	for _, m := range s.Models {
		all = append(all, s.models[m.ID].close())
	}
	return errors.Join(all...)
}
