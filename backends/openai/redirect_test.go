package openai_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
)

// redirect answers each request with the next of the addresses, and the last with a
// stream. It returns a transport, and what was sent as "URL" and then headers.
func redirect(addresses ...string) (transport roundTripFunc, sent *[]string) {
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

// TestSecretsStayAtHome looks for every secret in what is sent to where a service
// redirects: another host, another port, the same host without TLS.
func TestSecretsStayAtHome(t *testing.T) {
	req := simple()
	req.Params.Headers = map[string]string{
		"Authorization": "Bearer hidden-1", "X-Api-Key": "hidden-2", "api-key": "hidden-3", "X-Custom": "hidden-4",
	}
	for _, to := range []string{"https://other.example/v1", "https://sub.host.example/v1", "https://host.example:444/v1", "http://host.example/v1"} {
		transport, sent := redirect("/moved", to)
		backend := newBackend(t, openai.Config{
			BaseURL:   "https://user:hidden-5@host.example/v1?key=hidden-6",
			APIKey:    "hidden-7",
			Transport: transport,
		})
		failure(t, backend, req)
		if len(*sent) != 3 {
			t.Fatalf("%d requests were sent", len(*sent))
		}
		for _, text := range (*sent)[:2] {
			for _, secret := range []string{"hidden-1", "hidden-2", "hidden-3", "hidden-4", "key=hidden-6"} {
				if !strings.Contains(text, secret) {
					t.Errorf("%s is not sent to its own host:\n%s", secret, text)
				}
			}
		}
		if strings.Contains((*sent)[2], "hidden") {
			t.Errorf("another host was sent:\n%s", (*sent)[2])
		}
	}
}

// TestBasicAuthorizationStaysAtHome: net/http makes the header of the base URL.
func TestBasicAuthorizationStaysAtHome(t *testing.T) {
	transport, sent := redirect("https://other.example/v1")
	backend := newBackend(t, openai.Config{BaseURL: "https://user:hidden@host.example/v1", Transport: transport})
	failure(t, backend, simple())
	if len(*sent) != 2 || !strings.Contains((*sent)[0], "Authorization: Basic ") || strings.Contains((*sent)[1], "Authorization") {
		t.Errorf("sent:\n%s", strings.Join(*sent, "\n"))
	}
}

func TestRedirectsThatLeadNowhere(t *testing.T) {
	for _, c := range []struct {
		name      string
		addresses []string
		want      string
	}{
		{"no address", nil, "https://host.example/v1/chat/completions redirects without an address to go to"},
		{"a broken address", []string{"http://[hidden"}, "https://host.example/v1/chat/completions redirects without an address to go to"},
		{
			"a loop", slices.Repeat([]string{"/b?key=hidden"}, 20),
			"https://host.example/b redirects to https://host.example/b, and so on without end",
		},
	} {
		transport, sent := redirect(c.addresses...)
		backend := newBackend(t, openai.Config{BaseURL: "https://user:hidden@host.example/v1?key=hidden", Transport: transport})
		e := failure(t, backend, simple())
		if e.Kind != backends.KindBadRequest || e.Status != http.StatusTemporaryRedirect || e.Message != c.want {
			t.Errorf("%s: %+v", c.name, e)
		}
		if n := len(*sent); n > 10 {
			t.Errorf("%s: %d requests", c.name, n)
		}
	}
}
