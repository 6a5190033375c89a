package server_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// mcpClient is a client of the server's tools, with what it was told of progress.
type mcpClient struct {
	*mcp.ClientSession
	mu   sync.Mutex
	told []string
}

func connectMCP(t *testing.T, transport mcp.Transport) *mcpClient {
	t.Helper()
	c := &mcpClient{}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.told = append(c.told, n.Params.Message)
		},
	})
	var err error
	if c.ClientSession, err = client.Connect(t.Context(), transport, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s served) mcp(t *testing.T) *mcpClient {
	t.Helper()
	c := connectMCP(t, &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", DisableStandaloneSSE: true})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *mcpClient) call(t *testing.T, tool string, arguments map[string]any) (text string, structured string) {
	t.Helper()
	p := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	p.SetProgressToken(tool)
	r, err := c.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	text = r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		text = "error: " + text
	}
	return text, string(data)
}

type mcpAnswer struct {
	Answer, Status, Winner, Session, Panel string
	Votes                                  []struct{ Voter, For, Reason string }
}

func TestToolsAskAPanelAndReadItsSession(t *testing.T) {
	s := serve(t, nil)
	c := s.mcp(t)
	text, data := c.call(t, "ask_panel", map[string]any{"question": "What is Go?", "panel": "pair"})
	first := decode[mcpAnswer](t, data)
	kept, err := s.store.Turns(t.Context(), first.Session, 0)
	if err != nil || len(kept) != 1 || kept[0].Answer != first.Answer || first.Answer == "" || kept[0].Question != "What is Go?" {
		t.Fatalf("the session has %+v, %v; the result %s", kept, err, data)
	}
	if first.Status != "completed" || first.Winner != kept[0].Winner || len(first.Votes) != 2 || first.Panel != "pair" {
		t.Errorf("the result is %s", data)
	}
	if !strings.HasPrefix(text, first.Answer) || !strings.Contains(text, first.Session) {
		t.Errorf("the text is %q", text)
	}
	if _, data = c.call(t, "ask_panel", map[string]any{"question": "And C?", "session": first.Session}); decode[mcpAnswer](t, data).Session != first.Session {
		t.Errorf("the second result is %s", data)
	}
	c.mu.Lock()
	if told := strings.Join(c.told, "\n"); !strings.Contains(told, "ada voted for") || !strings.Contains(told, "bob answered: ") {
		t.Errorf("the client was told %q", told)
	}
	c.mu.Unlock()
	_, data = c.call(t, "get_session", map[string]any{"session": first.Session, "last": 1})
	session := decode[struct {
		Count int `json:"turn_count"`
		Turns []struct{ Question, Answer, Status string }
	}](t, data)
	if session.Count != 2 || len(session.Turns) != 1 || session.Turns[0].Question != "And C?" || session.Turns[0].Answer == "" {
		t.Errorf("the session is %s", data)
	}
	if _, data = c.call(t, "list_panels", nil); data != `{"panels":[{"agents":["ada","bob"],"name":"pair"},{"agents":["ada"],"name":"pair/ada"}]}` {
		t.Errorf("the panels are %s", data)
	}
}

func TestToolErrorsAreOneLine(t *testing.T) {
	c := serve(t, nil).mcp(t)
	for _, row := range []struct {
		tool, arguments, want string
	}{
		{"ask_panel", `{"question":"?","panel":"pare"}`, `there is no panel "pare": did you mean pair? list_panels lists them`},
		{"ask_panel", `{"question":" "}`, "question: the question is empty"},
		{"ask_panel", `{}`, "question"},
		{"ask_panel", `{"question":"?","session":"nobody"}`, `session: there is no "nobody": leave it out to begin one`},
		{"ask_panel", `{"question":"?","session":"../x"}`, "session: "},
		{"get_session", `{"session":"nobody"}`, `session: there is no "nobody"`},
		{"get_session", `{"session":"nobody","last":101}`, "last: 101 is not from 1 to 100"},
	} {
		text, _ := c.call(t, row.tool, decode[map[string]any](t, row.arguments))
		if !strings.HasPrefix(text, "error: ") || !strings.Contains(text, row.want) || strings.Contains(text, "\n") {
			t.Errorf("%s %s: %q, without %q", row.tool, row.arguments, text, row.want)
		}
	}
}

// silent is a model that never replies.
type silent struct{}

func (silent) Stream(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		<-ctx.Done()
		yield(nil, &backends.Error{Kind: backends.KindCancelled, Err: ctx.Err()})
	}
}

// withSilent makes "pair" a panel with an agent that never answers.
func withSilent(s *server.Settings) {
	s.Models[0].Open = func(ctx context.Context) (*massgen.Panel, error) {
		return massgen.New(ctx, []massgen.Agent{{ID: "ada", Provider: "demo"}, {ID: "bob", Backend: silent{}}}, massgen.WithStore(s.Store))
	}
}

// lastTurn waits until the store's only turn is over.
func (s served) lastTurn(t *testing.T) sessions.Turn {
	t.Helper()
	for {
		list, err := s.store.List(t.Context(), sessions.Filter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("the sessions are %+v, %v", list, err)
		}
		turns, err := s.store.Turns(t.Context(), list[0].ID, 0)
		if err != nil || len(turns) != 1 {
			t.Fatalf("the session has %+v, %v", turns, err)
		}
		if turns[0].Status != sessions.Running {
			return turns[0]
		}
		runtime.Gosched()
	}
}

func TestCancelledCallEndsItsTurnWithTheBestAnswer(t *testing.T) {
	for name, end := range map[string]func(cancel func(), s served){
		"cancelled":     func(cancel func(), _ served) { cancel() },
		"client gone":   func(_ func(), s served) { s.CloseClientConnections() },
		"older version": func(cancel func(), _ served) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, withSilent)
			answered := make(chan struct{})
			options := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
				if strings.HasPrefix(n.Params.Message, "ada answered") {
					close(answered)
				}
			}}
			var connection *mcp.ClientSessionOptions
			if name == "older version" {
				connection = &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
			}
			c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, options).Connect(
				t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", MaxRetries: -1}, connection)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-answered
				end(cancel, s)
			}()
			p := &mcp.CallToolParams{Name: "ask_panel", Arguments: map[string]any{"question": "?"}}
			p.SetProgressToken(1)
			if _, err := c.CallTool(ctx, p); err == nil {
				t.Fatal("the call has a result")
			}
			if turn := s.lastTurn(t); turn.Status != kernel.Cut || turn.Winner != "ada" {
				t.Errorf("the turn ended as %+v", turn)
			}
			_ = c.Close() // its connections are closed in one of the cases
		})
	}
}

// TestServeMCPEndsWithItsInput: the turn that runs ends with the best answer so far, and all
// that the server has written is messages.
func TestServeMCPEndsWithItsInput(t *testing.T) {
	kept := store.InMemory("", func(text string) string { return text }).Sessions
	s := server.Settings{Models: []server.Model{{ID: "pair"}}, Store: kept, Redact: func(text string) string { return text }, Log: slog.New(slog.DiscardHandler)}
	withSilent(&s)
	in, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- server.New(s).ServeMCP(t.Context(), in, toClient)
		_ = toClient.Close() // it never fails
	}()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_panel","arguments":{"question":"?"},"_meta":{"progressToken":1}}}`,
	} {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(fromServer)
	for lines.Scan() {
		if !json.Valid(lines.Bytes()) {
			t.Errorf("the server wrote %q", lines.Text())
		}
		if strings.Contains(lines.Text(), "ada answered") {
			if err := toServer.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if turn := (served{store: kept}).lastTurn(t); turn.Status != kernel.Cut || turn.Winner != "ada" {
		t.Errorf("the turn ended as %+v", turn)
	}
}

// TestMalformedLinesAreAnswered: each line that is no message gets its error, and the session goes on.
func TestMalformedLinesAreAnswered(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	const ping = `{"jsonrpc":"2.0","id":99,"method":"ping"}`
	type answer struct {
		ID    any
		Error *struct{ Code int }
	}
	for _, version := range []string{"2025-03-26", "2025-06-18"} {
		batch, refused := `[`+ping+`]`, -32600
		if version == "2025-03-26" {
			batch, refused = `[`+ping+`,`+ping+`]`, -32600
		}
		for line, want := range map[string]answer{
			"hello":                      {nil, &struct{ Code int }{-32700}},
			`{"jsonrpc":"2.0","id":7,`:   {nil, &struct{ Code int }{-32700}},
			ping + ping:                  {nil, &struct{ Code int }{-32700}},
			"\x00\xff":                   {nil, &struct{ Code int }{-32700}},
			strings.Repeat("[", 100_000): {nil, &struct{ Code int }{-32700}},
			"{}":                         {nil, &struct{ Code int }{-32600}},
			"1":                          {nil, &struct{ Code int }{-32600}},
			"null":                       {nil, &struct{ Code int }{-32600}},
			"[]":                         {nil, &struct{ Code int }{-32600}},
			"[1]":                        {nil, &struct{ Code int }{-32600}},
			batch:                        {nil, &struct{ Code int }{refused}},
			`{"id":"a","method":"ping"}`: {"a", &struct{ Code int }{-32600}},
			`{"jsonrpc":"1.0","id":7,"method":"ping"}`:  {7.0, &struct{ Code int }{-32600}},
			`{"jsonrpc":"2.0","id":{},"method":"ping"}`: {nil, &struct{ Code int }{-32600}},
			`{"jsonrpc":"2.0","id":7,"method":5}`:       {7.0, &struct{ Code int }{-32600}},
			strings.Repeat("x", 17<<20):                 {nil, &struct{ Code int }{-32600}},
		} {
			kept := store.InMemory("", func(text string) string { return text }).Sessions
			s := server.Settings{Models: []server.Model{{ID: "pair"}}, Store: kept, Redact: func(text string) string { return text }, Log: slog.New(slog.DiscardHandler)}
			withSilent(&s)
			in := fmt.Sprintf(initialize, version) + "\r\n\n  " + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "  \n" + line + "\n" + ping
			var out bytes.Buffer
			if err := server.New(s).ServeMCP(t.Context(), strings.NewReader(in), &out); err != nil {
				t.Errorf("%.40q: %v", line, err)
			}
			var answers []answer
			for text := range strings.Lines(out.String()) {
				var a answer
				if err := json.Unmarshal([]byte(text), &a); err != nil {
					t.Errorf("the server wrote %q", text)
				}
				answers = append(answers, a)
			}
			slices.SortFunc(answers, func(a, b answer) int { return cmp.Compare(fmt.Sprint(a.ID), fmt.Sprint(b.ID)) })
			wanted := []answer{{1.0, nil}, {99.0, nil}, want}
			slices.SortFunc(wanted, func(a, b answer) int { return cmp.Compare(fmt.Sprint(a.ID), fmt.Sprint(b.ID)) })
			if !reflect.DeepEqual(answers, wanted) {
				t.Errorf("%s, %.40q: got %s", version, line, out.String())
			}
		}
	}
}

// sendingToken sends a token with each request.
type sendingToken struct{ token string }

func (b sendingToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// TestToolsShowACallerItsOwnSessions where several names have tokens.
func TestToolsShowACallerItsOwnSessions(t *testing.T) {
	s := serve(t, ofTwo)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		as := func(token string) *mcpClient {
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: s.URL + "/mcp", DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: sendingToken{token}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			return &mcpClient{ClientSession: session}
		}
		ada, bob := as(adasToken), as(bobsToken)
		_, data := ada.call(t, "ask_panel", map[string]any{"question": "?", "panel": "pair/ada"})
		id := map[string]any{"session": decode[mcpAnswer](t, data).Session}
		if text, _ := ada.call(t, "get_session", id); strings.HasPrefix(text, "error: ") {
			t.Errorf("%s: who asked is told %q", version, text)
		}
		if text, _ := bob.call(t, "get_session", id); !strings.HasPrefix(text, "error: session: there is no ") {
			t.Errorf("%s: another caller is told %q", version, text)
		}
		for _, c := range []*mcpClient{ada, bob} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestProtocolSessionIsItsCallers: a caller with the session's id but another token can neither use, read,
// cancel nor end it.
func TestProtocolSessionIsItsCallers(t *testing.T) {
	s := serve(t, ofTwo)
	const accept, kind = "Accept: application/json, text/event-stream", "Content-Type: application/json"
	r := s.do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, bearer(adasToken), accept, kind)
	in := "Mcp-Session-Id: " + r.header.Get("Mcp-Session-Id")
	for _, request := range []struct{ method, body string }{
		{http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}, {http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
		{http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`}, {http.MethodGet, ""}, {http.MethodDelete, ""},
	} {
		refused(t, request.method+" "+request.body, s.do(t, request.method, "/mcp", request.body, bearer(bobsToken), accept, kind, in), http.StatusNotFound, "mcp_session_not_found")
		if t.Failed() { // a GET would be a stream without an end
			return
		}
	}
	for _, body := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`} {
		if r := s.do(t, http.MethodPost, "/mcp", body, bearer(adasToken), accept, kind, in); r.status/100 != 2 {
			t.Errorf("%s: status %d: %s", body, r.status, r.body)
		}
	}
	if r := s.do(t, http.MethodDelete, "/mcp", "", bearer(adasToken), accept, kind, in); r.status != http.StatusNoContent {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	refused(t, "after its end", s.do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`, bearer(adasToken), accept, kind, in), http.StatusNotFound, "mcp_session_not_found")
}
