package wire

import (
	"regexp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/secrets"
)

// redactor takes secrets out of texts. The zero value knows of no secret but the
// passwords in URLs.
type redactor struct{ finder secrets.Finder }

// newRedactor knows the key, and what is secret in the base URL.
func newRedactor(key, baseURL string) redactor {
	var r redactor
	r.finder.Add(append(secrets.InURL(baseURL), key)...)
	return r
}

// and returns a redactor that also knows what is secret in headers.
func (r redactor) and(headers map[string]string) redactor {
	for name, value := range headers {
		r.finder.Add(secrets.InHeader(name, value)...)
	}
	return r
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

// A URL with a password may also be a proxy's, which no setting names.
const urlPassword = `(://[^/@\s:]*):[^/@\s]*@`

func (r redactor) text(text string) string {
	return regexp.MustCompile(urlPassword).ReplaceAllString(r.finder.Mask(text), "$1:***@")
}
