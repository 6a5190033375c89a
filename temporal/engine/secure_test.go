package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
)

// certificate is one of this machine that signs itself, for both ends.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: private}, pool
}

// TestConnectionIsSecured: a server that asks for a certificate of the client gets it, and the
// key with each request; whoever has none, or does not trust the server, is told so.
func TestConnectionIsSecured(t *testing.T) {
	own, trusted := certificate(t)
	keys := make(chan []string, 100)
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert})),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			sent, _ := metadata.FromIncomingContext(stream.Context())
			keys <- sent.Get("authorization")
			return stream.SendMsg(&emptypb.Empty{}) // which is any answer without anything in it
		}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	address := l.Addr().String()
	e, err := Dial(t.Context(), Options{Address: address, APIKey: "the key", TLS: &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: trusted}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if got := <-keys; !slices.Equal(got, []string{"Bearer the key"}) {
		t.Errorf("the server is sent %q", got)
	}
	for name, c := range map[string]*tls.Config{
		"no certificate":           {RootCAs: trusted},
		"a server of no authority": {Certificates: []tls.Certificate{own}},
	} {
		_, err := Dial(t.Context(), Options{Address: address, TLS: c})
		if err == nil || !strings.Contains(err.Error(), "the Temporal server at "+address+" cannot be reached by TLS: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
