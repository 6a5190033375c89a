// Package s2a stands in for github.com/google/s2a-go in this module's go.mod.
//
// Google's library for Gemini links it for the Secure Session Agent, which some machines in Google's
// cloud run, and which the library asks only when it looks for credentials of that cloud. massgen calls
// Gemini with a key. The real module brings gRPC and generated protocol buffers, whose tables are built
// whenever the program starts. This package has the same functions, and all of them return errors.
// Programs that import package massgen get the real module.
package s2a

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
)

// errNone is the error of every function here.
var errNone = errors.New("s2a: this program is built without the Secure Session Agent")

// ClientOptions name an agent.
type ClientOptions struct {
	// S2AAddress is the agent's address. TransportCreds secure the connection to it.
	S2AAddress     string
	TransportCreds credentials.TransportCredentials
}

// NewClientCreds always fails; the caller then goes on with its own credentials.
func NewClientCreds(*ClientOptions) (credentials.TransportCredentials, error) { return nil, errNone }

// NewS2ADialTLSContextFunc returns a function that always fails.
func NewS2ADialTLSContextFunc(*ClientOptions) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errNone }
}
