package app

import (
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/system/secrets"
)

// newExporter returns what sends traces and metrics, nil if the environment asks for none.
func newExporter(env *Env, c *console) *telemetry.Exporter {
	secret := func(name, value string) { c.secrets.Add(secrets.InHeader(name, value)...) }
	e, err := telemetry.New(env.Lookup, version(), c.secrets.Redact, secret, c.warn)
	if err != nil {
		c.warn(err.Error() + ": no telemetry is sent")
	}
	return e
}
