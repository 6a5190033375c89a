package cmdline

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"
)

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
