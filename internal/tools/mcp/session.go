package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/agents"
)

// mostError is how many bytes of a server's error a model gets.
const mostError = 4 << 10

// session is one connection to a server. It is safe for concurrent use.
type session struct {
	server   Server
	options  Options
	conn     *sdk.ClientSession
	process  *process      // nil over HTTP
	older    bool          // the transport is HTTP+SSE
	sever    func()        // ends all requests over HTTP
	posted   *atomic.Int32 // the status of the first request over HTTP; nil for a process
	changed  func()        // called when the server's list of tools has changed
	died     sync.Once
	listed   atomic.Bool // the tools were listed, so an end is no failed start
	suspect  atomic.Bool // a call was given up, and nothing came since
	lost     atomic.Bool // the server does not know it any more (HTTP)
	calls    sync.Map    // of the progress token of a call: func(agents.Progress)
	lastCall atomic.Int64
	lifetime
}

// lifetime holds the signals with which a session ends.
type lifetime struct {
	// life ends when the session is being closed, and with it the calls in it.
	life    context.Context
	end     context.CancelFunc
	over    context.Context // ends when nothing can be asked any more
	finish  context.CancelFunc
	closing sync.Once
	closed  chan struct{} // closed when nothing of it is left
}

func newSession(server Server, options Options, changed func()) *session {
	s := &session{
		server: server, options: options, changed: changed, sever: func() {},
		lifetime: lifetime{closed: make(chan struct{})},
	}
	s.over, s.finish = context.WithCancel(context.Background())
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// open starts the server, if it has a command, and greets it. A session that does not
// open has to be closed like any other.
func (s *session) open(ctx context.Context, version string) error {
	transport, err := s.transport()
	if err != nil {
		return err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "massgen", Version: "1"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.changed() },
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			s.progressed(req.Params)
		},
	})
	client.AddSendingMiddleware(uncached)
	s.conn, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return err
	}
	go func() {
		// The calls that it breaks report the reason.
		err := s.conn.Wait()
		s.lose(err)
		s.finish()
		if s.listed.Load() && s.life.Err() == nil {
			s.mourn()
		}
	}()
	return nil
}

func (s *session) transport() (sdk.Transport, error) {
	if s.server.URL != "" {
		link := newHTTPLink(s.server, s.older)
		s.sever, s.posted = link.sever, link.posted
		if s.older {
			return lasting{link.transport, s.life}, nil
		}
		return link.transport, nil
	}
	p, err := startProcess(s.server, s.options, s.note)
	if err != nil {
		return nil, err
	}
	s.process = p
	return stdioTransport{p, s.note, s.notified}, nil
}

// lasting is a transport whose connection lasts as long as the session. The SDK ends the stream of the
// older transport with the context of Connect.
type lasting struct {
	sdk.Transport
	life context.Context
}

// Connect implements sdk.Transport.
func (t lasting) Connect(ctx context.Context) (sdk.Connection, error) {
	own, cancel := context.WithCancel(t.life)
	defer context.AfterFunc(ctx, cancel)()
	return t.Transport.Connect(own)
}

// mourn warns once that the server has ended unasked.
func (s *session) mourn() {
	if s.lost.Load() {
		return // it runs, and has only forgotten the session
	}
	s.died.Do(func() {
		how := "it ended the connection"
		if s.process != nil {
			how = "it ended (" + s.process.epitaph() + ")"
		}
		s.options.warn(s.server.Name, how+"; the next call starts it again")
	})
}

func (s *session) note(line string) {
	if s.options.Log != nil {
		s.options.Log(s.server.Name, line)
	}
}

// notified takes what a process says unasked. Over HTTP the SDK tells it.
func (s *session) notified(method string, params json.RawMessage) {
	switch method {
	case "notifications/tools/list_changed":
		s.changed()
	case "notifications/progress":
		var p sdk.ProgressNotificationParams
		if json.Unmarshal(params, &p) == nil {
			s.progressed(&p)
		}
	case "notifications/message":
		var p struct{ Level, Data string }
		if s.server.Warns && json.Unmarshal(params, &p) == nil && p.Level == "warning" {
			s.options.warn(s.server.Name, oneLine(p.Data, mostError))
		}
	}
}

func (s *session) progressed(p *sdk.ProgressNotificationParams) {
	// A token of another type is not ours, and may be none that a map can look for.
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	tell, ok := s.calls.Load(token)
	if !ok {
		return
	}
	told := agents.Progress{Text: oneLine(p.Message, mostLogged)}
	if p.Total > 0 {
		told.Fraction = p.Progress / p.Total
	}
	switch {
	case told.Text != "":
	case p.Total > 0:
		told.Text = fmt.Sprintf("%g of %g", p.Progress, p.Total)
	default:
		told.Text = fmt.Sprintf("%g", p.Progress)
	}
	tell.(func(agents.Progress))(told)
}

// errUnsent is about a call that did not reach the server: the session was over.
type errUnsent struct{ error }

// call runs a tool under the server's time limit.
func (s *session) call(ctx context.Context, tool string, arguments any) (*sdk.CallToolResult, error) {
	limited, cancel := context.WithTimeout(ctx, s.server.CallTimeout)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	token := fmt.Sprintf("call-%d", s.lastCall.Add(1))
	s.calls.Store(token, agents.ProgressOf(ctx))
	defer s.calls.Delete(token)
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(token)
	var request sentCall
	result, err := s.conn.CallTool(withSentCall(limited, &request), params)
	switch {
	case err == nil:
		s.suspect.Store(false)
		return result, nil
	case errors.Is(err, sdk.ErrSessionMissing), request.refused.Load():
		s.lost.Store(true)
		s.finish()
		// It ends all calls of the session, also those that the server was sent before.
		if request.refused.Load() {
			return nil, errUnsent{s.explain(ctx, "call", err)}
		}
	case errors.Is(err, sdk.ErrConnectionClosed):
		s.finish()
		if s.life.Err() == nil {
			s.mourn()
		}
		return nil, errUnsent{s.explain(ctx, "call", err)}
	case ctx.Err() == nil && s.life.Err() != nil:
		return nil, errors.New("it was ended during the call")
	case limited.Err() != nil:
		// The server may hang, whichever limit is over.
		s.suspect.Store(true)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("it did not answer within %s; the call was cancelled", s.server.CallTimeout)
	}
	if errors.Is(err, io.EOF) && s.life.Err() == nil {
		s.mourn()
	}
	return nil, s.explain(ctx, "call", err)
}

// lose notes that a session ended because its server has forgotten it.
func (s *session) lose(err error) {
	if errors.Is(err, sdk.ErrSessionMissing) {
		s.lost.Store(true)
	}
}

// ping asks the server for a sign of life. Any answer will do.
func (s *session) ping(ctx context.Context) error {
	limit := cmp.Or(s.options.pingLimit, pingLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.conn.Ping(limited, nil)
	_, isAnswer := answered(err)
	switch {
	case err == nil || isAnswer:
		s.suspect.Store(false)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("it did not answer a ping within %s", limit)
	}
	return s.explain(ctx, "ping", err)
}

// codeRejected is in the SDK's own errors of a request that did not reach a server.
const codeRejected = -32005

// answered returns the error that a server answered with, if err is one.
func answered(err error) (answer *jsonrpc.Error, ok bool) {
	ok = errors.As(err, &answer) && answer.Code != codeRejected
	return answer, ok
}

// tooLong is about an answer of more than mostMessage. The SDK's error of one over HTTP
// has longEvent or longBody.
const (
	tooLong   = "its answer has more than the 8 MiB that are taken: ask it for less"
	longEvent = "exceeded 8388608 bytes"
	longBody  = "http: request body too large"
)

// Parts of the SDK's errors that people must not see: the SDK's own words, and the session's id and
// address, with which others could use the session.
var (
	sdkWords  = regexp.MustCompile(`^(?:(?:calling|sending) "[^"]*": |rejected by transport: |(?:connection|client|server) (?:is )?clos(?:ed|ing): )+`)
	sdkID     = regexp.MustCompile(` \(session ID: [^)]*\)`)
	addresses = regexp.MustCompile(`(https?://)[^\s"]*`)
)

// plainError returns the text of an error of the SDK without these parts.
func plainError(err error) string {
	text := sdkID.ReplaceAllLiteralString(sdkWords.ReplaceAllLiteralString(err.Error(), ""), "")
	return oneLine(addresses.ReplaceAllString(text, "$1…"), mostError)
}

// explain returns an error of one line for a failed request to the server.
func (s *session) explain(ctx context.Context, what string, err error) error {
	var transport *url.Error
	var form *json.UnmarshalTypeError
	answer, isAnswer := answered(err)
	switch {
	case errors.Is(context.Cause(ctx), errStartLimit):
		err = fmt.Errorf("it did not answer within %s", s.server.StartTimeout)
		if s.process == nil || s.process.words.telling() == "" {
			return err
		}
		return fmt.Errorf("%w; it printed last: %s", err, s.process.words.telling())
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &transport):
		// The error itself has the whole address, and with it perhaps a key.
		return fmt.Errorf("%s: %w", what, transport.Err)
	case isAnswer && answer.Code == codeUnread:
		return errors.New(answer.Message)
	case isAnswer:
		return fmt.Errorf("it answers with error %d: %s", answer.Code, oneLine(answer.Message, mostError))
	case errors.As(err, &form):
		return fmt.Errorf("its answer to the %s has not the form that the protocol gives it", what)
	case errors.Is(err, sdk.ErrSessionMissing):
		return fmt.Errorf("it forgot the session during the %s", what)
	case strings.Contains(err.Error(), longEvent), strings.Contains(err.Error(), longBody):
		return errors.New(tooLong)
	case errors.Is(err, io.EOF) && s.process != nil:
		return fmt.Errorf("it ended during the %s (%s)", what, s.process.epitaph())
	case errors.Is(err, io.EOF):
		return fmt.Errorf("it ended the connection during the %s", what)
	}
	return fmt.Errorf("%s: %s", what, plainError(err))
}

func (l *lifetime) isOver() bool { return l.over.Err() != nil }

// close begins to end the session and the calls in it. It returns at once; closed is
// closed when all is done.
func (s *session) close() {
	s.finish()
	s.end()
	s.closing.Do(func() {
		go func() {
			defer close(s.closed)
			if s.process != nil {
				// First, because the SDK waits for what a process that does not read is sent.
				s.process.stop()
			}
			if s.conn != nil {
				patience := time.AfterFunc(closeGrace, s.sever)
				_ = s.conn.Close() // what a server says to the end of a session changes nothing
				patience.Stop()
			}
			if s.process != nil {
				<-s.process.ended
			}
			s.sever()
		}()
	})
}
