package backendtest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/backends"
)

// Canned is a transport that answers every request with the same response, without
// a server, so that the pieces in which the body comes are the test's to choose.
type Canned struct {
	Status int
	Header http.Header
	Body   func() io.Reader
}

// RoundTrip answers a request.
func (c Canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.Status,
		Status:     http.StatusText(c.Status),
		Header:     c.Header,
		Body:       io.NopCloser(c.Body()),
		Request:    req,
	}, nil
}

// NewBackend makes an adapter, with the provider name "test", over a transport.
type NewBackend func(t testing.TB, transport http.RoundTripper) backends.Backend

// RunStreams plays the streams in the files of dir, which are scripts of package
// datadriven, and compares what they yield. "stream" answers with status 200 and its
// input; "crlf" ends its lines with CR LF, "open" leaves away the last newline,
// "comments" puts that many keep-alives between events, and "bytes" takes \xNN for
// the byte, which need not be valid UTF-8, and "encoding" compresses it. "status" answers with a status and
// headers. Each stream is played whole and byte by byte: how the network cuts it must
// not matter.
func RunStreams(t *testing.T, dir string, newBackend NewBackend) {
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			canned := Canned{Status: http.StatusOK, Header: http.Header{}}
			switch d.Cmd {
			case "stream":
			case "status":
				scanStatus(t, d, &canned)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return playTwice(t, newBackend, canned, encoded(t, d, &canned, []byte(streamBody(t, d))))
		})
	})
}

func scanStatus(t *testing.T, d *datadriven.TestData, canned *Canned) {
	d.ScanArgs(t, "code", &canned.Status)
	for _, name := range []string{"retry-after", "retry-after-ms", "date"} {
		if d.HasArg(name) {
			var value string
			d.ScanArgs(t, name, &value)
			canned.Header.Set(name, strings.ReplaceAll(value, "_", " "))
		}
	}
}

func streamBody(t *testing.T, d *datadriven.TestData) string {
	body := d.Input + "\n"
	if d.HasArg("comments") {
		var n int
		d.ScanArgs(t, "comments", &n)
		body = strings.ReplaceAll(body, "\n\n", "\n"+strings.Repeat(": keep-alive\n\n", n))
	}
	if d.HasArg("bytes") {
		body = regexp.MustCompile(`\\x[0-9a-f]{2}`).ReplaceAllStringFunc(body, unescaped)
	}
	if d.HasArg("crlf") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	if d.HasArg("open") {
		body = strings.TrimSuffix(body, "\n")
	}
	return body
}

// encoded compresses a body, if "encoding" is deflate, bare (deflate without its header) or gzip, and
// names the encoding in a header.
func encoded(t *testing.T, d *datadriven.TestData, canned *Canned, body []byte) []byte {
	if !d.HasArg("encoding") {
		return body
	}
	var name string
	d.ScanArgs(t, "encoding", &name)
	canned.Header.Set("Content-Encoding", strings.Replace(name, "bare", "deflate", 1))
	var out bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "deflate":
		w = zlib.NewWriter(&out)
	case "bare":
		w, _ = flate.NewWriter(&out, flate.DefaultCompression)
	case "gzip":
		w = gzip.NewWriter(&out)
	default:
		return body
	}
	_, err := w.Write(body)
	if err := errors.Join(err, w.Close()); err != nil {
		d.Fatalf(t, "compress: %v", err)
	}
	return out.Bytes()
}

// unescaped is the byte of an escape \xNN.
func unescaped(escape string) string {
	b, err := strconv.ParseUint(escape[2:], 16, 8)
	if err != nil {
		return escape
	}
	return string([]byte{byte(b)})
}

// CheckBody is for fuzzing: with status 200 and any body a call has to end, either
// with one finish or with one error, whatever the pieces in which the body comes.
func CheckBody(t testing.TB, body []byte, newBackend NewBackend) {
	out := playTwice(t, newBackend, Canned{Status: http.StatusOK}, body)
	if !strings.Contains(out, "error kind=") && !strings.Contains(out, "Finish {") {
		t.Errorf("the call did not end: %s", out)
	}
}

func playTwice(t testing.TB, newBackend NewBackend, canned Canned, body []byte) string {
	canned.Body = func() io.Reader { return bytes.NewReader(body) }
	whole := play(t, newBackend(t, canned))
	canned.Body = func() io.Reader { return iotest.OneByteReader(bytes.NewReader(body)) }
	if bytewise := play(t, newBackend(t, canned)); bytewise != whole {
		t.Fatalf("byte by byte the stream yields:\n%sand whole:\n%s", bytewise, whole)
	}
	return whole
}

// play runs a call and writes down what it yields.
func play(t testing.TB, backend backends.Backend) string {
	req := backends.Request{Key: ask().Key, Model: "m", Messages: []backends.Message{backends.User("go")}}
	var out strings.Builder
	finishes := 0
	for ev, err := range backend.Stream(t.Context(), req) {
		if err != nil {
			describeError(&out, err)
			continue
		}
		switch ev.(type) {
		case backends.Finish:
			finishes++
		case backends.ToolCallDelta:
			continue // how a service cuts the arguments must not matter
		}
		if opaque, ok := ev.(backends.Opaque); ok {
			fmt.Fprintf(&out, "Opaque %s %s %s\n", opaque.Provider, opaque.Model, opaque.Data)
			continue
		}
		line := fmt.Sprintf("%s %+v\n", strings.TrimPrefix(fmt.Sprintf("%T", ev), "backends."), ev)
		// Prices are not the adapters' affair, and most usages have none of the rest.
		rare := strings.NewReplacer(" CostUSD:<nil>", "", " ReasoningTokens:0", "", " CacheHourTokens:0", "", " WebSearches:0 CodeRuns:0", "")
		out.WriteString(rare.Replace(line))
	}
	if failed := strings.Contains(out.String(), "error "); !failed && finishes != 1 {
		t.Errorf("%d finishes in:\n%s", finishes, out.String())
	}
	return out.String()
}

func describeError(out *strings.Builder, err error) {
	var e *backends.Error
	if !errors.As(err, &e) {
		fmt.Fprintf(out, "error that is no *backends.Error: %v\n", err)
		return
	}
	fmt.Fprintf(out, "error kind=%s begun=%t", e.Kind, e.Begun)
	if e.RetryAfter != 0 {
		fmt.Fprintf(out, " retry-after=%s", e.RetryAfter)
	}
	fmt.Fprintf(out, "\n%s\n", e)
}
