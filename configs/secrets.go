package configs

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const mask = "***"

// shortestSecret keeps words such as the "none" that local servers take as a key
// from being masked wherever they stand.
const shortestSecret = 8

// Secrets are texts that must be neither shown nor written. The zero value has
// none. It is safe for concurrent use.
type Secrets struct {
	mu sync.RWMutex
	// forms are the ways in which the texts may be written, longest first.
	forms []string
}

// placeholders are what people give as a key where none is needed. They are words
// of answers, and no secrets.
var placeholders = regexp.MustCompile(`(?i)^(lm[-_ ]?studio|ollama|llama[-_.]?cpp|vllm|sglang|localhost|local|none|null|empty|no[-_ ]?key|` +
	`not[-_ ]?(needed|required|used|set|a[-_ ]?(real[-_ ]?)?key)|(sk-)?no[-_ ]?key[-_ ](required|needed)|` +
	`dummy([-_ ]?(api)?[-_ ]?key)?|fake([-_ ]?(api)?[-_ ]?key)?|placeholder|anything|whatever|changeme|unused|test[-_ ]?key)$`)

// Add adds texts. Those of fewer than eight bytes are left out, and so are
// placeholders such as lm-studio, which stand where no key is needed.
func (s *Secrets) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if len(text) >= shortestSecret && !placeholders.MatchString(text) {
			s.forms = append(s.forms, formsOf(text)...)
		}
	}
	slices.SortFunc(s.forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	s.forms = slices.Compact(s.forms)
}

// AddURL adds the password of an address, or the name that stands there without
// one, and the values in its query, except that of a version.
func (s *Secrets) AddURL(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if u.User != nil {
		password, has := u.User.Password()
		if !has {
			password = u.User.Username()
		}
		written := u.User.String()
		s.Add(password, written[strings.Index(written, ":")+1:])
	}
	for name, values := range u.Query() {
		if strings.Contains(strings.ToLower(name), "version") {
			continue
		}
		for _, value := range values {
			s.Add(value, url.QueryEscape(value))
		}
	}
}

// Redact masks the secrets in a text, in JSON, and in JSON within JSON. It leaves
// every other byte as it is. A secret that comes in pieces is not found.
func (s *Secrets) Redact(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, mask)
	}
	return text
}

// formsOf returns a text as it is and as it stands in a string of JSON, which may
// itself stand in one: so it is when a request is written down.
func formsOf(text string) []string {
	forms := []string{text}
	for range 2 {
		for _, form := range forms {
			forms = append(forms, inJSON(form, false), inJSON(form, true))
		}
	}
	return forms
}

func inJSON(text string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(text); err != nil {
		return text // a string always has a form in JSON
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|pwd|auth|credential|cookie`)

// looksSecret says whether the value of a variable, header or setting of this
// name must not be shown.
func looksSecret(name string) bool { return secretName.MatchString(name) }

// addHeader adds the value of a header, and what follows the scheme in a value
// such as "Bearer KEY".
func (s *Secrets) addHeader(value string) {
	_, credential, _ := strings.Cut(value, " ")
	s.Add(value, credential)
}
