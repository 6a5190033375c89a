package program

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/plain"
)

// Engines finds the engine that the flags name.
type Engines struct {
	env     *cmdline.Env
	console *cmdline.Console
	Flags   *cmdline.ClusterFlags
	log     func() *slog.Logger
	// Log, Metrics and Health are for a program that others depend on. They are nil for any other.
	Log     *slog.Logger
	Metrics *metrics.Registry
	Health  *health.Monitor
}

// Connect reaches the engine that plays a session's turns, nil if they are played here.
func (p *Engines) Connect(ctx context.Context, database string) (*Remote, error) {
	if p.env.Cluster == nil || p.Flags.Engine == cmdline.LocalEngine {
		return nil, nil
	}
	if database == "" {
		return nil, fmt.Errorf("--engine temporal needs --database URL, or %s: the store that all workers share", cmdline.DatabaseVariable)
	}
	at, err := p.Address()
	if err != nil {
		return nil, err
	}
	connect := func() (*Remote, error) {
		engine, connection, err := p.env.Cluster.Connect(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("--temporal-address: %w", err)
		}
		return &Remote{Remote: engine, Connection: connection}, nil
	}
	if p.Flags.Waits {
		return cmdline.WaitForServer(ctx, p.console, connect)
	}
	return connect()
}

// Remote is an engine whose Begin a person can interrupt. Begin is for one question at a time; a server,
// which has many, uses the embedded Remote.
type Remote struct {
	coordinator.Remote
	Connection io.Closer
	Interrupts <-chan os.Signal // that a question of this program gets
	// IsLeft reports that the system asked the program to end while the last turn began all the same.
	IsLeft bool
}

// Begin implements coordinator.Remote. Its error is cmdline.ErrQuit if an interrupt comes first.
func (e *Remote) Begin(ctx context.Context, session, question string, terms coordinator.TurnOptions) (coordinator.RemoteTurn, error) {
	waited, cancel := context.WithCancel(ctx)
	defer cancel()
	interrupted := make(chan os.Signal, 1)
	go func() {
		select {
		case signal := <-e.Interrupts:
			cancel()
			interrupted <- signal
		case <-waited.Done():
			interrupted <- nil
		}
	}()
	remote, err := e.Remote.Begin(waited, session, question, terms)
	cancel()
	signal := <-interrupted
	e.IsLeft = err == nil && signal != nil && cmdline.EndsProgram(signal)
	switch {
	case signal == nil, e.IsLeft:
	case err != nil:
		return nil, fmt.Errorf("%w before the turn had begun", cmdline.ErrQuit)
	default:
		err = remote.Interrupt(ctx)
	}
	return remote, err
}

// Address returns where the engine is, and how it is reached. Its error names the flag.
func (p *Engines) Address() (at cmdline.ClusterAddress, err error) {
	at = p.Flags.At
	at.Log, at.Metrics, at.Health = p.Log, p.Metrics, p.Health
	if at.Log == nil {
		at.Log = p.log()
	}
	if at.APIKey, err = p.key(); err == nil {
		at.TLS, err = p.Flags.Secure.Config(at.APIKey != "")
	}
	return at, err
}

// key returns the key for the engine, "" without one. A variable that the flag names must be set.
func (p *Engines) key() (string, error) {
	world := cmdline.NewWorld(p.env, func(string) {}) // a session warns already
	name := p.Flags.Secure.KeyVariable
	key, _ := world.Lookup(name)
	key = strings.TrimSpace(key)
	p.console.Secrets.Add(key)
	if key == "" && name != cmdline.TemporalKeyVariable {
		return "", fmt.Errorf("--temporal-api-key-env: the variable %s is not set: set it, or name the one that has the key", wording.Shortened(plain.Line(name), 40))
	}
	return key, nil
}
