package cmdline

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a certificate that signs itself, and its key.
func writeCertificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", signed), write("key.pem", "PRIVATE KEY", secret)
}

// TestConnectionToTheEngineIsSecured as the flags say, whose faults are told by their names.
func TestConnectionToTheEngineIsSecured(t *testing.T) {
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir)
	other := filepath.Join(dir, "text.txt")
	if err := os.WriteFile(other, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.pem")
	cases := map[string]struct {
		options secureOptions
		hasKey  bool
		// fault is empty for a connection that can be made, by TLS or not, with so many
		// certificates and perhaps an authority of its own.
		fault        string
		byTLS        bool
		certificates int
		authority    bool
	}{
		"nothing":             {},
		"a key alone":         {hasKey: true, byTLS: true},
		"a certificate":       {options: secureOptions{cert: cert, key: key}, byTLS: true, certificates: 1},
		"an authority":        {options: secureOptions{ca: cert}, byTLS: true, authority: true},
		"all of it":           {options: secureOptions{cert: cert, key: key, ca: cert}, hasKey: true, byTLS: true, certificates: 1, authority: true},
		"no key":              {options: secureOptions{cert: cert}, fault: "--temporal-tls-cert: it needs --temporal-tls-key"},
		"no certificate":      {options: secureOptions{key: key}, fault: "--temporal-tls-key: it needs --temporal-tls-cert"},
		"a missing file":      {options: secureOptions{cert: missing, key: key}, fault: "missing.pem: no such file or directory; name a certificate and its key, in PEM"},
		"another file":        {options: secureOptions{cert: cert, key: other}, fault: "--temporal-tls-cert and --temporal-tls-key: tls: failed to find any PEM data"},
		"a missing authority": {options: secureOptions{ca: missing}, fault: "--temporal-tls-ca: open "},
		"another authority":   {options: secureOptions{ca: other}, fault: "--temporal-tls-ca: there is no certificate in " + other},
	}
	for name, c := range cases {
		got, err := c.options.Config(c.hasKey)
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", name, err, c.fault)
			}
		case err != nil || (got != nil) != c.byTLS:
			t.Errorf("%s: %v, %v", name, got, err)
		case got != nil && (len(got.Certificates) != c.certificates || (got.RootCAs != nil) != c.authority):
			t.Errorf("%s: %d certificates, an authority of its own: %v", name, len(got.Certificates), got.RootCAs != nil)
		}
	}
}
