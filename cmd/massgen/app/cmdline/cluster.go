package cmdline

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
)

// ClusterFlags choose the engine that plays turns, and its address.
type ClusterFlags struct {
	Engine string
	At     ClusterAddress
	// Detach leaves a turn to the workers once it has begun.
	Detach bool
	Secure secureOptions
	Drain  Drain
	// Waits says that a server that is away at the start is waited for.
	Waits bool
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
	return append(engine.flags(), session.DatabaseFlags(c)...)
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

// BuildFlags returns the flags that opt a worker into Worker Versioning.
func (f *ClusterFlags) BuildFlags() []cli.Flag {
	return []cli.Flag{
		TextFlag(clusterCategory, "temporal-deployment", &f.At.Deployment, "let a turn stay with the build that began it: this worker belongs to the Worker Deployment `NAME`"),
		TextFlag(clusterCategory, "temporal-build", &f.At.Build, "the build `ID` of this worker in that deployment, a new one for each release or config"),
	}
}

// CheckBuild returns an error if one of the two flags of BuildFlags is missing.
func (f *ClusterFlags) CheckBuild() error {
	switch {
	case f.At.Deployment == "" && f.At.Build != "":
		return errors.New("--temporal-build: it needs --temporal-deployment NAME, the Worker Deployment of all builds")
	case f.At.Deployment != "" && f.At.Build == "":
		return errors.New("--temporal-deployment: it needs --temporal-build ID, the build of this worker")
	}
	return nil
}

// longestCallDrain is how long calls under way may go on without --drain. longestDrain is the longest time
// that --drain takes.
const (
	longestCallDrain = 5 * time.Minute
	longestDrain     = 24 * time.Hour
)

// DrainFlag returns the flag for the end of a worker or a server, which lets more go on if the flag is given.
func (f *ClusterFlags) DrainFlag(usage string) cli.Flag {
	f.Drain = Drain{Longest: longestCallDrain}
	return &cli.StringFlag{Name: "drain", Category: clusterCategory, Usage: usage, Action: func(_ *cli.Context, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > longestDrain {
			return fmt.Errorf("--drain is %q: it is a time such as 90s or 30m, at most 24h", wording.Shortened(text, 40))
		}
		f.Drain = Drain{d, true}
		return nil
	}}
}

func addressFlag(name, about, value string, to *string) cli.Flag {
	*to = value
	f := TextFlag(clusterCategory, name, to, about)
	f.DefaultText = value
	return f
}

// DetachFlag returns the flag for questions that the program does not wait for, nil for a program without a Cluster.
func (f *ClusterFlags) DetachFlag(c Cluster) []cli.Flag {
	if c == nil {
		return nil
	}
	return []cli.Flag{SwitchFlag(clusterCategory, "detach", &f.Detach, "print the session's id once the turn has begun, and end; --session-id ID --continue watches the turn")}
}

// DatabaseFlags returns the flags for the database, which the commands that read a store have, too.
func (f *SessionFlags) DatabaseFlags(c Cluster) []cli.Flag {
	if c == nil {
		return nil
	}
	return []cli.Flag{
		TextFlag(clusterCategory, "database", &f.Database, "keep sessions in the PostgreSQL database at `URL`; also "+DatabaseVariable),
		SwitchFlag(clusterCategory, "database-pooler", &f.Pooler, "that URL is a pooler's that gives each transaction another connection, as PgBouncer"),
	}
}

// secureOptions name the PEM files that secure the connection to the engine, and the variable with the
// key that the server asks for.
type secureOptions struct{ cert, key, ca, KeyVariable string }

// TemporalKeyVariable is where the key is looked for, as Temporal's own programs do.
const TemporalKeyVariable = "TEMPORAL_API_KEY"

// flags returns the flags for the connection to the engine. There is no flag for the key: every user of
// the machine can list command lines.
func (o *secureOptions) flags() []cli.Flag {
	return []cli.Flag{
		addressFlag("temporal-tls-ca", "reach the server by TLS, and trust the certificates of `FILE` in place of the system's", "", &o.ca),
		addressFlag("temporal-tls-cert", "reach it by TLS, with the client's certificate of `FILE`", "", &o.cert),
		addressFlag("temporal-tls-key", "the `FILE` with the key of that certificate", "", &o.key),
		addressFlag("temporal-api-key-env", "reach it by TLS, with the key that the variable `NAME` has", TemporalKeyVariable, &o.KeyVariable),
	}
}

// Config is nil for a connection without TLS. A key is not sent over one.
func (o secureOptions) Config(hasKey bool) (*tls.Config, error) {
	if o.cert == "" && o.key == "" && o.ca == "" && !hasKey {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case o.cert == "" && o.key != "":
		return nil, errors.New("--temporal-tls-key: it needs --temporal-tls-cert FILE, the certificate that it belongs to")
	case o.cert != "" && o.key == "":
		return nil, errors.New("--temporal-tls-cert: it needs --temporal-tls-key FILE, the key of the certificate")
	case o.cert != "":
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, fmt.Errorf("--temporal-tls-cert and --temporal-tls-key: %w; name a certificate and its key, in PEM", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if o.ca == "" {
		return c, nil
	}
	data, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, fmt.Errorf("--temporal-tls-ca: %w; name a file with certificates, in PEM", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--temporal-tls-ca: there is no certificate in %s; name a file with certificates, in PEM", o.ca)
	}
	return c, nil
}
