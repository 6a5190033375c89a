package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// edgeBytes is how much of both ends is kept of a line that is too long: enough to find a message's id.
const edgeBytes = 256

// mostLine is the length of the longest line that is skipped. A longer line ends the session.
const mostLine = 256 << 20

var errEndlessLine = fmt.Errorf("a line of more than %d MB", mostLine>>20)

// lineReader reads lines in bounded memory.
type lineReader struct {
	from *bufio.Reader
	most int // bytes that are kept of a line
}

func newLineReader(from io.Reader, most int) *lineReader {
	return &lineReader{bufio.NewReaderSize(from, 64<<10), most}
}

// line is one line without its end.
type line struct {
	// text is the whole line, or the beginning and the end of a line that is too long.
	text []byte
	cut  bool
	size int // of the whole line, in bytes
}

// next reads a line. The last may lack its end.
func (r *lineReader) next() (line, error) {
	var head, tail []byte
	size := 0
	for {
		piece, err := r.from.ReadSlice('\n')
		size += len(piece)
		head = append(head, piece[:min(len(piece), r.most-len(head))]...)
		tail = lastBytes(append(tail, lastBytes(piece)...))
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && size > mostLine:
			return line{}, errEndlessLine
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && size == 0:
			return line{}, err
		case size > r.most:
			return line{text: append(head[:min(len(head), edgeBytes)], tail...), cut: true, size: size}, nil
		default:
			return line{text: bytes.TrimRight(head, "\r\n"), size: size}, nil
		}
	}
}

func lastBytes(b []byte) []byte { return b[max(0, len(b)-edgeBytes):] }
