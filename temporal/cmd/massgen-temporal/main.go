// Command massgen-temporal is massgen for several machines: workers play its turns on a Temporal
// server, and a shared PostgreSQL database keeps its sessions. "massgen-temporal worker" starts a
// worker.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/temporal/engine"
	"github.com/massgen/massgen/temporal/postgres"
)

func main() {
	massgen.Launcher()
	env := app.System()
	env.Cluster = &cluster{lease: lease}
	os.Exit(app.Main(os.Args, env))
}

// lease is the time after which silent workers lose a session. A worker that plays a turn prolongs the
// lease of its session.
const lease = time.Minute

// cluster is app.Cluster on Temporal and PostgreSQL.
type cluster struct {
	settings engine.Settings
	lease    time.Duration
	store    *postgres.Store
	// isPooled says that no connection to the database is a worker's own.
	isPooled bool
}

func (c *cluster) OpenStore(ctx context.Context, at app.DatabaseAddress) (store.Shared, error) {
	store, err := postgres.OpenTo(ctx, at.URL, postgres.Use{Brief: !at.IsBusy, Pooler: at.Pooler, Made: at.Made})
	if err != nil {
		return nil, err
	}
	c.store, c.isPooled = store, at.Pooler
	return store, nil
}

func (c *cluster) Measure(r *metrics.Registry) { postgres.Measure(c.store, r) }

func (c *cluster) Connect(ctx context.Context, at app.ClusterAddress) (coordinator.Remote, io.Closer, error) {
	e, err := c.dial(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	return e, e, nil
}

func (c *cluster) Work(ctx context.Context, at app.ClusterAddress, panel *coordinator.Panel, o app.WorkOptions) error {
	return c.work(ctx, at, panel, o, func(owner string) engine.Store { return c.ownedBy(owner, o.Redact) })
}

func (c *cluster) work(ctx context.Context, at app.ClusterAddress, panel *coordinator.Panel, o app.WorkOptions, as func(owner string) engine.Store) (err error) {
	e, err := c.dial(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Work(ctx, panel, engine.WorkOptions{
		Store: as, Texts: postgres.TextsOf(c.ownedBy("", o.Redact)), Signs: c.store.Signs(), IsSigned: !c.isPooled, Model: o.Model, Traces: o.Traces,
		Drain: engine.Drain{Longest: o.Drain.Longest, Turns: o.Drain.IsGiven, Now: o.Now},
	})
}

// ownedBy returns the store for an owner, which masks texts with redact.
func (c *cluster) ownedBy(owner string, redact func(string) string) *postgres.Store {
	s := c.store.As(owner, c.lease)
	s.Store = s.Masked(redact)
	return s
}

func (c *cluster) dial(ctx context.Context, at app.ClusterAddress) (*engine.Engine, error) {
	id, place := c.store.Database()
	e, err := engine.Dial(ctx, engine.Options{
		Address: at.Address, Namespace: at.Namespace, Queue: at.Queue, Settings: c.settings, TLS: at.TLS, APIKey: at.APIKey, Log: at.Log, Metrics: at.Metrics, Health: at.Health,
		DatabaseID: id, DatabasePlace: place, Deployment: at.Deployment, Build: at.Build,
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return e, nil
}
