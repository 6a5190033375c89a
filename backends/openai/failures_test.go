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

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

func simple() backends.Request {
	return backends.Request{Model: "m", Messages: []backends.Message{backends.User("hi")}}
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
	e := backendtest.Fail(t, backend, simple())
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
	req.Params.Headers = map[string]string{"X-Api-Token": "/tok-12345"}
	if got := backendtest.Fail(t, backend, req).Message; got != "Bearer ****** *** *** http://me:***@host/" {
		t.Errorf("the error shows %q", got)
	}
	want := "Bearer *** *** *** http://me:***@host/"
	_, err := backend.ListModels(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("listing the models shows %v", err)
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
		if got := backendtest.Fail(t, backend, simple()).Message; got != want {
			t.Errorf("of %s the error shows %q, want %q", password, got, want)
		}
	}
	backend := newBackend(t, openai.Config{BaseURL: server.URL, APIKey: "other"})
	req := simple()
	req.Params.Headers = map[string]string{"Authorization": "Bearer tok-12345"}
	if got := backendtest.Fail(t, backend, req).Message; got != "no to *** and ***" {
		t.Errorf("of a header the error shows %q", got)
	}
}

// TestNoCauseShowsASecret walks down the causes, which a logger might print.
func TestNoCauseShowsASecret(t *testing.T) {
	const password = "hidden-word"
	failing := func(*http.Request) (*http.Response, error) {
		return nil, errors.New("proxy http://me:" + password + "@proxy: refused")
	}
	backend := newBackend(t, openai.Config{Transport: backendtest.RoundTripper(failing)})
	for err := error(backendtest.Fail(t, backend, simple())); err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), password) {
			t.Errorf("%T shows the password: %v", err, err)
		}
	}
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
		if e := backendtest.Fail(t, backend, req); !strings.Contains(e.Message, want) {
			t.Errorf("%s gives %+v", path, e)
		}
	}
}

func TestQueryOfTheBaseURLIsKept(t *testing.T) {
	var got []string
	backend := newBackend(t, openai.Config{
		BaseURL: "https://host/openai/deployments/d/chat/completions?api-version=2024-10-21",
		Transport: backendtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.URL.String())
			return nil, errors.New("no network")
		}),
	})
	backendtest.Fail(t, backend, simple())
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
