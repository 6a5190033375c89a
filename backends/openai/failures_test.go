package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/openai"
)

func simple() backends.Request {
	return backends.Request{Model: "m", Messages: []backends.Message{backends.User("hi")}}
}

func failure(t *testing.T, backend *openai.Backend, req backends.Request) *backends.Error {
	t.Helper()
	_, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("the call ended with %v, not with a *backends.Error", err)
	}
	return e
}

// closedAddress is one that refuses connections until t ends: the client's end of a
// connection, whose port nobody else is given to listen on.
func closedAddress(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn.LocalAddr().String()
}

func TestRefusedConnection(t *testing.T) {
	backend := newBackend(t, openai.Config{BaseURL: "http://user:pass-word@" + closedAddress(t) + "/v1"})
	e := failure(t, backend, simple())
	if e.Kind != backends.KindNetwork || e.Begun || !strings.HasPrefix(e.Message, "dial tcp") || !strings.HasSuffix(e.Message, "connection refused") {
		t.Errorf("a refused connection gives %+v", e)
	}
	if _, err := backend.ListModels(t.Context()); backends.KindOf(err) != backends.KindNetwork {
		t.Errorf("listing the models gives %v", err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	const key, password = "sk-key-123", "pass word"
	echo := func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization")+r.Header.Get("X-Api-Token")+" pass word pass%20word http://me:proxy-pw@host/", http.StatusBadRequest)
	}
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	backend := newBackend(t, openai.Config{
		BaseURL: strings.Replace(server.URL, "://", "://user:pass%20word@", 1),
		APIKey:  key,
	})
	req := simple()
	req.Params.Headers = map[string]string{"X-Api-Token": "/tok-1"}
	if got := failure(t, backend, req).Message; got != "Bearer ****** *** *** http://me:***@host/" {
		t.Errorf("the error shows %q", got)
	}
	want := "Bearer *** *** *** http://me:***@host/"
	_, err := backend.ListModels(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("listing the models shows %v", err)
	}
	for _, bad := range []string{"ftp://user:pass@host", "user:pass@host/v1", "http://user:pa ss@ho st", "://", "http://"} {
		_, err := openai.New(openai.Config{BaseURL: bad})
		if err == nil || strings.Contains(err.Error(), "pa") && strings.Contains(err.Error(), "ss@") {
			t.Errorf("base URL %q gives %v", bad, err)
		}
	}
}

// TestSentCredentialsAreNotShown: a service may echo what it got without the scheme.
func TestSentCredentialsAreNotShown(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		_, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		http.Error(w, "no to "+credentials+" and "+strings.TrimRight(credentials, "="), http.StatusUnauthorized)
	}
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	for password, want := range map[string]string{"pass-word": "no to *** and ***", "password": "no to ***= and ***"} {
		backend := newBackend(t, openai.Config{BaseURL: strings.Replace(server.URL, "://", "://user1:"+password+"@", 1)})
		if got := failure(t, backend, simple()).Message; got != want {
			t.Errorf("of %s the error shows %q, want %q", password, got, want)
		}
	}
	backend := newBackend(t, openai.Config{BaseURL: server.URL, APIKey: "other"})
	req := simple()
	req.Params.Headers = map[string]string{"Authorization": "Bearer tok-1"}
	if got := failure(t, backend, req).Message; got != "no to *** and ***" {
		t.Errorf("of a header the error shows %q", got)
	}
}

// TestNoCauseShowsASecret walks down the causes, which a logger might print.
func TestNoCauseShowsASecret(t *testing.T) {
	const password = "hidden-word"
	failing := func(*http.Request) (*http.Response, error) {
		return nil, errors.New("proxy http://me:" + password + "@proxy: refused")
	}
	backend := newBackend(t, openai.Config{Transport: roundTripFunc(failing)})
	for err := error(failure(t, backend, simple())); err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), password) {
			t.Errorf("%T shows the password: %v", err, err)
		}
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestThatCannotBeMade(t *testing.T) {
	backend := newBackend(t, openai.Config{Transport: roundTripFunc(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("sent")
	})})
	for name, change := range map[string]func(*backends.Request){
		"schema":     func(r *backends.Request) { r.Tools = []backends.Tool{{Name: "t", Schema: []byte("{")}} },
		"extra body": func(r *backends.Request) { r.Params.ExtraBody = map[string]any{"f": func() {}} },
	} {
		req := simple()
		change(&req)
		if e := failure(t, backend, req); e.Kind != backends.KindBadRequest || e.Message == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestLimitsOfTime takes the default limits in a bubble where time is free.
func TestLimitsOfTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   openai.Config
		reply backendtest.Reply
		after time.Duration
		want  string
	}{
		{"default of the first byte", openai.Config{}, backendtest.Reply{Fault: backendtest.HangBefore}, 120 * time.Second, "no first byte of an answer within 2m0s"},
		{"default of silence", openai.Config{}, backendtest.Reply{Text: "ab", Fault: backendtest.HangMidStream}, 60 * time.Second, "no more of the answer within 1m0s"},
		{"own limit of the first byte", openai.Config{FirstByteTimeout: time.Second}, backendtest.Reply{Delay: time.Hour}, time.Second, "no first byte of an answer within 1s"},
		{"no limit", openai.Config{FirstByteTimeout: -1, IdleTimeout: -1}, backendtest.Reply{Delay: 24 * time.Hour}, 24 * time.Hour, ""},
		{"just in time", openai.Config{}, backendtest.Reply{Delay: 119 * time.Second}, 119 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := backendtest.NewPipeServer(t, func(backendtest.Call) backendtest.Reply { return c.reply })
				c.cfg.BaseURL, c.cfg.Transport = server.BaseURL, server.Transport()
				backend := newBackend(t, c.cfg)
				start := time.Now()
				_, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
				if passed := time.Since(start); passed != c.after {
					t.Errorf("it took %s, want %s", passed, c.after)
				}
				var e *backends.Error
				if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || e.Kind != backends.KindTimeout || e.Message != c.want) {
					t.Errorf("the call ended with %v, want %q", err, c.want)
				}
			})
		})
	}
}

// TestReaderMayBeSlow checks that only the service's silence is measured.
func TestReaderMayBeSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := backendtest.NewPipeServer(t, func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: strings.Repeat("longer than all buffers ", 10_000)}
		})
		backend := newBackend(t, openai.Config{BaseURL: server.BaseURL, Transport: server.Transport()})
		for _, err := range backend.Stream(t.Context(), simple()) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

// TestSilenceAfterTheAnswer: a service that stops talking after its finish reason
// has answered; one that only leaves the connection open costs no time at all.
func TestSilenceAfterTheAnswer(t *testing.T) {
	const finished = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n"
	for raw, most := range map[string]time.Duration{
		finished:                      5 * time.Second,
		finished + "data: [DONE]\n\n": 50 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			server := backendtest.NewPipeServer(t, func(backendtest.Call) backendtest.Reply {
				return backendtest.Reply{Raw: raw, Fault: backendtest.HangMidStream}
			})
			backend := newBackend(t, openai.Config{BaseURL: server.BaseURL, Transport: server.Transport()})
			start := time.Now()
			resp, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
			if err != nil || resp.Message.Text() != "x" {
				t.Errorf("%+v %v", resp, err)
			}
			if passed := time.Since(start); passed != most {
				t.Errorf("it took %s, want %s", passed, most)
			}
		})
	}
}

// closeCounter counts how often a body is closed.
type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

// TestEveryBodyIsClosed: an open one would hold a connection and its goroutines.
func TestEveryBodyIsClosed(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		text   string
	}{
		{"answer", 200, "data: [DONE]\n"}, {"cut", 200, "data: {}\n"}, {"error", 500, "x"}, {"page", 200, "<html>"},
	} {
		body := &closeCounter{Reader: strings.NewReader(c.text)}
		backend := newBackend(t, openai.Config{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: c.status, Body: body, Request: r}, nil
		})})
		_, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
		if body.closed == 0 || (err == nil) != (c.name == "answer") {
			t.Errorf("%s: closed %d times, %v", c.name, body.closed, err)
		}
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	backendtest.RunReuse(t, backendtest.ChatCompletions(), func(t testing.TB, baseURL string, transport http.RoundTripper) backends.Backend {
		return newBackend(t, openai.Config{BaseURL: baseURL, Transport: transport})
	})
}

// TestRedirects: a captive portal sends a POST to its page with a GET; a service
// that has moved gets the same body again.
func TestRedirects(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("POST /portal/chat/completions", http.RedirectHandler("/login", http.StatusFound))
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<h1>Log in</h1>") })
	mux.Handle("POST /moved/chat/completions", http.RedirectHandler("/new", http.StatusTemporaryRedirect))
	mux.HandleFunc("POST /new", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"temperature":0`) {
			t.Errorf("redirected to %s with %s %v", r.URL, body, err)
		}
		fmt.Fprint(w, "data: {}\n")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	zero := 0.0
	req := simple()
	req.Params.Temperature = &zero
	for path, want := range map[string]string{"portal": "Log in", "moved": "the stream was cut"} {
		backend := newBackend(t, openai.Config{BaseURL: server.URL + "/" + path})
		if e := failure(t, backend, req); !strings.Contains(e.Message, want) {
			t.Errorf("%s gives %+v", path, e)
		}
	}
}

func TestQueryOfTheBaseURLIsKept(t *testing.T) {
	var got []string
	backend := newBackend(t, openai.Config{
		BaseURL: "https://host/openai/deployments/d/chat/completions?api-version=2024-10-21",
		Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.URL.String())
			return nil, errors.New("no network")
		}),
	})
	failure(t, backend, simple())
	want := []string{"https://host/openai/deployments/d/chat/completions?api-version=2024-10-21"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// proxyChild is set in the process that TestProxyOfTheEnvironment starts: a
// process reads its proxy variables only once.
const proxyChild = "MASSGEN_TEST_PROXY_CHILD"

func callThroughProxy() {
	backend, err := openai.New(openai.Config{BaseURL: "http://model.invalid/v1"})
	if err == nil {
		_, err = backends.Collect(backend.Stream(context.Background(), simple()), nil)
	}
	fmt.Print(err)
}

func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		http.Error(w, "the proxy says no", http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	child := exec.Command(os.Args[0])
	child.Env = []string{proxyChild + "=1", "HTTP_PROXY=" + proxy.URL}
	out, err := child.Output()
	if err != nil || string(out) != "openai: auth (HTTP 403): the proxy says no" {
		t.Fatalf("%s %v", out, err)
	}
	if got := <-asked; got != "http://model.invalid/v1/chat/completions" {
		t.Errorf("the proxy was asked for %q", got)
	}
}
