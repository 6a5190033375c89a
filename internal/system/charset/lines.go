package charset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/system/plain"
)

// Reader decodes a stream that may begin with a byte order mark, which it leaves out. It reads UTF-16
// with a mark as UTF-8, and other bytes as they are. It waits for no byte that the caller does not ask for.
type Reader struct {
	in    *bufio.Reader
	begun bool
	order binary.ByteOrder // nil for a stream that passes as it is
	held  uint16           // a unit that was read too early, 0 for none
	rest  []byte           // of the character that was decoded last
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReader(r)} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if !r.begun {
		r.begun = true
		r.begin()
	}
	if r.order == nil {
		return r.in.Read(p)
	}
	if len(r.rest) == 0 {
		c, err := r.next()
		if err != nil {
			return 0, err
		}
		r.rest = utf8.AppendRune(nil, c)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// begin reads the byte order mark, if there is one. It asks for a further byte only where those before
// may begin a mark.
func (r *Reader) begin() {
	marks := []struct {
		text  string
		order binary.ByteOrder
	}{{plain.ByteOrderMark, nil}, {"\xff\xfe", binary.LittleEndian}, {"\xfe\xff", binary.BigEndian}}
	for _, m := range marks {
		for n := 1; ; n++ {
			head, err := r.in.Peek(n)
			if err != nil || string(head) != m.text[:n] {
				break
			}
			if n == len(m.text) {
				_, _ = r.in.Discard(n) // it is buffered
				r.order = m.order
				return
			}
		}
	}
}

// next decodes a character of UTF-16. A half of a character, and a byte at the end, become U+FFFD.
func (r *Reader) next() (rune, error) {
	unit := r.held
	r.held = 0
	if unit == 0 {
		var err error
		if unit, err = r.unit(); err != nil {
			return 0, err
		}
	}
	if !utf16.IsSurrogate(rune(unit)) {
		return rune(unit), nil
	}
	second, err := r.unit()
	if err != nil {
		return utf8.RuneError, nil //nolint:nilerr // the next call meets the error again
	}
	c := utf16.DecodeRune(rune(unit), rune(second))
	if c == utf8.RuneError {
		r.held = second
	}
	return c, nil
}

func (r *Reader) unit() (uint16, error) {
	var pair [2]byte
	_, err := io.ReadFull(r.in, pair[:])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return uint16(utf8.RuneError), nil
	}
	return r.order.Uint16(pair[:]), err
}
