package mcp

import "time"

// SetCallTimeout changes how long the server may take for the calls from now on. No call
// may be under way.
func SetCallTimeout(c *Client, limit time.Duration) {
	c.server.CallTimeout = limit
	c.session.server.CallTimeout = limit
}
