package configs

import (
	"fmt"
	"strings"
	"sync"

	"github.com/massgen/massgen/internal/system/secrets"
)

// Secrets are texts that must be neither shown nor written. The zero value has
// none. It is safe for concurrent use.
type Secrets struct {
	mu     sync.RWMutex
	finder secrets.Finder
	warned map[string]bool // the short secrets that were warned of
}

// Add adds texts. It leaves out placeholders such as lm-studio, which stand where no key is
// needed.
func (s *Secrets) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finder.Add(texts...)
}

// WarnShort returns a warning if one of the texts is a secret that is too short to be masked
// wherever it stands; place says where they come from. It returns "" if there is none, or
// each was warned of before.
func (s *Secrets) WarnShort(place string, texts ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	short := false
	for _, text := range texts {
		if text = strings.TrimSpace(text); !secrets.IsShort(text) || s.warned[text] {
			continue
		}
		if s.warned == nil {
			s.warned = map[string]bool{}
		}
		s.warned[text], short = true, true
	}
	if !short {
		return ""
	}
	return place + " is shorter than 8 characters, too short to hide: it is masked only where it stands as a credential, such as behind api_key:"
}

// AddURL adds the password of an address, or the name that stands there without
// one, and the values in its query, except that of a version. An address that is
// wrong is read as far as it goes.
func (s *Secrets) AddURL(address string) { s.Add(secrets.InURL(address)...) }

// WarnShortInURL is WarnShort for the password and the keys in an address.
func (s *Secrets) WarnShortInURL(place, address string) string {
	return s.WarnShort("a password or key in "+place, secrets.KeysInURL(address)...)
}

// Redact masks the secrets in a text: as they are, with the escapes of JSON, URLs or HTML, in base64
// and in hexadecimal digits. It masks a secret of fewer than 8 bytes only where it stands as a
// credential. It leaves every other byte as it is. It does not find a part of a secret.
func (s *Secrets) Redact(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.finder.Mask(text)
}

// Stream returns the masker of a text that comes in pieces, which masks as Redact does.
func (s *Secrets) Stream() *secrets.Stream {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.finder.Stream()
}

// Format writes a mask, whatever the verb.
func (s *Secrets) Format(f fmt.State, _ rune) { tell(f, secrets.Mask) }
