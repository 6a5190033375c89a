package program

import (
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/system/secrets"
)

// NewExporter returns the exporter of traces and metrics, nil if the environment does not ask for it.
func NewExporter(env *cmdline.Env, c *cmdline.Console) *telemetry.Exporter {
	secret := func(name, value string) { c.Secrets.Add(secrets.InHeader(name, value)...) }
	e, err := telemetry.New(env.Lookup, cmdline.Version(), c.Secrets.Redact, secret, c.Warn)
	if err != nil {
		c.Warn(err.Error() + ": no telemetry is sent")
	}
	return e
}
