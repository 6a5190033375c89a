package configs

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/massgen/massgen/internal/secrets"
)

// shortestSecret keeps words such as the "none" that local servers take as a key
// from being masked wherever they stand.
const shortestSecret = 8

// Secrets are texts that must be neither shown nor written. The zero value has
// none. It is safe for concurrent use.
type Secrets struct {
	mu     sync.RWMutex
	finder secrets.Finder
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
			s.finder.Add(text)
		}
	}
}

// AddURL adds the password of an address, or the name that stands there without
// one, and the values in its query, except that of a version. An address that is
// wrong is read as far as it goes.
func (s *Secrets) AddURL(address string) { s.Add(secrets.InURL(address)...) }

// Redact masks the secrets in a text, in whatever spelling they stand there: in
// JSON, a URL, HTML, base64 or hexadecimal digits. It leaves every other byte as it
// is. A secret that comes in pieces is not found.
func (s *Secrets) Redact(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.finder.Mask(text)
}

// Format writes a mask, whatever the verb.
func (s *Secrets) Format(f fmt.State, _ rune) { tell(f, secrets.Mask) }
