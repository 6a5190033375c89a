package wire

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// redactor takes secrets out of texts.
type redactor struct{ secrets []string }

// newRedactor knows the key, the password of a base URL as written, as decoded and
// as it is sent, and the values of its query.
func newRedactor(key string, base *url.URL, query url.Values) redactor {
	secrets := []string{key}
	if password, ok := base.User.Password(); ok {
		_, written, _ := strings.Cut(base.User.String(), ":")
		secrets = append(secrets, basicCredentials(base.User.Username(), password), password, written)
	}
	for name, values := range query {
		if name != "api-version" {
			secrets = append(secrets, values...)
		}
	}
	var r redactor
	for _, s := range secrets {
		if s != "" {
			r.secrets = append(r.secrets, s)
		}
	}
	return r
}

// basicCredentials is what stands in a header of basic authorization (RFC 7617),
// without the padding: an echo may leave that away.
func basicCredentials(user, password string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(user + ":" + password))
}

// isSecretName says whether a header by its name holds a secret.
func isSecretName(header string) bool {
	return regexp.MustCompile(`(?i)auth|key|token|secret|cookie`).MatchString(header)
}

// dropSecrets removes the headers that are secret. net/http knows of the common
// ones on a redirect to another host, not of those in which services take a key.
func dropSecrets(h http.Header) {
	for name := range h {
		if isSecretName(name) {
			delete(h, name)
		}
	}
}

// and returns a redactor that also knows the values of headers that by their
// names are secret.
func (r redactor) and(headers map[string]string) redactor {
	secrets := slices.Clone(r.secrets)
	for name, value := range headers {
		if value == "" || !isSecretName(name) {
			continue
		}
		secrets = append(secrets, value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // a scheme before them
			secrets = append(secrets, credentials)
		}
	}
	return redactor{secrets}
}

// clean takes the secrets out of an error's message, and its cause away if that
// holds any.
func (r redactor) clean(e *backends.Error) *backends.Error {
	e.Message = r.text(e.Message)
	if e.Err != nil && r.text(e.Err.Error()) != e.Err.Error() {
		e.Err = nil
	}
	return e
}

// A URL with a password may also be that of a proxy, which nobody told us.
const urlPassword = `(://[^/@\s:]*):[^/@\s]*@`

func (r redactor) text(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return regexp.MustCompile(urlPassword).ReplaceAllString(text, "$1:***@")
}
