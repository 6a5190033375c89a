package backendtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
)

// Server is a fake service. By default it speaks OpenAI's chat completions
// protocol: POST /v1/chat/completions, as a stream or whole, and GET /v1/models. It
// is safe for concurrent use and cheap enough for benchmarks with a hundred callers.
type Server struct {
	// BaseURL is what a client takes as its base URL; OpenAI's ends in /v1.
	BaseURL string

	t        testing.TB // nil if wrong requests are not reported
	protocol Protocol
	reply    func(Call) Reply
	http     *httptest.Server
	pipe     *pipeListener // nil on a network port
	closed   chan struct{}

	mu      sync.Mutex
	calls   []Call
	open    int
	maxOpen int
	idle    chan struct{} // closed while no call is open
	conns   int
	left    chan struct{} // closed while there is no connection
	models  []string
}

// Protocol is how a server says things on the wire.
type Protocol struct {
	// Pattern is the pattern of net/http.ServeMux that calls match.
	Pattern string
	// BasePath is the part of it that belongs to the base URL.
	BasePath string
	// Decode reads what a call asks for.
	Decode func(r *http.Request, body []byte) backends.Request
	// Stream writes the body of a reply, or for a Fault of its stream the part that
	// comes before it, with the error object of ErrorInStream.
	Stream func(c Call, r Reply) string
	// Error writes the body of an answer with an HTTP status other than 200.
	Error func(e ReplyError) string
	// CheckOrder says what is wrong with the order of tool calls and results in a
	// request body. A request that fails it fails the server's test, but no benchmark,
	// which would pay for the check.
	CheckOrder func(body []byte) error

	// whole writes the reply to a call that asks for no stream.
	whole func(c Call, r Reply) string
	// WholeCalls reports whether tool calls never come in pieces.
	WholeCalls bool

	samples samples
}

// NewServer starts a server on a port of the loopback interface. reply is called
// for each call, from many goroutines at once. The server is closed when t ends;
// with a nil t, the caller closes it.
func NewServer(t testing.TB, reply func(Call) Reply) *Server {
	return NewProtocolServer(t, ChatCompletions(), reply)
}

// NewProtocolServer starts a server that speaks p. See NewServer for the rest.
func NewProtocolServer(t testing.TB, p Protocol, reply func(Call) Reply) *Server {
	s := newServer(t, p, reply)
	s.http = httptest.NewUnstartedServer(s.routes())
	s.http.Config.ConnState = s.connState
	s.http.Start()
	s.BaseURL = s.http.URL + p.BasePath
	s.closeWithTest()
	return s
}

// NewPipeServer starts a server that is reached through Transport alone, without
// the network, so that it works in a bubble of testing/synctest, where its
// delays take no time. See NewServer for the rest.
func NewPipeServer(t testing.TB, reply func(Call) Reply) *Server {
	return NewProtocolPipeServer(t, ChatCompletions(), reply)
}

// NewProtocolPipeServer starts a server as NewPipeServer does, that speaks p.
func NewProtocolPipeServer(t testing.TB, p Protocol, reply func(Call) Reply) *Server {
	s := newServer(t, p, reply)
	s.pipe = newPipeListener()
	s.http = &httptest.Server{Listener: s.pipe, Config: &http.Server{Handler: s.routes()}}
	s.http.Start()
	s.BaseURL = "http://backend.test" + p.BasePath
	s.closeWithTest()
	return s
}

func newServer(t testing.TB, p Protocol, reply func(Call) Reply) *Server {
	s := &Server{
		t:        t,
		protocol: p,
		reply:    reply,
		closed:   make(chan struct{}),
		idle:     make(chan struct{}),
		left:     make(chan struct{}),
		models:   []string{"test-model"},
	}
	close(s.idle)
	close(s.left)
	return s
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(s.protocol.Pattern, s.serveCall)
	mux.HandleFunc("GET /v1/models", s.serveModels)
	return mux
}

func (s *Server) closeWithTest() {
	if s.t != nil {
		s.t.Cleanup(s.Close)
	}
}

// Close frees the calls that hang, waits for all of them and stops the server.
// Only the first Close does anything.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		return
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	s.http.Close()
}

// Transport returns a new transport that reaches a server made by NewPipeServer.
// The caller closes its idle connections.
func (s *Server) Transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.pipe.dial(ctx) },
	}
}

// SetModels sets what the list of models says.
func (s *Server) SetModels(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = ids
}

// Calls returns the calls received until now, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Bodies returns the bodies received until now, in order.
func (s *Server) Bodies() [][]byte {
	var bodies [][]byte
	for _, c := range s.Calls() {
		bodies = append(bodies, c.Body)
	}
	return bodies
}

// Open returns how many calls are being answered now.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// MaxOpen returns the most calls that were being answered at one time.
func (s *Server) MaxOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxOpen
}

// AwaitIdle returns when no call is being answered, or with ctx's error.
func (s *Server) AwaitIdle(ctx context.Context) error { return s.await(ctx, &s.idle) }

// await waits until the channel that stands somewhere now is closed.
func (s *Server) await(ctx context.Context, at *chan struct{}) error {
	s.mu.Lock()
	closed := *at
	s.mu.Unlock()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AwaitLeft returns when all that clients have sent which are gone by now has been
// received, and their connections are closed, or with an error, such as ctx's. It is
// for servers on a network port, and waits for any client that is still there.
func (s *Server) AwaitLeft(ctx context.Context) error {
	// Connections are taken in their order: when this one is answered, no earlier one is
	// still to be taken.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http.URL+"/v1/models", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	return s.await(ctx, &s.left)
}

func (s *Server) connState(_ net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		if s.conns == 0 {
			s.left = make(chan struct{})
		}
		s.conns++
	case http.StateClosed, http.StateHijacked:
		s.conns--
		if s.conns == 0 {
			close(s.left)
		}
	}
}

func (s *Server) enter(r *http.Request, body []byte) Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		s.idle = make(chan struct{})
	}
	s.open++
	s.maxOpen = max(s.maxOpen, s.open)
	call := NewCall(len(s.calls)+1, body, r.Header, func(body []byte) backends.Request {
		return s.protocol.Decode(r, body)
	})
	s.calls = append(s.calls, call)
	return call
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.open == 0 {
		close(s.idle)
	}
}

func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	body.Grow(int(max(0, r.ContentLength)) + bytes.MinRead)
	if _, err := body.ReadFrom(r.Body); err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	call := s.enter(r, body.Bytes())
	defer s.leave()
	s.checkOrder(call)
	reply := s.reply(call)
	if !s.pause(r.Context(), reply.Delay) {
		return
	}
	switch {
	case reply.Error != nil:
		s.writeError(w, *reply.Error)
	case reply.Fault == HTMLPage:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		writeAll(w, htmlPage)
	case reply.Fault == HangBefore:
		s.hang(r.Context())
	case reply.Fault == Reset:
		resetConnection(w)
	case reply.Raw == "" && s.protocol.whole != nil && !asksForStream(call.Body):
		w.Header().Set("Content-Type", "application/json")
		writeAll(w, s.protocol.whole(call, reply))
	default:
		s.writeStream(w, r, call, reply)
	}
}

func (s *Server) checkOrder(c Call) {
	if _, isBenchmark := s.t.(*testing.B); isBenchmark || s.t == nil || s.protocol.CheckOrder == nil {
		return
	}
	if err := s.protocol.CheckOrder(c.Body); err != nil {
		s.t.Errorf("a service would refuse request %d: %v: %s", c.Number, err, c.Body)
	}
}

func (s *Server) writeStream(w http.ResponseWriter, r *http.Request, call Call, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	if reply.Raw == "" {
		reply.Raw = s.protocol.Stream(call, reply)
	}
	if reply.Hold != nil {
		reply.Raw = s.writeHalf(w, r, call, reply)
	}
	writeAll(w, reply.Raw)
	if reply.Fault == NoFault {
		return
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return // the client has gone, which is what many tests are about
	}
	switch reply.Fault {
	case HangMidStream:
		s.hang(r.Context())
	case AbortStream:
		panic(http.ErrAbortHandler)
	}
}

// writeHalf writes the first half of a stream, runs reply.Hold and returns the other half.
func (s *Server) writeHalf(w http.ResponseWriter, r *http.Request, call Call, reply Reply) (rest string) {
	broken := reply
	broken.Fault = HangMidStream
	half := s.protocol.Stream(call, broken)
	rest, isHalf := strings.CutPrefix(reply.Raw, half)
	if !isHalf {
		panic("backendtest: a stream does not begin with its half: " + half)
	}
	writeAll(w, half)
	if err := http.NewResponseController(w).Flush(); err == nil { // else the client has gone
		reply.Hold(r.Context())
	}
	return rest
}

func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.closed:
	}
	return false
}

func (s *Server) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.closed:
	}
}

func (s *Server) serveModels(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list", Data: []model{}}
	s.mu.Lock()
	for _, id := range s.models {
		list.Data = append(list.Data, model{id, "model", "backendtest"})
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	writeAll(w, mustJSON(list))
}

const htmlPage = `<!DOCTYPE html>
<html><head><title>Sign in</title><style>body { color: red }</style></head>
<body><h1>Welcome to the hotel</h1><p>Sign in to use the network &amp; more.</p></body></html>
`

func writeAll(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		return // the client has gone; its own test decides whether it should have
	}
}

func (s *Server) writeError(w http.ResponseWriter, e ReplyError) {
	body := e.Body
	if body == "" {
		body = s.protocol.Error(e)
	}
	kind := "application/json"
	if strings.HasPrefix(body, "<") {
		kind = "text/html"
	}
	w.Header().Set("Content-Type", kind)
	for name, values := range e.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.WriteHeader(e.Status)
	writeAll(w, body)
}

// resetConnection makes the client see a reset and not an end of file: with a
// linger time of zero, closing drops what was not sent.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic("backendtest: hijack: " + err.Error())
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil {
			panic("backendtest: linger: " + err.Error())
		}
	}
	if err := conn.Close(); err != nil {
		panic("backendtest: close: " + err.Error())
	}
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("backendtest: encode: " + err.Error())
	}
	return string(data)
}
