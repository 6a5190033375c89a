package mcp

import "time"

// The limits of waiting for a server. A call's limit is Server.CallTimeout, which is
// tool_timeout_seconds in a config.
const (
	// defaultStartTimeout is for the start and the list of tools, and defaultCallTimeout for
	// one call, of a Server that does not say.
	defaultStartTimeout = time.Minute
	defaultCallTimeout  = time.Minute
	// pingLimit is for a sign of life of a server that let a call run out of time.
	pingLimit = 5 * time.Second
	// listenLimit is for the answer to the request for the stream of a server's own messages
	// (HTTP). A server that does not answer has no such stream.
	listenLimit = 5 * time.Second
	// freeListens is how often in a row that stream is requested without a pause. The pauses after
	// that grow up to mostListenPause.
	freeListens     = 3
	mostListenPause = 30 * time.Second
	// reopenPause is before a stream that ended is requested again, unless the server names another.
	reopenPause = time.Second
	// closeGrace is for a process to end after its input was closed, terminateGrace after it
	// was asked to end, and killGrace after it was killed (MCP, lifecycle, shutdown of stdio).
	closeGrace     = 2 * time.Second
	terminateGrace = 2 * time.Second
	killGrace      = 2 * time.Second
	// drainGrace is for reading the output of a process after its end. It is needed only if another
	// process holds that output open.
	drainGrace = time.Second
	// closeLimit is for all of Close, even if a process does not end when it is killed.
	closeLimit = closeGrace + terminateGrace + 2*killGrace + drainGrace
)
