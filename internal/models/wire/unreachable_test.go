package wire

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/massgen/massgen/backends"
)

// TestUnreachable: what waiting does not cure is told apart from what it may, and what
// was never sent from what may have been billed.
func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Nobody listens on the client's end, and nobody else is given its port.
	_, refused := net.Dial("tcp", conn.LocalAddr().String())
	elsewhere := refusedBy(t, refused, net.IPv4(192, 0, 2, 1))
	for name, c := range map[string]struct {
		err         error
		unreachable bool
		unbilled    bool
	}{
		"no such port here":             {refused, true, true},
		"refused by another machine":    {elsewhere, false, true},
		"no way to the proxy":           {&net.OpError{Op: "proxyconnect", Net: "tcp", Err: elsewhere}, false, true},
		"no such host":                  {&net.DNSError{Err: "no such host", IsNotFound: true}, true, true},
		"no name server for a moment":   {&net.DNSError{Err: "server misbehaving", IsTemporary: true}, false, true},
		"broken while it was read":      {&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, false, false},
		"something else on the network": {errors.New("broken pipe"), false, false},
	} {
		out := &backends.Error{Kind: backends.KindNetwork}
		describe(out, c.err, redactor{})
		if out.Unreachable != c.unreachable || out.Retryable() == c.unreachable || out.Unbilled() != c.unbilled {
			t.Errorf("%s: unreachable %t, retryable %t, unbilled %t", name, out.Unreachable, out.Retryable(), out.Unbilled())
		}
	}
}

// refusedBy is the same refusal, by another address.
func refusedBy(t *testing.T, refused error, ip net.IP) error {
	t.Helper()
	var op *net.OpError
	if !errors.As(refused, &op) {
		t.Fatalf("a closed port is %v", refused)
	}
	other := *op
	other.Addr = &net.TCPAddr{IP: ip, Port: 443}
	return &other
}
