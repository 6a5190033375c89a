package sse_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/massgen/massgen/internal/system/sse"
)

// conformance has the cases of the web platform's tests ("eventsource", format-*) that are about the
// text of a stream: the stream, and "NAME/ID: DATA" of each event.
var conformance = map[string]struct {
	stream string
	want   []string
}{
	"bom":                          {"\ufeffdata:1\n\n\ufeffdata:2\n\ndata:3\n\n", []string{"/: 1", "/: 3"}},
	"bom twice":                    {"\ufeff\ufeffdata:1\n\ndata:2\n\ndata:3\n\n", []string{"/: 2", "/: 3"}},
	"comments":                     {"data:1\n:\x00\n:\r\ndata:2\n:" + strings.Repeat("x", 2000) + "\rdata:3\n:data:fail\r:" + strings.Repeat("x", 2000) + "\ndata:4\n\n", []string{"/: 1\n2\n3\n4"}},
	"data before final empty line": {"retry:1000\ndata:test1\n\nid:test\ndata:test2", []string{"/: test1"}},
	"field data":                   {"data:\n\ndata\ndata\n\ndata:test\n\n", []string{"/: ", "/: \n", "/: test"}},
	"field event":                  {"event:test\ndata:x\n\ndata:x\n\n", []string{"test/: x", "/: x"}},
	"field event empty":            {"event: \ndata:data\n\n", []string{"/: data"}},
	"field event after the data":   {"data:x\nevent:test\n\ndata:y\n\n", []string{"test/: x", "/: y"}},
	"field event without data":     {"event:test\n\ndata:x\n\n", []string{"/: x"}},
	"field id":                     {"id: …\ndata:1\n\ndata:2\n\n", []string{"/…: 1", "/…: 2"}},
	"field id without colon":       {"id: …\ndata:1\n\nid\ndata:2\n\n", []string{"/…: 1", "/: 2"}},
	"field id with nul":            {"id:x\ndata:1\n\nid: a\x00b\ndata:2\n\n", []string{"/x: 1", "/x: 2"}},
	"field parsing":                {"data:\x00\ndata:  2\rData:1\ndata\x00:2\ndata:1\r\x00data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", []string{"/: \x00\n 2\n1\n3\n\n4"}},
	"field retry":                  {"retry:3000\nretry:03000x\nretry\ndata:x\n\n", []string{"/: x"}},
	"field unknown":                {"data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n", []string{"/: test\n\ntest"}},
	"leading space":                {"data:\ttest\rdata: \ndata:test\n\n", []string{"/: \ttest\n\ntest"}},
	"newlines":                     {"data:test\r\ndata\ndata:test\r\n\r", []string{"/: test\n\ntest"}},
	"null character":               {"data:\x00\n\n\n\n", []string{"/: \x00"}},
	"utf-8":                        {"data:ok…\n\n", []string{"/: ok…"}},
	"CR alone":                     {"data:1\r\rdata:2\r\r", []string{"/: 1", "/: 2"}},
}

// TestReaderConforms plays each case whole and byte by byte.
func TestReaderConforms(t *testing.T) {
	for name, c := range conformance {
		for _, source := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
			if got := read(t, sse.NewReader(bufio.NewReader(source))); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// TestReaderForgives checks what a Reader takes of services that leave out the blank lines.
func TestReaderForgives(t *testing.T) {
	for stream, want := range map[string][]string{
		"data: {\"a\":1}\ndata: {\"a\":2}\n\n":                        {`/: {"a":1}`, `/: {"a":2}`},
		"event: x\ndata: {\"a\":1}\nevent: y\ndata: {\"a\":2}\n":      {`x/: {"a":1}`, `y/: {"a":2}`},
		"data: {\"a\":\ndata: 1}\n\ndata: {\"a\":2}":                  {"/: {\"a\":\n1}", `/: {"a":2}`},
		"data: {\"a\":1}\n\ndata: {\"a\":":                            {`/: {"a":1}`},
		"data: {\"a\":1}\ndata: [DONE]":                               {`/: {"a":1}`, "/: [DONE]"},
		"data: {\"a\":1}\nevent: error\n\ndata: {\"a\":2}\n\n":        {`error/: {"a":1}`, `/: {"a":2}`},
		"data: [DONE]\ndata: late\n\n":                                {"/: [DONE]", "/: late"},
		"data: {\"a\":1}\r\rdata: {\"a\":2}\r: comment\r\ndata: {}\n": {`/: {"a":1}`, `/: {"a":2}`, "/: {}"},
	} {
		reader := sse.NewReader(bufio.NewReader(strings.NewReader(stream)))
		reader.IsWhole = func(data []byte) bool { return json.Valid(data) || string(data) == "[DONE]" }
		reader.Last = "[DONE]"
		if got := read(t, reader); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", stream, got, want)
		}
	}
}

// TestLastEventDoesNotWait checks that the last event, and each line that a CR ends, need no byte more.
func TestLastEventDoesNotWait(t *testing.T) {
	source, feed := io.Pipe()
	defer source.Close()
	reader := sse.NewReader(bufio.NewReader(source))
	reader.Last = "[DONE]"
	for _, c := range [][2]string{{"data: 1\r\r", "1"}, {"\ndata: [DONE]\n", "[DONE]"}} {
		go func() { _, _ = io.WriteString(feed, c[0]) }()
		if ev, err := reader.Next(); err != nil || string(ev.Data) != c[1] {
			t.Errorf("%q: %q, %v", c[0], ev.Data, err)
		}
	}
}

// TestOtherLinesMayEndTheStream checks that the error of Other is Next's.
func TestOtherLinesMayEndTheStream(t *testing.T) {
	stop := errors.New("stop")
	reader := sse.NewReader(bufio.NewReader(strings.NewReader("data: 1\nupstream failed\n\n")))
	reader.Other = func(line []byte) error {
		if string(line) != "upstream failed" {
			t.Errorf("other line %q", line)
		}
		return stop
	}
	if _, err := reader.Next(); !errors.Is(err, stop) {
		t.Errorf("the stream ends with %v", err)
	}
}

func read(t *testing.T, reader *sse.Reader) (got []string) {
	t.Helper()
	for {
		ev, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s/%s: %s", ev.Name, ev.ID, ev.Data))
	}
}
