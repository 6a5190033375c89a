package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
)

// The protocol versions in which a session is opened: first the last version with an initialization,
// which every server has today, then, if the server answers that with an error, the SDK's newest.
const (
	firstVersion  = "2025-11-25"
	newestVersion = ""
)

var (
	errClosed     = errors.New("it was closed")
	errStartLimit = errors.New("the server's time to start is over")
)

// Client holds one server and its tools. It starts the server anew when it has
// ended, at the next call, and not more often than MaxRestarts says. It is safe for
// concurrent use.
type Client struct {
	server  Server
	options Options
	life    context.Context // ends with Close
	end     context.CancelFunc

	// starting is a lock that a context can stop waiting for. Its holder owns the next fields.
	starting chan struct{}
	session  *session // nil, or the last
	restarts restarts

	mu    sync.Mutex
	tools []agents.Tool
	// stale is set when the server says that its tools have changed. version is the result of
	// Version.
	stale   atomic.Bool
	version atomic.Uint64
}

// Start starts a server, or connects to it, and lists its tools. The server lives
// until Close; ctx ends only the start. An error names the server and says in one
// line what to do about it.
func Start(ctx context.Context, server Server, options Options) (*Client, error) {
	if err := server.check(); err != nil {
		return nil, fmt.Errorf("MCP server %q: %w", server.Name, err)
	}
	c := &Client{server: server.withDefaults(), options: options, starting: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	c.starting <- struct{}{}
	err := c.open(ctx)
	<-c.starting
	if err != nil {
		return nil, errors.Join(c.named(err), c.Close())
	}
	return c, nil
}

func (c *Client) named(err error) error {
	return fmt.Errorf("MCP server %q: %w", c.server.Name, err)
}

// Name returns the server's name.
func (c *Client) Name() string { return c.server.Name }

// Tools returns the server's tools as it listed them last, in its order, with names that providers
// accept. It does not call the server. The caller must not change the slice. A tool that the server no
// longer has answers calls with the server's error.
func (c *Client) Tools() []agents.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// Version returns a number that grows when the server reports that its tools have changed, and when
// they were listed again.
func (c *Client) Version() uint64 { return c.version.Load() }

// listChanged notes that the server has changed its tools.
func (c *Client) listChanged() {
	c.stale.Store(true)
	c.version.Add(1)
}

// Refresh lists the tools again if the server has reported a change. After an error, Tools returns the
// former list. Refresh does not start a server that has ended.
func (c *Client) Refresh(ctx context.Context) error {
	if !c.stale.Load() {
		return nil // also while the server is started anew, which takes its time
	}
	release, err := c.hold(ctx)
	if err != nil {
		return c.named(err)
	}
	defer release()
	s := c.session
	if s == nil || s.isOver() || !c.stale.Swap(false) {
		return nil
	}
	ctx, cancel := c.startLimit(ctx)
	defer cancel()
	if err := c.list(ctx, s); err != nil {
		c.stale.Store(true)
		return c.named(s.explain(ctx, "list of its tools", err))
	}
	return nil
}

// Close cancels running calls and ends the server: it closes the server's input, asks the server to end
// after 2 s, and kills it with all its children after another 2 s. It returns when that is done. It may
// be called more than once.
func (c *Client) Close() error {
	c.end()
	c.starting <- struct{}{}
	defer func() { <-c.starting }()
	if c.session == nil {
		return nil
	}
	limit, cancel := context.WithTimeout(context.Background(), cmp.Or(c.options.closeLimit, closeLimit))
	defer cancel()
	if err := c.drop(limit); err != nil {
		return c.named(errors.New("it does not end, although it was killed"))
	}
	return nil
}

// hold locks the session, and returns the function that unlocks it.
func (c *Client) hold(ctx context.Context) (release func(), err error) {
	select {
	case c.starting <- struct{}{}:
		release = func() { <-c.starting }
	case <-ctx.Done(): // the context of a call ends with the client, too
		release, err = func() {}, ctx.Err()
	}
	if c.life.Err() != nil {
		err = errClosed
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// alive returns a session that calls can be made in.
func (c *Client) alive(ctx context.Context) (*session, error) {
	release, err := c.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	lost := false
	if s := c.session; s != nil {
		if !s.isOver() && (!s.suspect.Load() || s.ping(ctx) == nil) {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err() // the server may be well
		}
		lost = s.lost.Load()
		if err := c.drop(ctx); err != nil {
			return nil, err
		}
	}
	// A session that the server forgot is opened anew, as the protocol says. The server did not
	// fail, so this is no restart.
	if !lost {
		if err := c.awaitRestart(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return c.session, nil
}

// awaitRestart waits until the server may be started anew, and counts that.
func (c *Client) awaitRestart(ctx context.Context) error {
	wait, err := c.restarts.next(time.Now())
	if err != nil {
		return err
	}
	c.note("it is started anew")
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drop ends the session, and waits until it is closed.
func (c *Client) drop(ctx context.Context) error {
	c.session.close()
	select {
	case <-c.session.closed:
		c.session = nil
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open opens a session and lists the tools. If that fails, it closes the session, which the caller has
// to drop.
func (c *Client) open(ctx context.Context) error {
	ctx, cancel := c.startLimit(ctx)
	defer cancel()
	err := c.greet(ctx, firstVersion, false)
	if _, ok := answered(err); ok {
		if dropped := c.drop(ctx); dropped != nil {
			return dropped
		}
		if c.greet(ctx, newestVersion, false) == nil {
			err = nil
		}
	}
	if posted := c.session.posted; err != nil && ctx.Err() == nil && posted != nil && speaksOlder(int(posted.Load())) {
		if dropped := c.drop(ctx); dropped != nil {
			return dropped
		}
		if older := c.greet(ctx, firstVersion, true); older == nil {
			err = nil
		} else {
			err = fmt.Errorf("%w; over the older transport HTTP+SSE: %s", err, plainError(older))
		}
	}
	if err == nil {
		c.stale.Store(false)
		if err = c.list(ctx, c.session); err == nil {
			c.session.listed.Store(true)
		}
	}
	if err != nil {
		err = c.session.explain(ctx, "start", err)
		c.session.close()
	}
	return err
}

// greet opens a session in a version of the protocol, and over the older transport HTTP+SSE if older is
// true.
func (c *Client) greet(ctx context.Context, version string, older bool) error {
	c.session = newSession(c.server, c.options, c.listChanged)
	c.session.older = older
	return c.session.open(ctx, version)
}

// startLimit bounds ctx by the time to start and by the client's life.
func (c *Client) startLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.server.StartTimeout, errStartLimit)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}

func (c *Client) list(ctx context.Context, s *session) error {
	found, err := readTools(ctx, s.conn, c.server, c.note, func(text string) { c.options.warn(c.server.Name, text) })
	if err != nil {
		return err
	}
	names := make([]string, len(found))
	for i, t := range found {
		names[i] = t.name
	}
	tools := make([]agents.Tool, len(found))
	for i, name := range visibleNames(c.server.prefix(), names) {
		found[i].definition.Name = name
		tools[i] = tool{c, found[i]}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = tools
	c.version.Add(1)
	return nil
}

func (c *Client) note(line string) {
	if c.options.Log != nil {
		c.options.Log(c.server.Name, line)
	}
}

// call runs a tool, in a new session if the last is over. A call that was not sent
// because the session ended at that moment is sent in the next.
func (c *Client) call(ctx context.Context, name string, arguments any) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	for again := true; ; again = false {
		s, err := c.alive(ctx)
		if err != nil {
			return nil, err
		}
		result, err := s.call(ctx, name, arguments)
		if unsent := (errUnsent{}); !again || !errors.As(err, &unsent) {
			return result, err
		}
	}
}

// tool is one tool of a server.
type tool struct {
	client *Client
	listed listed
}

// Definition returns the definition that models get.
func (t tool) Definition() backends.Tool { return t.listed.definition }

// Idempotent reports whether the server calls the tool idempotent or read-only. A confined server knows it of none.
func (t tool) Idempotent() bool { return t.listed.idempotent && !t.client.server.Confined }

// ChangesWorld reports whether the tool may change something: the server does not call it read-only, and is not
// confined to the agent's folder, which is not the world.
func (t tool) ChangesWorld(string) bool { return !t.listed.readsOnly && !t.client.server.Confined }

// OnFiles reports whether a call may change files of the agent's folder (agents.Doer.OnFiles), as one of a confined
// server may.
func (t tool) OnFiles() (touches, changes bool) {
	return t.client.server.Confined, t.client.server.Confined
}

// Call runs the tool. A cancelled ctx ends the call at once and notifies the server.
func (t tool) Call(ctx context.Context, arguments string) (string, error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		return "", errors.New("the arguments are no JSON object: give the tool's arguments as one")
	}
	result, err := t.client.call(ctx, t.listed.name, json.RawMessage(arguments))
	if err != nil {
		return "", t.client.named(err)
	}
	return render(ctx, result)
}
