package wire

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// Shared is what the adapters of one account have in common: their connections, and what was
// encoded last, since all agents of a round are shown the same answers and offered the same
// tools, whatever their models. It is safe for concurrent use.
type Shared struct {
	transport http.RoundTripper
	texts     lastText
	tools     lastTools
}

// NewShared returns a Shared for adapters with these time limits, which are as in Config.
func NewShared(firstByte, idle time.Duration) *Shared {
	return &Shared{transport: newHTTPTransport(HTTP2Limits(firstByte, idle))}
}

// EncodeText returns the JSON of what form makes of a text, unless kind and text are the last
// ones.
func (s *Shared) EncodeText(kind, text string, form func() (any, error)) ([]byte, error) {
	return s.texts.encode(kind, text, form)
}

// EncodeTools returns the JSON of what form makes of tools, unless kind and tools are the last
// ones. The caller may use the list again for others.
func (s *Shared) EncodeTools(kind string, tools []backends.Tool, form func() (any, error)) ([]byte, error) {
	return s.tools.encode(kind, tools, form)
}

// last is an encoding, nil before the first, and the kind of its form.
type last struct {
	mu      sync.Mutex
	kind    string
	encoded []byte
}

// encode returns the last encoding if it is of the same kind and isSame accepts it. Otherwise it encodes what
// form makes, and calls keep.
func (l *last) encode(kind string, isSame func() bool, form func() (any, error), keep func()) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.encoded != nil && l.kind == kind && isSame() {
		return l.encoded, nil
	}
	value, err := form()
	if err != nil {
		return nil, err
	}
	encoded, err := plain.JSON(value)
	if err == nil {
		l.kind, l.encoded = kind, encoded
		keep()
	}
	return encoded, err
}

type lastText struct {
	last
	text string
}

func (l *lastText) encode(kind, text string, form func() (any, error)) ([]byte, error) {
	return l.last.encode(kind, func() bool { return l.text == text }, form, func() { l.text = text })
}

type lastTools struct {
	last
	tools []backends.Tool
}

func (l *lastTools) encode(kind string, tools []backends.Tool, form func() (any, error)) ([]byte, error) {
	isSame := func() bool {
		return slices.EqualFunc(l.tools, tools, func(a, b backends.Tool) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
		})
	}
	return l.last.encode(kind, isSame, form, func() {
		l.tools = slices.Clone(tools)
		for i, t := range l.tools {
			l.tools[i].Schema = bytes.Clone(t.Schema)
		}
	})
}
