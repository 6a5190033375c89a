package wire

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestEvents checks what is read of the forms in which services write their events.
func TestEvents(t *testing.T) {
	for in, want := range map[string][]string{
		": x\r\n\r\nid: 1\r\ndata:{\"a\":1}\r\n\r\ndata: [DONE]\r\n\r\ndata: late\n": {`{"a":1}`, "[DONE]", "late"},
		"\ufeffdata: [1]":    {"[1]"},
		"{\"choices\":\n[]}": {"{\"choices\":\n[]}"},
	} {
		var got []string
		events := newEventReader(strings.NewReader(in), func([]byte) bool { return true })
		next, err := events.next()
		for ; err == nil; next, err = events.next() {
			got = append(got, string(next))
		}
		if !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
			t.Errorf("%q is read as %q (%v), want %q", in, got, err, want)
		}
	}
}
