package mcp

import "time"

// SetCallTimeout changes how long the server may take for the calls from now on. No call
// may be under way.
func SetCallTimeout(c *Client, limit time.Duration) {
	c.server.CallTimeout = limit
	c.session.server.CallTimeout = limit
}

// Patient returns options with which a server that ends has a minute until it is gone:
// what is told of how it ended does not depend on how quick the machine is.
func Patient(options Options) Options {
	options.lastWait = time.Minute
	return options
}
