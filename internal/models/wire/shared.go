package wire

import (
	"net/http"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/httpclient"
	"github.com/massgen/massgen/internal/system/plain"
)

// Shared is what the adapters of one account share: their connections, and the last text that one
// of them encoded. All agents of a round are shown the same answers, so their requests share these
// bytes. It is safe for concurrent use.
type Shared struct {
	transport http.RoundTripper

	mu         sync.Mutex
	kind, text string
	encoded    []byte // of text, nil before the first
}

// NewShared returns a Shared for adapters with these time limits, which are as in Config.
func NewShared(firstByte, idle time.Duration) *Shared {
	return &Shared{transport: newHTTPTransport(httpclient.HTTP2Limits(firstByte, idle))}
}

// EncodeText returns the JSON of what form makes of a text. It calls form unless kind and text are
// those of the last call.
func (s *Shared) EncodeText(kind, text string, form func() (any, error)) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.encoded != nil && s.kind == kind && s.text == text {
		return s.encoded, nil
	}
	value, err := form()
	if err != nil {
		return nil, err
	}
	encoded, err := plain.JSON(value)
	if err != nil {
		return nil, err
	}
	s.kind, s.text, s.encoded = kind, text, encoded
	return encoded, nil
}
