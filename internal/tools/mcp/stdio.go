package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostMessage is how many bytes one message of a server may have.
const mostMessage = 8 << 20

// stdioTransport speaks with a process, a message a line (MCP, transports, stdio). With the SDK's own
// transport, a line that is too long or no message ends the session, a process that does not read
// blocks its callers, and notifications pile up without bounds and out of order.
type stdioTransport struct {
	process *process
	note    func(string)
	// notified is called with each notification before the next message is read.
	notified func(method string, params json.RawMessage)
}

// Connect is what the SDK calls once.
func (t stdioTransport) Connect(context.Context) (sdk.Connection, error) {
	c := &stdioConn{
		stdioTransport: t,
		lines:          newLineReader(t.process.stdout, mostMessage),
		in:             make(chan received),
		out:            make(chan []byte), deaf: make(chan struct{}), closed: make(chan struct{}),
	}
	go c.readAll()
	go c.writeAll()
	return c, nil
}

type stdioConn struct {
	stdioTransport
	lines     *lineReader // of readAll only
	babble    bool        // of readAll only: a line that is no message was seen
	in        chan received
	questions atomic.Int64

	out     chan []byte
	deaf    chan struct{} // closed when the process no longer reads
	closing sync.Once
	closed  chan struct{}
}

// received is a message, or the error that ends the messages.
type received struct {
	message jsonrpc.Message
	err     error
}

// SessionID is empty: a process has one session.
func (c *stdioConn) SessionID() string { return "" }

// Read returns the next message that is no notification.
func (c *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case r := <-c.in:
		return r.message, r.err
	case <-c.closed:
		return nil, io.EOF
	}
}

// readAll reads until the process has ended. After Close it discards what it reads, so that a process
// that still writes can end.
func (c *stdioConn) readAll() {
	defer c.process.stdout.Close()
	for {
		m, err := c.message()
		select {
		case c.in <- received{m, err}:
			if err == nil {
				continue
			}
			// The SDK would close it too, but not before all that it has to write is written.
			_ = c.Close()
		case <-c.closed:
		}
		// The process is being ended, and the pipe with it.
		_, _ = io.Copy(io.Discard, c.process.stdout)
		return
	}
}

// message returns the next request or response. It passes notifications on, and skips lines that are
// no messages.
func (c *stdioConn) message() (jsonrpc.Message, error) {
	for {
		m, err := c.next()
		if err != nil {
			return nil, err
		}
		r, ok := m.(*jsonrpc.Request)
		switch {
		case !ok:
			return m, nil
		case !r.IsCall():
			c.notified(r.Method, r.Params)
		case c.questions.Add(1) > mostQuestions:
			return nil, fmt.Errorf("it asked %d things without reading an answer", mostQuestions)
		default:
			return m, nil
		}
	}
}

// next returns the next message, or an error response in place of an unreadable one.
func (c *stdioConn) next() (jsonrpc.Message, error) {
	for {
		l, err := c.lines.next()
		switch {
		case err != nil:
			return nil, err
		case l.cut:
			if m, ok := refused(l.text, tooLong); ok {
				return m, nil
			}
			return nil, fmt.Errorf("it sent a line of %d bytes that is no message, and of one at most 8 MiB are read", l.size)
		case len(bytes.TrimSpace(l.text)) == 0:
			continue
		}
		l.text = repaired(l.text)
		message, err := jsonrpc.DecodeMessage(l.text)
		if err == nil {
			return message, nil
		}
		if m, ok := refused(l.text, "its answer cannot be read: "+err.Error()); ok {
			return m, nil
		}
		if !c.babble {
			c.babble = true
			c.note("it prints what is no message on its standard output; that is passed over")
		}
	}
}

var (
	idFirst = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,`)
	idLast  = regexp.MustCompile(`,\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// codeUnread marks errors that replace an unreadable response. People see only their messages.
const codeUnread = -31999

// refused returns an error in place of the response that text begins, if it finds the response's id:
// then the server loses one call and not the session.
func refused(text []byte, why string) (jsonrpc.Message, bool) {
	m := idFirst.FindSubmatch(text)
	if m == nil {
		m = idLast.FindSubmatch(text)
	}
	if m == nil {
		return nil, false
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return nil, false
	}
	id, err := jsonrpc.MakeID(n)
	if err != nil {
		return nil, false
	}
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: codeUnread, Message: why}}, true
}

// Write sends a message. It waits until those before it were taken, or ctx ends.
func (c *stdioConn) Write(ctx context.Context, message jsonrpc.Message) error {
	if _, ok := message.(*jsonrpc.Response); ok {
		defer c.questions.Add(-1)
	}
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	select {
	case c.out <- append(data, '\n'):
		return nil
	case <-c.deaf:
		return io.ErrClosedPipe
	case <-c.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeAll writes for all callers, so that none is caught in a write to a process
// that does not read.
func (c *stdioConn) writeAll() {
	for {
		select {
		case data := <-c.out:
			if _, err := c.process.stdin.Write(data); err != nil {
				close(c.deaf)
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Close begins to end the process. The SDK calls it under a lock, so it waits for
// nothing.
func (c *stdioConn) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.process.stop()
	})
	return nil
}
