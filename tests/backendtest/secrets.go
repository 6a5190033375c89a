package backendtest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// checkBadBaseURL: the errors show no password.
func checkBadBaseURL(t *testing.T, a adapter) {
	for _, bad := range []string{"host/v1", "ftp://user:pass@host", "user:pass@host/v1", "http://user:pa ss@ho st", "://", "http://"} {
		if _, err := a.connect(wire.Config{BaseURL: bad}); err == nil || strings.Contains(err.Error(), "pa") && strings.Contains(err.Error(), "ss@") {
			t.Errorf("base URL %q gives %v", bad, err)
		}
	}
}

// checkSecretsAreNotShown has the service tell all the secrets that it was sent.
func checkSecretsAreNotShown(t *testing.T, a adapter) {
	server := httptest.NewServer(http.HandlerFunc(tellSecrets))
	t.Cleanup(server.Close)
	req := ask()
	req.Params.Headers = map[string]string{"X-Api-Token": "tok-12345"}
	base := strings.Replace(server.URL, "://", "://me:pass%20word@", 1) + "?key=in-query"
	for _, c := range []struct {
		key  string
		want []string
	}{
		{"", []string{"me *** *** ***"}},
		{"sk-key-123", []string{"*** me *** *** ***", "*** *** ***"}}, // a key may stand where the password would
	} {
		e := Fail(t, a.backend(t, wire.Config{BaseURL: base, APIKey: c.key}), req)
		if !slices.Contains(c.want, e.Message) || e.Err != nil {
			t.Errorf("with key %q the error shows %q, and its cause %v", c.key, e.Message, e.Err)
		}
	}
}

// tellSecrets answers with the key, the user and password, a header and the query of a
// request. The key "none" means no key.
func tellSecrets(w http.ResponseWriter, r *http.Request) {
	told := []string{r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("X-Goog-Api-Key"), "none")}
	if user, password, ok := r.BasicAuth(); ok {
		told = append(told, user, password)
	} else {
		told = append(told, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
	told = append(told, r.Header.Get("X-Api-Token"), r.URL.Query().Get("key"))
	http.Error(w, strings.Join(told, " "), http.StatusBadRequest)
}

// redirect answers each request with the next of the addresses, and the last without an address.
// It returns a transport, and what was sent as "URL" and then headers.
func redirect(addresses ...string) (transport RoundTripper, sent *[]string) {
	sent = new([]string)
	return func(r *http.Request) (*http.Response, error) {
		var all strings.Builder
		all.WriteString(r.URL.String())
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			all.WriteString("\n" + name + ": " + strings.Join(r.Header[name], ","))
		}
		*sent = append(*sent, all.String())
		answer := &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{}, Body: http.NoBody, Request: r}
		if n := len(*sent); n <= len(addresses) {
			answer.Header.Set("Location", addresses[n-1])
		}
		return answer, nil
	}, sent
}

// checkSecretsStayAtHome: every secret is sent to the service, and nothing at all to where it
// redirects: another host, another port, the same host without TLS.
func checkSecretsStayAtHome(t *testing.T, a adapter) {
	req := ask()
	req.Params.Headers = map[string]string{
		"Authorization": "Bearer hidden-1", "X-Api-Key": "hidden-2", "api-key": "hidden-3", "X-Custom": "hidden-4",
	}
	for _, to := range []string{"https://other.example/v1", "https://sub.host.example/v1", "https://host.example:444/v1", "http://host.example/v1"} {
		transport, sent := redirect("/moved", to)
		backend := a.backend(t, wire.Config{
			BaseURL:   "https://user:hidden-5@host.example/v1?key=hidden-6",
			APIKey:    "hidden-7",
			Transport: transport,
		})
		e := Fail(t, backend, req)
		if want := "redirects to " + to + ", which is sent nothing: name that address as base_url"; !strings.Contains(e.Message, want) || !e.Unbilled() || e.Retryable() {
			t.Errorf("%+v, want %s", e, want)
		}
		if len(*sent) != 2 {
			t.Fatalf("%d requests were sent:\n%s", len(*sent), strings.Join(*sent, "\n"))
		}
		for _, text := range *sent {
			for _, secret := range []string{"hidden-1", "hidden-2", "hidden-3", "hidden-4", "key=hidden-6"} {
				if !strings.Contains(text, secret) {
					t.Errorf("%s is not sent to its own host:\n%s", secret, text)
				}
			}
		}
	}
}

// checkBasicAuthStaysAtHome: net/http makes the header of the base URL.
func checkBasicAuthStaysAtHome(t *testing.T, a adapter) {
	transport, sent := redirect("https://other.example/v1")
	if e := Fail(t, a.backend(t, wire.Config{BaseURL: "https://user:hidden@host.example/v1", Transport: transport}), ask()); e.Provider != provider {
		t.Errorf("the error names the provider %q", e.Provider)
	}
	if len(*sent) != 1 || !strings.Contains((*sent)[0], "Authorization: Basic ") {
		t.Errorf("sent:\n%s", strings.Join(*sent, "\n"))
	}
}

func checkRedirectsToNowhere(t *testing.T, a adapter) {
	const nowhere = "CALL redirects without an address to go to"
	for _, c := range []struct {
		name      string
		addresses []string
		want      string
	}{
		{"no address", nil, nowhere},
		{"a broken address", []string{"http://[hidden"}, nowhere},
		{
			"a loop", slices.Repeat([]string{"/b?key=hidden"}, 20),
			"https://host.example/b redirects to https://host.example/b, and so on without end",
		},
	} {
		transport, sent := redirect(c.addresses...)
		backend := a.backend(t, wire.Config{BaseURL: "https://user:hidden@host.example/v1?key=hidden", Transport: transport})
		e := Fail(t, backend, ask())
		call, _, _ := strings.Cut((*sent)[0], "?")
		call = strings.Replace(call, "user:hidden@", "", 1)
		want := strings.Replace(c.want, "CALL", call, 1)
		if e.Kind != backends.KindBadRequest || e.Status != http.StatusTemporaryRedirect || e.Message != want {
			t.Errorf("%s: %+v, want %s", c.name, e, want)
		}
		if n := len(*sent); n > 10 {
			t.Errorf("%s: %d requests", c.name, n)
		}
	}
}
