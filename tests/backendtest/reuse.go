package backendtest

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// checkReuse makes calls one after the other, which have to share one connection. It does
// so where time is free: net/http gives up a connection on which it has not seen within
// 50 ms that the request went out, as on a machine with much to do.
func checkReuse(t *testing.T, a adapter) {
	synctest.Test(t, func(t *testing.T) {
		server := NewProtocolPipeServer(t, a.Protocol, always(Reply{Text: "x"}))
		transport, dials := server.Transport(), 0
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return dial(ctx, network, address)
		}
		backend := a.backend(t, wire.Config{BaseURL: server.BaseURL, Transport: transport})
		for range 5 {
			if _, err := backends.Collect(backend.Stream(t.Context(), ask()), nil); err != nil {
				t.Fatal(err)
			}
		}
		if dials != 1 {
			t.Errorf("%d connections for 5 calls in a row, want 1", dials)
		}
	})
}
