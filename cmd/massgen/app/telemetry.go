package app

import (
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/system/secrets"
)

// exporterOf returns what sends traces and metrics, nil if the environment asks for none.
func exporterOf(p *program) *telemetry.Exporter {
	secret := func(name, value string) { p.console.secrets.Add(secrets.InHeader(name, value)...) }
	e, err := telemetry.New(p.env.Lookup, version(), p.console.secrets.Redact, secret, p.console.warn)
	if err != nil {
		p.console.warn(err.Error() + ": no telemetry is sent")
	}
	return e
}
