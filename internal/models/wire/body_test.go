package wire

import (
	"bytes"
	"io"
	"testing"
)

// TestReadersFillBuffers: net/http writes to a connection what each Read returns. A small body is
// a bytes.Reader, which net/http sends together with the header.
func TestReadersFillBuffers(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, smallBody, smallBody + 1, 3*smallBody + 7} {
		var body Encoded
		for i := range size {
			body = append(body, []byte{byte('a' + i%26)}, nil)
		}
		r := body.reader()
		if _, isKnown := r.(*bytes.Reader); isKnown != (size <= smallBody) {
			t.Errorf("%d bytes are read by a %T", size, r)
		}
		var read []byte
		buffer := make([]byte, 1000)
		for {
			n, err := r.Read(buffer)
			read = append(read, buffer[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil || n < min(len(buffer), size) && len(read) < size {
				t.Fatalf("%d bytes: a read of %d bytes returned %d, error %v", size, len(buffer), n, err)
			}
		}
		if !bytes.Equal(read, body.Whole()) {
			t.Errorf("%d bytes were read as %d other ones", size, len(read))
		}
	}
}
