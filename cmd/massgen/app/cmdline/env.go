// Package cmdline has what all commands share: the environment, the output, flags, interrupts and exit statuses.
package cmdline

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/metrics"
)

// Cluster is an engine, and a store, that several machines share: the module temporal has
// one. Its methods are called by one goroutine.
type Cluster interface {
	// OpenStore opens the database that keeps the sessions.
	OpenStore(ctx context.Context, at DatabaseAddress) (store.Shared, error)
	// Migrate upgrades that database for this program, and prints what it does. A dry run changes
	// nothing, and prints the statements too.
	Migrate(ctx context.Context, address string, dry bool, out io.Writer) error
	// Measure makes a registry count the requests to the database that was opened, from now on.
	Measure(r *metrics.Registry)
	// Connect connects to the engine. Closing the connection does not end its turns.
	Connect(ctx context.Context, at ClusterAddress) (coordinator.Remote, io.Closer, error)
	// Work takes part in the turns of others, with a panel of the store that was opened,
	// until ctx is done and its drain is over.
	Work(ctx context.Context, at ClusterAddress, panel *coordinator.Panel, o WorkOptions) error
}

// WorkOptions are the options of a worker.
type WorkOptions struct {
	// Redact masks texts before they are kept.
	Redact func(string) string
	Drain  Drain
	// Model is the name of the panel in metrics.
	Model string
	// Traces gets the calls that the worker makes; nil for none.
	Traces *telemetry.Exporter
	// Now is done when the drain is to end at once.
	Now context.Context
}

// Drain is how long a program that is told to end lets its work go on.
type Drain struct {
	Longest time.Duration
	// IsGiven says that a person has given Longest. Then not only calls under way may go on.
	IsGiven bool
}

// DatabaseAddress says where a database is, and how it is used.
type DatabaseAddress struct {
	// URL may contain a password.
	URL string
	// Pooler reports that a pooler stands before the database, which gives each transaction another connection.
	Pooler bool
	// IsBusy is for a process that plays turns, or serves many. Any other process closes its connections soon
	// after each use.
	IsBusy bool
	// Made is called with the place of a store that was made because there was none. It may be nil.
	Made func(place string)
}

// ClusterAddress says where an engine is: HOST:PORT, a namespace there, and the queue that
// the workers of one config listen to. TLS is nil for a connection without it, and APIKey is
// empty if the server asks for no key.
type ClusterAddress struct {
	Address, Namespace, Queue string
	TLS                       *tls.Config
	APIKey                    string
	// Deployment and Build opt a worker into Temporal's Worker Versioning: a turn stays with the
	// workers of the build that began it. Both are empty, or none is.
	Deployment, Build string
	// Log is the log of the engine's own client. Metrics count what it does, and Health watches it; both may be nil.
	Log     *slog.Logger
	Metrics *metrics.Registry
	Health  *health.Monitor
}

// Env is the environment that the program runs in.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Lookup finds a variable of the environment.
	Lookup func(name string) (value string, set bool)
	// Interrupts delivers a person's Ctrl+C. Nil means the signals of the process.
	Interrupts <-chan os.Signal
	// LocalServers are the model servers that type auto looks for: base URLs by
	// backend type. Nil means the types' default addresses.
	LocalServers map[string]string
	// Slack prolongs short waits: for the answer of a model server of this machine, for steps
	// that start together, for an interrupt soon after another. Tests on slow machines set it.
	Slack time.Duration
	// Cluster is where turns are played if not here; nil plays all of them here.
	Cluster Cluster

	// TTY is the terminal, nil if it is not the program's own.
	TTY *TTY
}

// NewWorld returns the environment with the file .env of the current folder, and the model servers of this
// machine. It warns of lines in the file that it could not read.
func NewWorld(env *Env, warn func(text string)) providers.World {
	world := providers.NewWorld(env.Lookup)
	world.LocalServers, world.Slack = env.LocalServers, env.Slack
	if world.Unread != "" {
		warn(world.Unread)
		world.Unread = "" // a panel would tell it again
	}
	return world
}

// HideKeys masks the keys of the environment in the output. It does not warn of the file .env, whose keys
// a command that only looks does not need.
func HideKeys(env *Env, c *Console) {
	NewWorld(env, func(string) {}).HideKeys(c.Secrets)
}
