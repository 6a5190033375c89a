package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer offers the panels as tools of the Model Context Protocol.
type mcpServer struct {
	respond responder
	turns   *turns
	// byName has a server for each name of a token: a session belongs to the name that began it.
	byName   map[string]*mcp.Server
	requests *openRequests
	// stateful serves clients with sessions, stateless the clients of newer versions without.
	stateful, stateless http.Handler
}

const mcpInstructions = `massgen puts one question to a panel of several language models. They answer, read each other's answers, and vote for the best one.
Ask it where a second opinion is worth a minute or more: a design, a hard bug, a review, a decision. The panel sees nothing but the question, so the question must have all that it needs: code, errors, constraints.
ask_panel returns the winning answer and a session id. Give that id with the next question to go on in the same conversation.`

func newMCPServer(turns *turns, tokens []Token, version string) *mcpServer {
	m := &mcpServer{respond: turns.respond, turns: turns, byName: map[string]*mcp.Server{}, requests: &openRequests{byID: map[string]context.Context{}}}
	for _, t := range append([]Token{{}}, tokens...) { // without tokens, and on a pipe, nobody has a name
		m.byName[t.Name] = m.newSDK(version)
	}
	m.stateful = mcp.NewStreamableHTTPHandler(m.forSession, &mcp.StreamableHTTPOptions{
		SessionTimeout: mcpIdle, MaxRequestBodyBytes: mostBody, DisableLocalhostProtection: true, // the guard has looked
	})
	m.stateless = mcp.NewStreamableHTTPHandler(m.forCaller, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: mostBody, DisableLocalhostProtection: true,
	})
	return m
}

func (m *mcpServer) newSDK(version string) *mcp.Server {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "massgen", Title: "massgen", Version: version}, &mcp.ServerOptions{
		Instructions: mcpInstructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	isLocal := false
	mcp.AddTool(sdk, &mcp.Tool{
		Name: "ask_panel", Title: "Ask a panel of models",
		Description: "Puts a question to a panel of language models, which answer, read each other's answers and vote. Returns the winning answer. It takes from some seconds to several minutes.",
		Annotations: &mcp.ToolAnnotations{Title: "Ask a panel of models"},
	}, m.askPanel)
	mcp.AddTool(sdk, &mcp.Tool{
		Name: "list_panels", Title: "List the panels",
		Description: "Lists the panels that ask_panel can ask, with their agents. A name with a slash is one agent of a panel alone.",
		Annotations: &mcp.ToolAnnotations{Title: "List the panels", ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &isLocal},
	}, m.listPanels)
	mcp.AddTool(sdk, &mcp.Tool{
		Name: "get_session", Title: "Read a session",
		Description: "Returns the questions and winning answers of a session.",
		Annotations: &mcp.ToolAnnotations{Title: "Read a session", ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &isLocal},
	}, m.getSession)
	return sdk
}

// ServeMCP is Serve for one client of the Model Context Protocol, with one message on a line. It answers a
// line that is no message with an error. It returns when in has ended or ctx is done. Before, it stops
// the running turns as Serve does, waits for them, and closes the panels.
func (s *Server) ServeMCP(ctx context.Context, in io.Reader, out io.Writer) error {
	answers := newMCPAnswers(out)
	session, err := s.mcp.byName[""].Connect(context.WithoutCancel(ctx), &mcp.IOTransport{
		Reader: newMCPLines(in, answers), Writer: answers, MaxLineLength: mostBody + 1, // with the line's end
	}, nil)
	if err != nil {
		return errors.Join(fmt.Errorf("mcp: %w", err), s.close())
	}
	stop := context.AfterFunc(ctx, func() {
		s.runs.end()
		s.mcp.closeSession(session)
	})
	err = session.Wait()
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("mcp: the client sent what is no message of the protocol: %w", err)
	} else {
		err = nil
	}
	stop()
	return errors.Join(err, s.close())
}

// The limits of sessions over HTTP, which clients may abandon.
const (
	mcpIdle         = time.Hour
	mostMCPSessions = 1000 // of one name
	mcpSession      = "Mcp-Session-Id"
)

// forCaller returns the server for the name of a request's token.
func (m *mcpServer) forCaller(r *http.Request) *mcp.Server {
	return m.byName[callerOf(r.Context()).name]
}

// forSession returns the server for a request, nil for a new session if too many are open.
func (m *mcpServer) forSession(r *http.Request) *mcp.Server {
	sdk := m.forCaller(r)
	if r.Header.Get(mcpSession) == "" && len(slices.Collect(sdk.Sessions())) >= mostMCPSessions {
		m.respond.log.Warn("too many MCP sessions are open: a new one is refused", "token", callerOf(r.Context()).name)
		return nil
	}
	return sdk
}

// checkSession refuses a request in a session of another name like one in a missing session.
func (m *mcpServer) checkSession(r *http.Request) error {
	id := r.Header.Get(mcpSession)
	isIt := func(s *mcp.ServerSession) bool { return s.ID() == id }
	if id == "" || slices.ContainsFunc(slices.Collect(m.forCaller(r).Sessions()), isIt) {
		return nil
	}
	return refusal{status: http.StatusNotFound, code: "mcp_session_not_found", message: "there is no such MCP session: initialize one"}
}

// stateless20260728 is the first version of the protocol without sessions.
const stateless20260728 = "2026-07-28"

// ServeHTTP implements http.Handler.
func (m *mcpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer m.requests.open(r)()
	if r.Header.Get("Mcp-Protocol-Version") >= stateless20260728 {
		m.stateless.ServeHTTP(w, r)
		return
	}
	if err := m.checkSession(r); err != nil {
		m.respond.refuse(w, err)
		return
	}
	m.stateful.ServeHTTP(w, r)
}

// end closes all sessions after their calls are answered. Some of their streams would stay open.
func (m *mcpServer) end() {
	for _, sdk := range m.byName {
		for session := range sdk.Sessions() {
			m.closeSession(session)
		}
	}
}

func (m *mcpServer) closeSession(session *mcp.ServerSession) {
	if err := session.Close(); err != nil {
		m.respond.log.Debug("an MCP session did not end well", "error", err)
	}
}

// openRequests has the contexts of open HTTP requests. The SDK continues a tool call when its client is
// gone, and passes only the headers of the request to the tool.
type openRequests struct {
	mu   sync.Mutex
	last int
	byID map[string]context.Context
}

// requestHeader names a request to its tool call.
const requestHeader = "Massgen-Request"

// open keeps a request until closed is called. It overwrites the client's value of the header.
func (o *openRequests) open(r *http.Request) (closed func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	id := fmt.Sprint(o.last)
	r.Header.Set(requestHeader, id)
	o.byID[id] = r.Context()
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.byID, id)
	}
}

// bind returns the context of a call, which has the caller and the body of the call's HTTP request, and ends
// when that client is gone.
func (o *openRequests) bind(ctx context.Context, call *mcp.CallToolRequest) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if call.Extra == nil || call.Extra.Header == nil {
		return ctx, cancel
	}
	o.mu.Lock()
	request := o.byID[call.Extra.Header.Get(requestHeader)]
	o.mu.Unlock()
	if request == nil {
		cancel() // it is gone already
		return ctx, cancel
	}
	stop := context.AfterFunc(request, cancel)
	ctx = context.WithValue(ctx, callerKey{}, callerOf(request))
	return context.WithValue(ctx, bodyKey{}, request.Value(bodyKey{})), func() { stop(); cancel() }
}
