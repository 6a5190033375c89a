package mcp

import (
	"context"
	"errors"
	"time"
)

// SetCallTimeout changes how long the server may take for the calls from now on. No call
// may be under way.
func SetCallTimeout(c *Client, limit time.Duration) {
	c.server.CallTimeout = limit
	c.session.server.CallTimeout = limit
}

// Patient returns options that give a server a minute to end and a minute to answer a
// ping, so that a slow machine changes no outcome.
func Patient(options Options) Options {
	options.lastWait, options.pingLimit = time.Minute, time.Minute
	return options
}

// PatientToClose returns options with which Close waits a minute for a server that was
// killed.
func PatientToClose(options Options) Options {
	options.closeLimit = time.Minute
	return options
}

// Ping asks the server for a sign of life, which it has 5 s for, and starts nothing.
func (c *Client) Ping(ctx context.Context) error {
	release, err := c.hold(ctx)
	if err != nil {
		return c.named(err)
	}
	s := c.session
	release()
	if s == nil || s.isOver() {
		return c.named(errors.New("it has ended; the next call starts it anew"))
	}
	if err := s.ping(ctx); err != nil {
		return c.named(err)
	}
	return nil
}
