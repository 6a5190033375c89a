package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/server"
)

// The tokens of two users.
const (
	adasToken = "ada-0123456789abcdef"
	bobsToken = "bob-0123456789abcdef"
)

// ofTwo has a server serve two users.
func ofTwo(s *server.Settings) {
	s.Access.Tokens = []server.Token{{Name: "ada", Secret: adasToken}, {Name: "bob", Secret: bobsToken}}
}

// do sends a request with headers, as "Name: value", and returns the response. Host is one.
func (s served) do(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Add(name, value)
	}
	return send(t, request)
}

const asked = `{"model":"pair/ada","messages":[{"role":"user","content":"What is Go?"}]}`

func bearer(token string) string { return "Authorization: Bearer " + token }

// refused fails unless a reply is an error in OpenAI's form with a status and a code.
func refused(t *testing.T, what string, r reply, status int, code string) {
	t.Helper()
	var got struct {
		Error struct{ Message, Code string }
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != status || got.Error.Code != code || got.Error.Message == "" {
		t.Errorf("%s: status %d, %s, want %d and %s", what, r.status, r.body, status, code)
	}
}

func TestOnlyTokensLetIn(t *testing.T) {
	s := serve(t, ofTwo)
	for what, headers := range map[string][]string{
		"no token":           nil,
		"another":            {bearer("eve-0123456789abcdef")},
		"the beginning":      {bearer(adasToken[:10])},
		"with more":          {bearer(adasToken + "0")},
		"none after Bearer":  {bearer("")},
		"of another scheme":  {"Authorization: Basic " + adasToken},
		"without the scheme": {"Authorization: " + adasToken},
		"in another header":  {"X-Api-Key: " + adasToken},
	} {
		for _, path := range []string{"/v1/models", "/metrics", "/nothing"} {
			r := s.do(t, http.MethodGet, path, "", headers...)
			refused(t, what, r, http.StatusUnauthorized, "invalid_api_key")
			if !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s: the headers are %v", what, r.header)
			}
		}
	}
	if r := s.do(t, http.MethodGet, "/v1/models?key="+adasToken, ""); r.status != http.StatusUnauthorized {
		t.Errorf("a token in the address lets in: %d", r.status)
	}
	for _, token := range []string{adasToken, bobsToken} {
		if r := s.do(t, http.MethodGet, "/v1/models", "", bearer(token)); r.status != http.StatusOK {
			t.Errorf("a token is refused: %d %s", r.status, r.body)
		}
	}
	if r := s.do(t, http.MethodGet, "/healthz", ""); r.status != http.StatusOK {
		t.Errorf("/healthz: %d", r.status)
	}
}

// TestSessionsAreTheirTokens alone, whatever a client calls them.

func TestSessionsAreTheirTokens(t *testing.T) {
	s := serve(t, ofTwo)
	in := func(id string) string { return strings.Replace(asked, "{", `{"conversation":"`+id+`",`, 1) }
	ids := map[string]string{}
	for _, token := range []string{adasToken, bobsToken} {
		r := s.do(t, http.MethodPost, "/v1/chat/completions", in("mine"), bearer(token))
		if ids[token] = r.session(); r.status != http.StatusOK {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
	}
	if ids[adasToken] == ids[bobsToken] {
		t.Errorf("both have asked in %s", ids[adasToken])
	}
	r := s.do(t, http.MethodPost, "/v1/chat/completions", in(ids[adasToken]), bearer(adasToken))
	if r.session() != ids[adasToken] {
		t.Errorf("a session does not go on by its own id: %d %s", r.status, r.body)
	}
	for _, id := range []string{ids[adasToken], "x|massgen_ada", "x|ada", "x||user:ada"} {
		refused(t, "bob in "+id, s.do(t, http.MethodPost, "/v1/chat/completions", in(id), bearer(bobsToken)), http.StatusNotFound, "session_not_found")
	}
	// What a client says has come before is no way in, either.
	r = s.do(t, http.MethodPost, "/v1/chat/completions", asked, bearer(adasToken))
	said := decode[answer](t, r.body).Choices[0].Message.Content
	again, err := json.Marshal(map[string]any{"model": "pair/ada", "messages": []map[string]string{
		{"role": "user", "content": "What is Go?"}, {"role": "assistant", "content": said}, {"role": "user", "content": "And?"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	bobs := s.do(t, http.MethodPost, "/v1/chat/completions", string(again), bearer(bobsToken))
	adas := s.do(t, http.MethodPost, "/v1/chat/completions", string(again), bearer(adasToken))
	if bobs.session() == r.session() || adas.session() != r.session() {
		t.Errorf("ada's session %s goes on as %s for ada, as %s for bob", r.session(), adas.session(), bobs.session())
	}
}

// TestOneTokenSharesAllSessions with the command line, and so do several of one name.
func TestOneTokenSharesAllSessions(t *testing.T) {
	s := serve(t, func(s *server.Settings) {
		s.Access.Tokens = []server.Token{{Name: "us", Secret: adasToken}, {Name: "us", Secret: bobsToken}}
	})
	for _, token := range []string{adasToken, bobsToken} {
		r := s.do(t, http.MethodPost, "/v1/chat/completions", strings.Replace(asked, "{", `{"conversation":"Sarah|app_2",`, 1), bearer(token))
		if r.session() != "Sarah|app_2" {
			t.Errorf("status %d: %s", r.status, r.body)
		}
	}
}

// TestNamesOfOthersAreRefused: a page whose name was made to lead here sends its own.
func TestNamesOfOthersAreRefused(t *testing.T) {
	s := serve(t, func(s *server.Settings) { s.Access.Hosts = []string{"chat.example"} })
	for _, host := range []string{"evil.example", "evil.example:8484", "localhost.evil.example", "127.0.0.1.nip.io", "chat.example.evil.example", "[evil]", "127.1", "0x7f.1", "user@localhost"} {
		refused(t, host, s.do(t, http.MethodPost, "/v1/chat/completions", asked, "Host: "+host), http.StatusForbidden, "host_not_allowed")
	}
	for _, host := range []string{"localhost", "LOCALHOST:8484", "localhost.", "127.0.0.1:1", "[::1]:8484", "[::1]", "192.168.1.7:8484", "chat.example", "Chat.Example:443"} {
		if r := s.do(t, http.MethodGet, "/v1/models", "", "Host: "+host); r.status != http.StatusOK {
			t.Errorf("%s: status %d, %s", host, r.status, r.body)
		}
	}
}

func TestPagesOfOthersAreRefused(t *testing.T) {
	s := serve(t, func(s *server.Settings) { s.Access.Origins = []string{"https://chat.example"} })
	at := strings.TrimPrefix(s.URL, "http://")
	for what, headers := range map[string][]string{
		"another site":                  {"Origin: https://evil.example"},
		"a sandboxed page":              {"Origin: null"},
		"another port":                  {"Origin: http://127.0.0.1:1"},
		"the allowed one by http":       {"Origin: http://chat.example"},
		"a name that begins so":         {"Origin: https://chat.example.evil.example"},
		"a name with a user":            {"Origin: https://chat.example@evil.example"},
		"two":                           {"Origin: https://chat.example", "Origin: https://evil.example"},
		"a form, by an old browser":     {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"},
		"a form of a neighbour":         {"Sec-Fetch-Site: same-site"},
		"a text, which needs no asking": {"Origin: https://evil.example", "Content-Type: text/plain"},
	} {
		r := s.do(t, http.MethodPost, "/v1/chat/completions", asked, headers...)
		refused(t, what, r, http.StatusForbidden, "origin_not_allowed")
		if r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the headers are %v", what, r.header)
		}
	}
	refused(t, "a picture", s.do(t, http.MethodGet, "/v1/models", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"), http.StatusForbidden, "origin_not_allowed")
	refused(t, "asking first", s.do(t, http.MethodOptions, "/v1/models", "", "Origin: https://evil.example", "Access-Control-Request-Method: POST"), http.StatusForbidden, "origin_not_allowed")
	for what, headers := range map[string][]string{
		"no browser":  nil,
		"its own":     {"Origin: http://" + at, "Sec-Fetch-Site: same-origin"},
		"the allowed": {"Origin: https://chat.example", "Sec-Fetch-Site: cross-site"},
		"a link":      {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"},
		"typed":       {"Sec-Fetch-Site: none"},
	} {
		if r := s.do(t, http.MethodGet, "/v1/models", "", headers...); r.status != http.StatusOK {
			t.Errorf("%s: status %d, %s", what, r.status, r.body)
		}
	}
}

// TestAllowedPagesMayAsk: a browser asks first, without a token.
func TestAllowedPagesMayAsk(t *testing.T) {
	s := serve(t, func(s *server.Settings) { ofTwo(s); s.Access.Origins = []string{"https://chat.example"} })
	r := s.do(t, http.MethodOptions, "/v1/chat/completions", "", "Origin: https://chat.example", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type,x-stainless-os")
	if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "https://chat.example" ||
		r.header.Get("Access-Control-Allow-Headers") != "authorization,content-type,x-stainless-os" || r.header.Get("Vary") != "Origin" {
		t.Errorf("status %d, %v", r.status, r.header)
	}
	r = s.do(t, http.MethodPost, "/v1/chat/completions", asked, "Origin: https://chat.example", bearer(adasToken))
	if r.status != http.StatusOK || r.header.Get("Access-Control-Allow-Origin") != "https://chat.example" || !strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "Massgen-Session-Id") {
		t.Errorf("status %d, %v", r.status, r.header)
	}
	refused(t, "without a token", s.do(t, http.MethodGet, "/v1/models", "", "Origin: https://chat.example"), http.StatusUnauthorized, "invalid_api_key")
}

func TestBodiesAreJSON(t *testing.T) {
	s := serve(t, nil)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json", ";", "application/json+x"} {
		refused(t, kind, s.do(t, http.MethodPost, "/v1/chat/completions", asked, "Content-Type: "+kind), http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
		if r := s.do(t, http.MethodPost, "/v1/chat/completions", asked, "Content-Type: "+kind); r.status != http.StatusOK {
			t.Errorf("%s: status %d, %s", kind, r.status, r.body)
		}
	}
}

func TestResponsesTellBrowsersWhatTheyMay(t *testing.T) {
	s := serve(t, nil)
	for _, path := range []string{"/v1/models", "/nothing", "/healthz"} {
		h := s.do(t, http.MethodGet, path, "").header
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			h.Get("Referrer-Policy") != "no-referrer" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestLimitsOfTurns(t *testing.T) {
	hold := make(chan struct{})
	s := serve(t, func(s *server.Settings) {
		ofTwo(s)
		s.Limits = server.Limits{Runs: 3, RunsEach: 2, PerMinute: 3}
		s.Models = []server.Model{{ID: "pair/ada", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Backend: holding{hold}}}, massgen.WithStore(s.Store))
		}}}
	})
	replies := make(chan reply)
	begin := func(token string) {
		go func() { replies <- s.do(t, http.MethodPost, "/v1/chat/completions", asked, bearer(token)) }()
	}
	running := func(n int) {
		for want := fmt.Sprintf("massgen_turns_running{model=\"pair/ada\"} %d\n", n); ; time.Sleep(time.Millisecond) {
			if strings.Contains(s.do(t, http.MethodGet, "/metrics", "", bearer(adasToken)).body, want) {
				return
			}
		}
	}
	over := func(token, what string) {
		t.Helper()
		r := s.do(t, http.MethodPost, "/v1/chat/completions", asked, bearer(token))
		refused(t, what, r, http.StatusTooManyRequests, "rate_limit_exceeded")
		if r.header.Get("Retry-After") == "" || !strings.Contains(r.body, what) {
			t.Errorf("%s: %v, %s", what, r.header, r.body)
		}
	}
	begin(adasToken)
	begin(adasToken)
	running(2)
	over(adasToken, "2 turns of this token run")
	begin(bobsToken)
	running(3)
	over(bobsToken, "3 turns run")
	close(hold)
	for range 3 {
		if r := <-replies; r.status != http.StatusOK {
			t.Errorf("status %d: %s", r.status, r.body)
		}
	}
	// Who has an answer may ask again at once.
	if r := s.do(t, http.MethodPost, "/v1/chat/completions", asked, bearer(adasToken)); r.status != http.StatusOK {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	over(adasToken, "3 turns in a minute")
	text := s.do(t, http.MethodGet, "/metrics", "", bearer(adasToken)).body
	for _, want := range []string{
		`massgen_turns_total{model="pair/ada",status="completed"} 4`, `massgen_requests_refused_total{code="rate_limit_exceeded"} 3`,
		`massgen_tokens_total{model="pair/ada",kind="output"} 4`, `massgen_tokens_total{model="pair/ada",kind="reasoning_output"} 0`, `massgen_turn_duration_seconds_bucket{model="pair/ada",le="+Inf"} 4`, "# TYPE massgen_turns_total counter",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("without %s:\n%s", want, text)
		}
	}
}

func TestReadiness(t *testing.T) {
	s := serve(t, nil)
	if r := s.do(t, http.MethodGet, "/readyz", ""); r.status != http.StatusOK || r.body != "2 of 2 models can be asked\n" {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	s = serve(t, func(s *server.Settings) {
		s.Models[1].Open = func(context.Context) (*massgen.Panel, error) {
			return nil, fmt.Errorf("open /home/ada/key.yaml: denied")
		}
	})
	if r := s.do(t, http.MethodGet, "/readyz", ""); r.status != http.StatusServiceUnavailable || r.body != "1 of 2 models can be asked\n" {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	full := errors.New("write /home/ada/.local/state/massgen/room-1: no space left on device")
	s = serve(t, func(s *server.Settings) { s.CheckRoom = func() error { return full } })
	if r := s.do(t, http.MethodGet, "/readyz", ""); r.status != http.StatusServiceUnavailable || r.body != "the disk takes no files\n" {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	s = serve(t, func(s *server.Settings) {
		s.Models[1].Open = func(context.Context) (*massgen.Panel, error) {
			return nil, fmt.Errorf("open /home/ada/key.yaml: denied")
		}
	})
	r := s.do(t, http.MethodPost, "/v1/chat/completions", asked)
	if r.status != http.StatusInternalServerError || strings.Contains(r.body, "/home") {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}

// raw sends bytes over a connection of its own and returns all that comes back until the server
// closes it.
func (s served) raw(t *testing.T, text string) string {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // all was read
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil && len(got) == 0 {
		t.Fatal(err)
	}
	return string(got)
}

// TestNoRequestHidesInAnother: a proxy before the server may read lengths in another way.
func TestNoRequestHidesInAnother(t *testing.T) {
	s := serve(t, nil)
	const hidden = "GET /v1/models/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for what, headers := range map[string]string{
		"a length beside chunks":     "Content-Length: 4\r\nTransfer-Encoding: chunked",
		"chunks beside a length":     "Transfer-Encoding: chunked\r\nContent-Length: 4",
		"two lengths":                "Content-Length: 5\r\nContent-Length: 6",
		"lengths in a list":          "Content-Length: 5, 6",
		"a length with a sign":       "Content-Length: +5",
		"a length below zero":        "Content-Length: -5",
		"chunks of another kind":     "Transfer-Encoding: xchunked",
		"chunks in a list":           "Transfer-Encoding: identity, chunked",
		"chunks twice":               "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
		"a blank before the colon":   "Transfer-Encoding : chunked",
		"a continued line":           "X: y\r\n Transfer-Encoding: chunked",
		"a control before the value": "Transfer-Encoding: \x0bchunked",
	} {
		got := s.raw(t, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"+headers+"\r\n\r\n0\r\n\r\n"+hidden)
		if !strings.HasPrefix(got, "HTTP/1.1 4") && !strings.HasPrefix(got, "HTTP/1.1 5") || strings.Contains(got, "hidden") {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := s.raw(t, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"+hidden); !strings.Contains(got, "hidden") {
		t.Errorf("a second request in a row is not answered: %s", got)
	}
	for what, head := range map[string]string{
		"two hosts":                     "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
		"no host":                       "GET / HTTP/1.1\r\n\r\n",
		"an old request without a host": "GET / HTTP/1.0\r\n\r\n",
		"another host in the line":      "GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"a long header":                 "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
	} {
		if got := s.raw(t, head); !strings.HasPrefix(got, "HTTP/1.1 4") && !strings.HasPrefix(got, "HTTP/1.0 4") {
			t.Errorf("%s: %.200s", what, got)
		}
	}
}

// TestOpenRoutesReadNoBody: a stranger's body is not held beside the bodies of clients with a token.
func TestOpenRoutesReadNoBody(t *testing.T) {
	s := serve(t, withToken)
	tooMany := strings.Repeat(",", 300_000) // more values than a body that is read may have
	if r := s.send(t, http.MethodGet, "/healthz", tooMany); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.chat(t, tooMany); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is read: %d", r.status)
	}
}
