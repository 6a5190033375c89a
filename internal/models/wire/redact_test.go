package wire

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
)

const hidden = "sk-hidden/key+0123456789"

// TestShortenedMessagesShowNoPartOfASecret has the secret stand where a message is cut.
func TestShortenedMessagesShowNoPartOfASecret(t *testing.T) {
	t.Parallel()
	for before := maxMessage - len(hidden) - 1; before <= maxMessage; before++ {
		text := strings.Repeat("x", before) + hidden + " and more"
		status := func(body string) error {
			return &statusError{status: http.StatusBadRequest, header: http.Header{}, body: []byte(body)}
		}
		for name, failure := range map[string]error{
			"text":           status(text),
			"page":           status("<p>" + text + "</p>"),
			"other JSON":     status(`{"message":["` + text + `"]}`),
			"no answer":      notAnAnswer([]byte(text)),
			"error":          errors.New(text),
			"error of a URL": &url.Error{Op: "Post", URL: "http://" + hidden, Err: errors.New(text)},
		} {
			e := &backends.Error{}
			describe(e, failure, newRedactor(hidden, ""))
			if strings.Contains(e.Message, "sk-") || !strings.Contains(e.Message, "xxx") {
				t.Fatalf("%s after %d letters shows %s", name, before, e.Message)
			}
		}
	}
}

// TestCredentialsOfAddresses: a lone user is a key, and is known as it is sent.
func TestCredentialsOfAddresses(t *testing.T) {
	for address, told := range map[string]string{
		"https://sk-hidden-key@host/v1":    base64.StdEncoding.EncodeToString([]byte("sk-hidden-key:")),
		"https://me:sk-hidden-key@host/v1": base64.StdEncoding.EncodeToString([]byte("me:sk-hidden-key")),
		"https://host/v1?key=sk-hidden%2F": url.QueryEscape("sk-hidden/"),
	} {
		r := newRedactor("", address)
		if got := r.text("told " + told); strings.TrimRight(got, "=") != "told ***" {
			t.Errorf("%s: %s", address, got)
		}
	}
	headers := map[string]string{"X-Custom": "0123456789abcdef", "X-Team": "research"}
	if got := (redactor{}).and(headers).text("0123456789abcdef of research"); got != "*** of research" {
		t.Errorf("got %s", got)
	}
}

// TestShortKeysGarbleNoMessage: a short key is masked only where it stands as a credential.
func TestShortKeysGarbleNoMessage(t *testing.T) {
	for _, key := range []string{"x", "exp", "none", "EOF"} {
		r := newRedactor(key, "")
		if got := r.text("unexpected EOF"); got != "unexpected EOF" {
			t.Errorf("the key %s makes it %q", key, got)
		}
	}
	if got := newRedactor("x", "").text("sent: Authorization: Bearer x"); got != "sent: Authorization: Bearer ***" {
		t.Errorf("a service shows the key: %s", got)
	}
}

// TestARequestThatCannotBeMade does not show its address, in which net/http leaves a
// lone user.
func TestARequestThatCannotBeMade(t *testing.T) {
	service, err := NewService(Config{Provider: "p", BaseURL: "http://host"})
	if err != nil {
		t.Fatal(err)
	}
	x := service.begin(t.Context(), nil)
	defer x.end()
	err = x.fail(&url.Error{Op: "Post", URL: "http://sk-hidden-key@host", Err: errors.New("no body")}, false)
	if err.Error() != "p: bad request: no body" {
		t.Errorf("got %v", err)
	}
}
