package server

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
)

// Entrance answers requests from before the server can serve: a port that refuses connections looks like a process that
// is stuck, and a supervisor would start it again for ever. Its methods are safe for concurrent use.
type Entrance struct {
	addr    net.Addr
	http    http.Server
	server  atomic.Pointer[Server] // nil until the server serves
	awaited atomic.Pointer[string] // nil while nothing is waited for
	respond responder
	// err is why the connections ended. It may be read when served is closed.
	served chan struct{}
	err    error
}

// NewEntrance answers the requests to l from now on. The caller ends it with Close.
func NewEntrance(l net.Listener, log *slog.Logger) *Entrance { return newEntrance(l, log, nil) }

// newEntrance returns an entrance to a server, which may be nil.
func newEntrance(l net.Listener, log *slog.Logger, s *Server) *Entrance {
	e := &Entrance{addr: l.Addr(), served: make(chan struct{}), respond: responder{log: log, redact: func(text string) string { return text }}}
	e.server.Store(s)
	e.http = http.Server{
		Handler: e, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: mostHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(e.served)
		e.err = e.http.Serve(l)
	}()
	return e
}

// Awaits records what the server waits for before it can serve, such as "the database". A nil Entrance ignores it.
func (e *Entrance) Awaits(what string) {
	if e != nil {
		e.awaited.Store(&what)
	}
}

// Addr returns the address that the entrance listens to.
func (e *Entrance) Addr() net.Addr { return e.addr }

// Admit passes all requests on to a server from now on. The caller then calls its ServeAt.
func (e *Entrance) Admit(s *Server) { e.server.Store(s) }

// Close closes the listener and all connections, and waits for that.
func (e *Entrance) Close() error {
	err := e.http.Close()
	<-e.served
	return err
}

// ServeHTTP implements http.Handler.
func (e *Entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := e.server.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	setHeaders(w.Header(), r)
	w.Header().Set("Connection", "close") // nobody reads the body
	why := "the server has not started yet"
	if what := e.awaited.Load(); what != nil {
		why += ": it waits for " + *what
	}
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case isRead && r.URL.Path == "/healthz":
		e.respond.writeText(w, "ok\n")
	case isRead && r.URL.Path == "/readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		e.respond.writeText(w, why+"\n")
	default:
		e.respond.refuse(w, refusal{status: http.StatusServiceUnavailable, code: codeUnavailable, message: why + ": try again later", retryAfter: retryLater})
	}
}
