package postgres

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/system/metrics"
)

// Measure makes r count the requests of s to the database, and its connections, from now on.
func Measure(s *Store, r *metrics.Registry) {
	s.owner.tracer.registry.Store(r)
	pool := s.owner.pool
	r.OnScrape(func() {
		at := pool.Stat()
		for state, n := range map[string]int32{"used": at.AcquiredConns(), "idle": at.IdleConns(), "most": at.MaxConns()} {
			r.Set(metrics.DatabaseConnections(), float64(n), "state", state)
		}
	})
}

// tracer counts requests, once it has a registry.
type tracer struct {
	registry atomic.Pointer[metrics.Registry]
}

var (
	_ pgx.QueryTracer   = (*tracer)(nil)
	_ pgx.ConnectTracer = (*tracer)(nil)
)

// request is a request under way.
type request struct {
	operation string
	began     time.Time
}

type requestKey struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (*tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, requestKey{}, request{operationOf(data.SQL), time.Now()})
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	t.ended(ctx, data.Err)
}

// TraceConnectStart implements pgx.ConnectTracer.
func (*tracer) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, requestKey{}, request{"connect", time.Now()})
}

// TraceConnectEnd implements pgx.ConnectTracer.
func (t *tracer) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	t.ended(ctx, data.Err)
}

func (t *tracer) ended(ctx context.Context, err error) {
	r := t.registry.Load()
	of, ok := ctx.Value(requestKey{}).(request)
	if r == nil || !ok {
		return
	}
	failed := 0.0
	if err != nil && !errors.Is(err, context.Canceled) {
		failed = 1
	}
	r.Add(metrics.DatabaseErrorsTotal(), failed, "operation", of.operation)
	r.Observe(metrics.DatabaseDuration(), time.Since(of.began).Seconds(), "operation", of.operation)
}

// operationOf returns the first word of a statement, so that there are few operations.
func operationOf(statement string) string {
	word := ""
	if words := strings.Fields(statement); len(words) > 0 {
		word = strings.ToLower(words[0])
	}
	switch word {
	case "select", "insert", "update", "delete", "with", "begin", "commit", "rollback", "listen", "notify":
		return word
	}
	return "other"
}
