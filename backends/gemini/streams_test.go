package gemini_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/gemini"
)

// cannedTransport answers every request with the same response, without a
// server, so that the pieces in which the body comes are the test's to choose.
type cannedTransport struct {
	status int
	header http.Header
	body   func() io.Reader
}

func (c cannedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status,
		Status:     http.StatusText(c.status),
		Header:     c.header,
		Body:       io.NopCloser(c.body()),
		Request:    req,
	}, nil
}

// play runs a call whose answer is stream, and writes down what it yields.
func play(t testing.TB, transport cannedTransport) string {
	backend := newBackend(t, gemini.Config{Provider: "test", Transport: transport})
	req := backends.Request{Key: backends.Key{Turn: 1, Agent: "a", Round: 1, Purpose: "step"}, Model: "m"}
	var out strings.Builder
	finishes := 0
	for ev, err := range backend.Stream(t.Context(), req) {
		if err != nil {
			writeError(&out, err)
			continue
		}
		writeEvent(&out, ev)
		if _, ok := ev.(backends.Finish); ok {
			finishes++
		}
	}
	if failed := strings.Contains(out.String(), "error "); !failed && finishes != 1 {
		t.Errorf("%d finishes in:\n%s", finishes, out.String())
	}
	return out.String()
}

func writeEvent(out io.Writer, ev backends.Event) {
	if o, ok := ev.(backends.Opaque); ok {
		fmt.Fprintf(out, "Opaque %s %s %s\n", o.Provider, o.Model, o.Data)
		return
	}
	fmt.Fprintf(out, "%s %+v\n", strings.TrimPrefix(fmt.Sprintf("%T", ev), "backends."), ev)
}

func writeError(out io.Writer, err error) {
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

// TestStreams plays the streams of testdata/streams. "stream" answers with status
// 200 and its input; "crlf" ends its lines with CR LF, and "open" leaves away the
// last newline. "status" answers with a status. Each stream is played whole and
// byte by byte: how the network cuts it must not matter.
func TestStreams(t *testing.T) {
	datadriven.Walk(t, "testdata/streams", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			transport := cannedTransport{status: http.StatusOK, header: http.Header{}}
			body := d.Input + "\n"
			switch d.Cmd {
			case "stream":
			case "status":
				d.ScanArgs(t, "code", &transport.status)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if d.HasArg("crlf") {
				body = strings.ReplaceAll(body, "\n", "\r\n")
			}
			if d.HasArg("open") {
				body = strings.TrimSuffix(body, "\n")
			}
			transport.body = func() io.Reader { return strings.NewReader(body) }
			whole := play(t, transport)
			transport.body = func() io.Reader { return iotest.OneByteReader(strings.NewReader(body)) }
			if bytewise := play(t, transport); bytewise != whole {
				d.Fatalf(t, "byte by byte the stream yields:\n%sand whole:\n%s", bytewise, whole)
			}
			return whole
		})
	})
}

// FuzzStream checks that no body makes the adapter panic or hang, and that a call
// ends either with one finish or with one error, whatever the pieces.
func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]},\"finishReason\":\"STOP\"}]}\n\n"))
	f.Add([]byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"x\",\"args\":{\"b\":1}},\"thoughtSignature\":\"AA==\"}]}}]}\r\n\r\n"))
	f.Add([]byte("data: {\"promptFeedback\":{\"blockReason\":\"OTHER\"}}"))
	f.Add([]byte("{\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}]}"))
	f.Add([]byte("<html><script>x</script>page"))
	f.Fuzz(func(t *testing.T, body []byte) {
		whole := play(t, cannedTransport{status: 200, body: func() io.Reader { return bytes.NewReader(body) }})
		bytewise := play(t, cannedTransport{status: 200, body: func() io.Reader { return iotest.OneByteReader(bytes.NewReader(body)) }})
		if whole != bytewise {
			t.Errorf("whole:\n%s\nbyte by byte:\n%s", whole, bytewise)
		}
		if strings.Count(whole, "error kind=")+strings.Count(whole, "Finish {") < 1 {
			t.Errorf("the call did not end: %s", whole)
		}
	})
}
