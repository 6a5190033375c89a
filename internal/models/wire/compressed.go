package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"slices"
	"strings"
)

// uncompressed returns a body without the encodings that its headers name. The HTTP client asks for
// gzip alone and takes that off itself, but proxies encode without being asked.
func uncompressed(body io.ReadCloser, headers []string) (io.ReadCloser, error) {
	encodings := strings.Split(strings.Join(headers, ","), ",")
	slices.Reverse(encodings) // the last was applied last
	for _, encoding := range encodings {
		switch name := strings.ToLower(strings.TrimSpace(encoding)); name {
		case "", "identity", "none", "utf-8", "aws-chunked":
		case "deflate":
			body = &compressedBody{body: body, open: openDeflate}
		case "gzip", "x-gzip":
			body = &compressedBody{body: body, open: func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) }}
		default:
			return nil, limitErrorf("the service answers in the encoding %s, which nobody asked for: gzip and deflate can be read", Shorten(name))
		}
	}
	return body, nil
}

// compressedBody is a body that is decompressed while it is read.
type compressedBody struct {
	body io.ReadCloser
	// open reads the header of the encoding, which may be the first that the service sends.
	open  func(*bufio.Reader) (io.Reader, error)
	plain io.Reader // nil before the first Read
}

// Read returns what has come, as soon as its sender has flushed it.
func (b *compressedBody) Read(p []byte) (int, error) {
	if b.plain == nil {
		source := bufio.NewReader(b.body)
		if _, err := source.Peek(1); err != nil {
			return 0, err // also an empty body, which has no header
		}
		plain, err := b.open(source)
		if err != nil {
			return 0, err
		}
		b.plain = plain
	}
	return b.plain.Read(p)
}

// Close closes the connection's body.
func (b *compressedBody) Close() error { return b.body.Close() }

// openDeflate reads zlib's format, which RFC 9110 calls deflate, and the bare format that some
// servers send.
func openDeflate(source *bufio.Reader) (io.Reader, error) {
	head, err := source.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(source)
	}
	return flate.NewReader(source), nil
}
