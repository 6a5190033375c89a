package httpclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestRedirectsStayAtTheirOrigin sends a body and a header, and follows each status of a redirect.
func TestRedirectsStayAtTheirOrigin(t *testing.T) {
	stray := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stray++ }))
	defer other.Close()
	sameName := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, c := range []struct {
			to      []string // where one hop leads after the other
			want    string
			isStray bool
		}{
			{[]string{other.URL + "/x?key=CANARY"}, "redirects to " + other.URL + "/x, which is sent nothing: name that address as url, if it is right", true},
			{[]string{sameName}, "redirects to " + sameName + ", which is sent nothing", true},
			{[]string{"/near", other.URL}, "/near redirects to " + other.URL, true},
			{[]string{"/near"}, "", false},
			{[]string{"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10"}, "without end", false},
		} {
			hops := c.to
			home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if len(hops) == 0 {
					return
				}
				w.Header().Set("Location", hops[0])
				hops = hops[1:]
				w.WriteHeader(status)
			}))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, home.URL, strings.NewReader("question"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Key", "secret")
			transport := NewTransport(HTTP2Limits())
			resp, err := New(transport, "url").Do(req)
			if err == nil {
				resp.Body.Close()
			}
			transport.CloseIdleConnections()
			home.Close()
			var strayed *StrayError
			isStray := errors.As(err, &strayed)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) || isStray != c.isStray || isStray && strings.Contains(strayed.Error(), "CANARY") {
				t.Errorf("%d to %q: got %v, want %q", status, c.to, err, c.want)
			}
		}
	}
	if stray > 0 {
		t.Errorf("another origin got %d requests", stray)
	}
}

func TestIsSameOrigin(t *testing.T) {
	for to, want := range map[string]bool{
		"http://host:1/x": true, "http://HOST:1": true, "https://host:1": true, "http://host": false, "http://host:2": false,
		"http://user@host:1": true, "http://host:1.evil.example": false, "ftp://host:1": false,
	} {
		home, _ := url.Parse("http://host:1/v1")
		at, err := url.Parse(to)
		if err == nil && IsSameOrigin(home, at) != want {
			t.Errorf("%s: %t", to, !want)
		}
	}
	home, _ := url.Parse("https://host")
	if at, _ := url.Parse("http://host"); IsSameOrigin(home, at) {
		t.Error("without TLS is another origin")
	}
}
