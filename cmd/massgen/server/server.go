// Package server offers panels over HTTP as if each were one model: in the form of OpenAI's API,
// for the programs and chat pages that speak it.
package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/sessions"
)

// Settings are the settings of a server.
type Settings struct {
	// Models are the models that a request can name, in the order of the list of models.
	Models []Model
	// Store keeps the sessions. The caller closes it.
	Store *sessions.Store
	// CheckRoom returns an error if the store has no room for another turn. It may be nil.
	CheckRoom func() error
	// Redact masks secrets in responses.
	Redact func(text string) string
	Log    *slog.Logger
	// PlayedElsewhere reports that other processes play the turns.
	PlayedElsewhere bool
	// Permissions hold the tool calls of the models' panels that wait for a person; nil if nobody is
	// asked.
	Permissions *Permissions
	// NoReasoning leaves out what the agents say to each other before the answer.
	NoReasoning bool
	Access      Access
	Limits      Limits
	Drain       Drain
	// Metrics are shown by GET /metrics, and Health by GET /readyz, which the server adds its store to. Both may be nil.
	Metrics *metrics.Registry
	Health  *health.Monitor
	// Version is the program's.
	Version string
}

// Model is a panel, or one of its agents, under the name that requests use.
type Model struct {
	ID string
	// Created is when its config was last changed.
	Created time.Time
	// Agents are the ids of its agents.
	Agents []string
	// Panel and Preset are the panel and the preset by which it decides, "" for a panel as its config has it.
	Panel, Preset string
	// Open opens the panel. The server opens it with the first request and closes it.
	Open func(ctx context.Context) (*massgen.Panel, error)
	// OpenFor opens the panel for one session alone, if its agents have folders, so that no other
	// session sees the files in them. The server opens and closes it for each turn, and the panel of
	// Open answers no questions. If OpenFor is nil, all sessions share one panel.
	OpenFor func(ctx context.Context, session string) (*massgen.Panel, error)
}

// Drain is how a server ends that is told to. With its zero value the server stops its turns at once.
type Drain struct {
	// Longest is the longest time that turns may go on for which a request waits. All says that all other turns may,
	// too.
	Longest time.Duration
	All     bool
	// Now is done when the server is to end at once.
	Now context.Context
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	log    *slog.Logger
	models *models
	runs   *runs
	mcp    *mcpServer
	guard  *guard
	drain  Drain
	health *health.Monitor
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
	if s.Permissions == nil {
		s.Permissions = &Permissions{}
	}
	if s.Metrics == nil {
		s.Metrics = metrics.New()
	}
	respond := responder{redact: s.Redact, log: s.Log, metrics: s.Metrics, noReasoning: s.NoReasoning}
	if s.Health == nil {
		s.Health = health.New(s.Log, s.Metrics)
	}
	metrics := tally{s.Metrics}
	metrics.expect(s.Models)
	watchStore(s.Health, s.Store, s.CheckRoom)
	turns := &turns{
		respond: respond, store: s.Store, models: newModels(s.Models), runs: &runs{open: map[place]*run{}}, metrics: metrics,
		limiter: &limiter{Limits: s.Limits, users: map[string]*use{}}, sequences: &sequences{byKey: map[[sha256.Size]byte]sequence{}},
		askings: &askings{store: s.Store, redact: s.Redact, log: s.Log}, playedElsewhere: s.PlayedElsewhere,
	}
	starts := &starts{turns: turns, begins: map[string]*beginning{}}
	mcp := newMCPServer(turns, s.Access.Tokens, s.Version)

	mux := http.NewServeMux()
	models := modelRoutes{respond, turns.models}
	mux.HandleFunc("GET /v1/models", respond.answer(models.list))
	mux.HandleFunc("GET /v1/models/{id...}", respond.answer(models.show))
	mux.HandleFunc("POST /v1/chat/completions", respond.answer(chatRoutes{respond, starts}.complete))
	responseRoutes{respond, starts, turns}.route(mux)
	ofTurns := turnRoutes{respond, turns, s.Permissions}
	ofTurns.route(mux)
	sessionRoutes{respond, s.Store, turns, ofTurns}.route(mux)
	mux.Handle("/mcp", mcp)
	routePage(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respond.writeText(w, "ok\n") })
	ready := &readiness{respond: respond, health: s.Health, metrics: s.Metrics, models: turns.models, runs: turns.runs}
	mux.Handle("GET /readyz", ready)
	s.Metrics.OnScrape(ready.refresh)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { metrics.show(w, respond) })
	mux.HandleFunc("/", respond.answer(func(_ http.ResponseWriter, r *http.Request) error {
		return refusal{status: http.StatusNotFound, code: "not_found", message: "there is no " + r.Method + " here: see docs/server.md for what there is"}
	}))
	return &Server{s.Log, turns.models, turns.runs, mcp, newGuard(s.Access, respond, metrics, mux), s.Drain, s.Health}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guard.ServeHTTP(w, r) }

// Serve answers the requests to l, as ServeAt does.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.ServeAt(ctx, newEntrance(l, s.log, s))
}

// ServeAt answers the requests to an entrance until ctx is done and its drain is over. It then stops the turns that run,
// waits for the responses, and closes the panels and the entrance. A turn that ends with its request ends with the best
// answer so far. Other turns, and turns without an answer, stay in the store as after a kill.
func (s *Server) ServeAt(ctx context.Context, e *Entrance) error {
	e.Admit(s)
	var stopper sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	stopper.Go(func() { s.health.Run(ctx) })
	stopper.Go(func() {
		<-ctx.Done()
		s.health.Drains()
		if s.drain.Longest > 0 {
			draining, cancel := context.WithTimeout(s.drain.Now, s.drain.Longest)
			s.runs.drain(draining, s.drain.All)
			cancel()
		}
		s.runs.end()
		s.mcp.end()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if e.http.Shutdown(grace) != nil {
			s.log.Warn("some requests did not end in time", "error", e.http.Close())
		}
	})
	<-e.served
	err := e.err
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

// close ends the turns that go on without a request, and closes the panels.
func (s *Server) close() error {
	s.runs.end()
	s.mcp.end()
	s.runs.work.Wait()
	return s.models.close()
}
