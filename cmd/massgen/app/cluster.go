package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/storage/store"
)

// Cluster is an engine, and a store, that several machines share: the module temporal has
// one. Its methods are called by one goroutine.
type Cluster interface {
	// OpenStore opens the database that keeps the sessions.
	OpenStore(ctx context.Context, address string) (store.Shared, error)
	// Connect connects to the engine. Closing the connection does not end its turns.
	Connect(ctx context.Context, at ClusterAddress) (coordinator.Remote, io.Closer, error)
	// Work takes part in the turns of others, with a panel of the store that was opened,
	// until ctx is done. What redact changes is not kept.
	Work(ctx context.Context, at ClusterAddress, panel *coordinator.Panel, redact func(string) string) error
}

// ClusterAddress says where an engine is: HOST:PORT, a namespace there, and the queue that
// the workers of one config listen to. TLS is nil for a connection without, APIKey empty
// where none is asked for.
type ClusterAddress struct {
	Address, Namespace, Queue string
	TLS                       *tls.Config
	APIKey                    string
	// Log takes what the engine's own client has to say.
	Log *slog.Logger
}

// clusterFlags say which engine plays turns, and how it is reached.
type clusterFlags struct {
	engine string
	at     ClusterAddress
	secure secureOptions
}

// The values of --engine.
const (
	localEngine    = "local"
	temporalEngine = "temporal"
)

// clusterCategory is where --help has these flags.
const clusterCategory = "Several machines"

// clusterFlagsOf returns no flags for a program without a Cluster.
func clusterFlagsOf(c Cluster, engine *clusterFlags, session *sessionFlags) []cli.Flag {
	if c == nil {
		return nil
	}
	return append(engine.flags(), session.databaseFlag(c)...)
}

func (f *clusterFlags) flags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "engine", Category: clusterCategory, DefaultText: temporalEngine,
			Usage: "`NAME`: temporal plays turns by workers, local in this process", Action: func(_ *cli.Context, name string) error {
				if name != localEngine && name != temporalEngine {
					return fmt.Errorf("--engine is %q: it is %s or %s", shortened(name, 40), localEngine, temporalEngine)
				}
				f.engine = name
				return nil
			}},
		addressFlag("temporal-address", "the Temporal server, `HOST:PORT`", "127.0.0.1:7233", &f.at.Address),
		addressFlag("temporal-namespace", "its namespace `NAME`", "default", &f.at.Namespace),
		addressFlag("temporal-queue", "the queue `NAME` of the workers", "massgen", &f.at.Queue),
	}, f.secure.flags()...)
}

func addressFlag(name, about, value string, to *string) cli.Flag {
	*to = value
	f := textFlag(clusterCategory, name, to, about)
	f.DefaultText = value
	return f
}

// databaseFlag is also a flag of the commands that read a store.
func (f *sessionFlags) databaseFlag(c Cluster) []cli.Flag {
	if c == nil {
		return nil
	}
	return []cli.Flag{textFlag(clusterCategory, "database", &f.database, "keep sessions in the PostgreSQL database at `URL`; also "+databaseVariable)}
}

// engineSource finds the engine that the flags name.
type engineSource struct {
	env     *Env
	console *console
	flags   *clusterFlags
	log     func() *slog.Logger
}

// connect reaches the engine that plays a session's turns, nil if they are played here.
func (p *engineSource) connect(ctx context.Context, database string) (*clusterRemote, error) {
	if p.env.Cluster == nil || p.flags.engine == localEngine {
		return nil, nil
	}
	if database == "" {
		return nil, fmt.Errorf("--engine temporal needs --database URL, or %s: the store that all workers share", databaseVariable)
	}
	at, err := p.address()
	if err != nil {
		return nil, err
	}
	engine, connection, err := p.env.Cluster.Connect(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("--temporal-address: %w", err)
	}
	return &clusterRemote{Remote: engine, connection: connection}, nil
}

// clusterRemote is an engine that a person may not want to wait for. Its Begin is for one question at a
// time; a server, which has many, uses Remote.
type clusterRemote struct {
	coordinator.Remote
	connection io.Closer
	interrupts <-chan os.Signal // of the question that is asked
}

// Begin implements coordinator.Remote. The error is errQuit if it is interrupted first.
func (e *clusterRemote) Begin(ctx context.Context, session, question string, terms coordinator.TurnOptions) (coordinator.RemoteTurn, error) {
	waited, cancel := context.WithCancel(ctx)
	defer cancel()
	interrupted := make(chan bool, 1)
	go func() {
		select {
		case <-e.interrupts:
			cancel()
			interrupted <- true
		case <-waited.Done():
			interrupted <- false
		}
	}()
	remote, err := e.Remote.Begin(waited, session, question, terms)
	cancel()
	switch isInterrupted := <-interrupted; {
	case isInterrupted && err != nil:
		return nil, fmt.Errorf("%w before the turn had begun", errQuit)
	case isInterrupted:
		err = remote.Interrupt(ctx)
	}
	return remote, err
}

// workerCommand plays turns for those who ask.
func workerCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "play the turns that others ask for, by the flags --config, --database and --temporal-address, until it is interrupted",
		Flags:  programFlags(p),
		Action: func(c *cli.Context) error { return work(c.Context, p, c.Args().Slice()) },
	}
}

func work(ctx context.Context, p *program, words []string) (err error) {
	switch {
	case len(words) > 0:
		return errors.New("worker: it takes no question")
	case p.kept.database() == "":
		return fmt.Errorf("worker: it needs --database URL, or %s: the store that all workers share", databaseVariable)
	}
	p.options.display.noDisplay, p.options.cluster.engine = true, localEngine
	p.options.worker = true
	p.log = p.logger()
	at, err := p.engines.address()
	if err != nil {
		return err
	}
	if at.Log = p.log; !p.log.Enabled(ctx, slog.LevelInfo) { // nobody sits before a worker
		at.Log = slog.New(slog.NewTextHandler(p.console.err, nil))
	}
	s, err := openSession(ctx, p, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	working, stop := context.WithCancel(ctx)
	defer stop()
	interrupts := p.watch.take()
	go func() {
		select {
		case <-interrupts:
			stop()
		case <-working.Done():
		}
	}()
	p.console.say("massgen: working for the queue %s of Temporal at %s, with %s", at.Queue, at.Address, s.asked.panel.Names())
	return p.env.Cluster.Work(working, at, s.asked.panel.Coordinator(), p.console.secrets.Redact)
}
