package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
)

// ClusterFlags choose the engine that plays turns, and its address.
type ClusterFlags struct {
	Engine string
	At     ClusterAddress
	Secure secureOptions
}

// The values of --engine.
const (
	LocalEngine    = "local"
	temporalEngine = "temporal"
)

// clusterCategory is the heading of these flags in the help.
const clusterCategory = "Several machines"

// EngineFlags returns the flags for the engine and its database, nil for a program without a Cluster.
func EngineFlags(c Cluster, engine *ClusterFlags, session *SessionFlags) []cli.Flag {
	if c == nil {
		return nil
	}
	return append(engine.flags(), session.DatabaseFlag(c)...)
}

func (f *ClusterFlags) flags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "engine", Category: clusterCategory, DefaultText: temporalEngine,
			Usage: "`NAME`: temporal plays turns by workers, local in this process", Action: func(_ *cli.Context, name string) error {
				if name != LocalEngine && name != temporalEngine {
					return fmt.Errorf("--engine is %q: it is %s or %s", wording.Shortened(name, 40), LocalEngine, temporalEngine)
				}
				f.Engine = name
				return nil
			}},
		addressFlag("temporal-address", "the Temporal server, `HOST:PORT`", "127.0.0.1:7233", &f.At.Address),
		addressFlag("temporal-namespace", "its namespace `NAME`", "default", &f.At.Namespace),
		addressFlag("temporal-queue", "the queue `NAME` of the workers", "massgen", &f.At.Queue),
	}, f.Secure.flags()...)
}

func addressFlag(name, about, value string, to *string) cli.Flag {
	*to = value
	f := TextFlag(clusterCategory, name, to, about)
	f.DefaultText = value
	return f
}

// DatabaseFlag returns the flag for the database, which the commands that read a store have, too.
func (f *SessionFlags) DatabaseFlag(c Cluster) []cli.Flag {
	if c == nil {
		return nil
	}
	return []cli.Flag{TextFlag(clusterCategory, "database", &f.Database, "keep sessions in the PostgreSQL database at `URL`; also "+DatabaseVariable)}
}
