package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/logs"
	"github.com/massgen/massgen/internal/system/metrics"
)

// Show answers GET /metrics, /healthz and /readyz at an address until stop is called. The answers have no secrets,
// and need no token.
func Show(ctx context.Context, address string, m *metrics.Registry, h *health.Monitor, log *slog.Logger) (stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w; name another address, such as 127.0.0.1:9464", err)
	}
	mux := http.NewServeMux()
	write := func(w http.ResponseWriter, text string) {
		if _, err := io.WriteString(w, text); err != nil {
			log.Debug("a client is gone", logs.Error, err)
		}
	}
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metrics.ContentType)
		write(w, m.Text())
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { write(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ok, text := h.Ready(r.Context())
		if !ok {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		write(w, text)
	})
	const mostTime, mostHeader = 10 * time.Second, 16 << 10
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: mostTime, ReadTimeout: mostTime, WriteTimeout: 2 * mostTime, IdleTimeout: time.Minute, MaxHeaderBytes: mostHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the metrics are shown no more", logs.Error, err)
		}
	}()
	log.Info("metrics and health are shown", "address", l.Addr().String())
	return func() {
		if err := s.Close(); err != nil {
			log.Debug("the metrics were not closed well", logs.Error, err)
		}
		<-done
	}, nil
}
