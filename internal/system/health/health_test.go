package health_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/metrics"
)

// TestOneLineWhenAwayAndOneWhenBack, however often the part is checked meanwhile.
func TestOneLineWhenAwayAndOneWhenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := metrics.New()
		h := health.New(slog.New(slog.NewTextHandler(&out, nil)), m, health.Database, health.Temporal)
		up := func() float64 { return m.Value(metrics.Ready(), "part", health.Database) }
		var isAway atomic.Bool
		h.Watch(health.Database, func(context.Context) error {
			if isAway.Load() {
				return errors.New("refused")
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go h.Run(ctx)
		synctest.Wait()
		if ok, text := h.Ready(ctx); ok || text != "Temporal is away\n" || up() != 1 || m.Value(metrics.Ready(), "part", health.Temporal) != 0 {
			t.Errorf("%v %q before Temporal is watched", ok, text)
		}
		h.Watch(health.Temporal, func(context.Context) error { return nil })
		if ok, text := h.Ready(ctx); !ok {
			t.Errorf("%q", text)
		}
		isAway.Store(true)
		time.Sleep(time.Minute)
		if ok, text := h.Ready(ctx); ok || text != "the database is away\n" || up() != 0 {
			t.Errorf("%v %q while it is away", ok, text)
		}
		isAway.Store(false)
		time.Sleep(time.Minute)
		if ok, _ := h.Ready(ctx); !ok || up() != 1 {
			t.Error("it is not back")
		}
		h.Drains()
		if ok, text := h.Ready(ctx); ok || text != "the program is ending\n" {
			t.Errorf("%v %q at the end", ok, text)
		}
		cancel()
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], `level=ERROR msg="the database is away" part=database error=refused`) || !strings.Contains(lines[1], `msg="the database is back" part=database away=`) {
			t.Errorf("%s", out.String())
		}
	})
}
