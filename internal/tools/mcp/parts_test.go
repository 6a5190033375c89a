package mcp

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestNames: whatever tools are called, models get names that providers take, no
// two alike, whatever the order.
func TestNames(t *testing.T) {
	t.Parallel()
	taken := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		server := rapid.StringMatching(`[a-zA-Z0-9_-]{1,40}`).Draw(t, "server")
		tools := rapid.SliceOfDistinct(rapid.OneOf(
			rapid.StringMatching(`[ab._ ]{1,3}`), rapid.StringMatching(`x{50,80}[a.]`), rapid.String(),
		), rapid.ID[string]).Draw(t, "tools")
		names := visibleNames(Prefix(server), tools)
		for _, name := range names {
			if !taken.MatchString(name) {
				t.Errorf("%q is no name", name)
			}
		}
		if distinct := slices.Compact(slices.Sorted(slices.Values(names))); len(distinct) != len(tools) {
			t.Errorf("%q are called %q", tools, names)
		}
		backwards := slices.Clone(tools)
		slices.Reverse(backwards)
		other := visibleNames(Prefix(server), backwards)
		slices.Reverse(other)
		if !slices.Equal(names, other) {
			t.Errorf("in another order %q are called %q, not %q", tools, other, names)
		}
	})
}

// TestLines: lines are those of the text, and one that is too long has its own
// beginning and end.
func TestLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most = 700
		var text []byte
		lengths := rapid.SliceOf(rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(most-5, most+5), rapid.IntRange(0, 200_000)))
		for i, n := range lengths.Draw(t, "lengths") {
			for j := range n {
				text = append(text, byte('a'+(i+j)%26))
			}
			text = append(text, '\n')
		}
		text = text[:max(0, len(text)-rapid.IntRange(0, 1).Draw(t, "without the last end"))]
		r := newLineReader(iotest.HalfReader(bytes.NewReader(text)), most)
		for want := range bytes.Lines(text) {
			l, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			if l.size != len(want) || l.cut != (len(want) > most) {
				t.Fatalf("a line of %d bytes has %d, cut: %v", len(want), l.size, l.cut)
			}
			if whole := bytes.TrimRight(want, "\n"); !l.cut && !bytes.Equal(l.text, whole) {
				t.Fatalf("%q was read as %q", whole, l.text)
			}
			if l.cut && (!bytes.HasPrefix(want, l.text[:edgeBytes]) || !bytes.HasSuffix(want, l.text[edgeBytes:]) || len(l.text) != 2*edgeBytes) {
				t.Fatalf("the edges of %d bytes are %q", len(want), l.text)
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last line: %v", err)
		}
	})
}

func TestEndlessLine(t *testing.T) {
	r := newLineReader(endless{}, 10)
	if _, err := r.next(); !errors.Is(err, errEndlessLine) {
		t.Errorf("a line without an end: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	p[0] = 'x'
	return len(p), nil
}

func TestRefused(t *testing.T) {
	for text, found := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"result":{"conte`:        true,
		` { "id" : 7 , "result":`:                         true,
		`tent":"x"}]},"jsonrpc":"2.0","id":7}`:            true,
		`tent":"x"}]},"id":7,"jsonrpc":"2.0"} `:           true,
		`tent":{"id":7}}`:                                 false,
		`{"jsonrpc":"2.0","method":"x","params":{"id":7,`: false,
		`{"jsonrpc":"2.0","id":"7","result":`:             false,
		`xxx`:                                             false,
	} {
		if _, ok := refused([]byte(text), ""); ok != found {
			t.Errorf("an id is found in %s: %v", text, ok)
		}
	}
}

// TestRestarts: the first restart is at once, those after it wait longer and longer
// from the one before, and there are only so many in a window.
func TestRestarts(t *testing.T) {
	var r restarts
	now := time.Unix(0, 0)
	first := now
	for i, want := range []time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
		wait, err := r.next(now)
		if err != nil || wait != want {
			t.Errorf("restart %d waits %s, not %s: %v", i+1, wait, want, err)
		}
		now = now.Add(wait)
	}
	if _, err := r.next(now); err == nil || !strings.Contains(err.Error(), "5 times in 10m0s") {
		t.Errorf("restart 6: %v", err)
	}
	wait, err := r.next(first.Add(RestartWindow))
	if err != nil || wait != 0 {
		t.Errorf("after the window a restart waits %s: %v", wait, err)
	}
	wait, err = r.next(first.Add(3 * RestartWindow))
	if err != nil || wait != 0 || r.wait != firstRestartWait {
		t.Errorf("after a quiet window a restart waits %s and then %s: %v", wait, r.wait, err)
	}
}

func TestRender(t *testing.T) {
	const object, large = `{ "b": "<x>", "a": 1 }`, `{"id":1234567890123456789,"price":1.50,"big":1e400}`
	many := "[ " + strings.Repeat("{},", mostValues) + "0 ]"
	text := func(s string) sdk.Content { return &sdk.TextContent{Text: s} }
	for name, test := range map[string]struct {
		result sdk.CallToolResult
		want   string
		failed bool
	}{
		"texts":      {sdk.CallToolResult{Content: []sdk.Content{text("one"), text(""), text("two")}}, "one\ntwo", false},
		"nothing":    {sdk.CallToolResult{}, noResult, false},
		"structured": {sdk.CallToolResult{StructuredContent: object}, `{"a":1,"b":"<x>"}`, false},
		"said twice": {sdk.CallToolResult{StructuredContent: object, Content: []sdk.Content{text("{ \"b\": \"<x>\", \"a\": 1 }")}},
			"{ \"b\": \"<x>\", \"a\": 1 }", false},
		"both": {sdk.CallToolResult{StructuredContent: object, Content: []sdk.Content{text("see")}},
			"see\n" + `{"a":1,"b":"<x>"}`, false},
		"numbers":     {sdk.CallToolResult{StructuredContent: large}, `{"big":1e400,"id":1234567890123456789,"price":1.50}`, false},
		"same number": {sdk.CallToolResult{StructuredContent: `[1, 0.5]`, Content: []sdk.Content{text("[1.0,5e-1]")}}, "[1.0,5e-1]", false},
		"other number": {sdk.CallToolResult{StructuredContent: `1234567890123456789`, Content: []sdk.Content{text("1234567890123456800")}},
			"1234567890123456800\n1234567890123456789", false},
		"many":      {sdk.CallToolResult{StructuredContent: many}, compact(many), false},
		"same many": {sdk.CallToolResult{StructuredContent: many, Content: []sdk.Content{text(many)}}, many, false},
		"image": {sdk.CallToolResult{Content: []sdk.Content{text("look"), &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 12)}}},
			"look\n[image, image/png, 12 bytes, not shown: it is not returned by a tool of an agent]", false},
		"audio": {sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{Data: make([]byte, 3)}}}, "[audio, 3 bytes, not shown]", false},
		"resource": {sdk.CallToolResult{Content: []sdk.Content{
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "inside"}}}}, "[resource file:///a]\ninside", false},
		"blob": {sdk.CallToolResult{Content: []sdk.Content{
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Blob: []byte("1234")}}}},
			"[resource file:///a, 4 bytes, not shown]", false},
		"link": {sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///a", Name: "a"}}},
			"[resource file:///a, not shown] a", false},
		"error":       {sdk.CallToolResult{IsError: true, Content: []sdk.Content{text("no")}}, "no", true},
		"empty error": {sdk.CallToolResult{IsError: true}, "the tool failed and does not say why", true},
	} {
		got, err := render(t.Context(), &test.result)
		if err != nil {
			got = err.Error()
		}
		if got != test.want || (err != nil) != test.failed {
			t.Errorf("%s: %.300q (%v), not %.300q", name, got, err, test.want)
		}
	}
}

// TestObjectSchema: a schema stays as the server wrote it, unless it cannot describe the arguments of a
// call.
func TestObjectSchema(t *testing.T) {
	const nothing = `{"type":"object","properties":{}}`
	for schema, want := range map[string]string{
		`{}`: `{}`,
		`{"type": "object","required":["<a>"], "a":1}`: `{"type": "object","required":["<a>"], "a":1}`,
		`{"type":["object"]}`:                          `{"type":["object"]}`,
		`{"type":"string"}`:                            "",
		`true`:                                         "",
		`null`:                                         nothing,
		`[]`:                                           nothing,
		``:                                             nothing,
		`{"properties":{"a":{"type":7}}}`:              `{"properties":{"a":{"type":7}}}`,
	} {
		got, err := objectSchema(&sdk.Tool{Meta: sdk.Meta{schemaKey: schema}})
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s became %s: %v", schema, got, err)
		}
	}
}

// TestRepaired: what costs one piece of a message does not cost the message.
func TestRepaired(t *testing.T) {
	for from, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"<a>"}]}}`: `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"<a>"}]}}`,
		"\uFEFF" + `{"id":1,"result":{}}`:                                              `{"id":1,"result":{}}`,
		`{"id":"07","result":{}}`:                                                      `{"id":7,"result":{}}`,
		`{"id":"0","error":{"code":1}}`:                                                `{"error":{"code":1},"id":0}`,
		`{"id":"7","method":"ping"}`:                                                   `{"id":"7","method":"ping"}`,
		`{"id":"q7","result":{}}`:                                                      `{"id":"q7","result":{}}`,
		"{\"id\":1,\"result\":{\"a\":\"x\x00y\x01z\"}}":                                `{"id":1,"result":{"a":"xy z"}}`,
		"{\x00\"\x00i\x00d\x00\"\x00:\x001\x00}\x00":                                   `{"id":1}`,
		"Listening\x00 on":                                                             "Listening\x00 on",
		`{"id":1,"result":{"content":[{"type":"smell","text":"rose"},null,{"type":"text","text":"fine"},{"type":"image","data":7}]}}`: `{"id":1,"result":{"content":[{"text":"[content of a kind that is not shown: smell]\nrose","type":"text"},` +
			`{"type":"text","text":"fine"},{"text":"[content of a kind that is not shown: image]","type":"text"}]}}`,
		`{"id":1,"result":{"content":"said"}}`:                                              `{"id":1,"result":{"content":[{"text":"said","type":"text"}]}}`,
		`{"id":1,"result":{"content":[{"type":"text","text":{"a": 1}}]}}`:                   `{"id":1,"result":{"content":[{"text":"{\"a\":1}","type":"text"}]}}`,
		`{"id":1,"result":{"content":[{"type":"text","text":{"id":1234567890123456789}}]}}`: `{"id":1,"result":{"content":[{"text":"{\"id\":1234567890123456789}","type":"text"}]}}`,
		`{"id":1,"result":{"content":[],"structuredContent":{"id":1234567890123456789}}}`:   `{"id":1,"result":{"content":[],"structuredContent":"{\"id\":1234567890123456789}"}}`,
		`{"id":1,"result":{"content":[],"structuredContent":null}}`:                         `{"id":1,"result":{"content":[],"structuredContent":null}}`,
		`{"id":1,"result":{"tools":[null,7,{"name":"a","description":5,"annotations":[],"inputSchema":{"b":1, "a":2}}]}}`: `{"id":1,"result":{"tools":[` +
			`{"_meta":{"massgen/inputSchema":"{\"b\":1, \"a\":2}"},"inputSchema":{"b":1,"a":2},"name":"a"}]}}`,
	} {
		if got := string(repaired([]byte(from))); got != want {
			t.Errorf("%q became\n%s, not\n%s", from, got, want)
		}
	}
}

// TestMessagesOfManyValues: an error of a few bytes stands in place of an answer of too many values, wherever they
// are. Structured content is not decoded, and may have more.
func TestMessagesOfManyValues(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("{},", mostValues) + "0]"
	refusal := `{"error":{"code":-31999,"message":"` + tooMany + `"},"id":7,"jsonrpc":"2.0"}`
	for from, want := range map[string]string{
		`{"id":7,"result":{"content":MANY}}`:                          refusal,
		`{"id":"7","result":{"tools":MANY}}`:                          refusal,
		`{"result":{"content":[],"_meta":{"a":MANY}},"id":7}`:         refusal,
		`{"id":7,"result":MANY}`:                                      refusal,
		`{"id":7,"error":{"code":1,"data":MANY}}`:                     refusal,
		`{"id":7,"result":{"structuredContent":MANY,"content":MANY}}`: refusal,
		`{"id":7,"method":"ping","params":MANY}`:                      `{"id":7,"jsonrpc":"2.0","method":"ping"}`,
		`{"method":"notifications/progress","params":{"a":MANY}}`:     `{"jsonrpc":"2.0","method":"notifications/progress"}`,
		`{"id":7,"result":{"structuredContent":MANY}}`:                `{"id":7,"result":{"structuredContent":"MANY"}}`,
	} {
		if got := strings.ReplaceAll(string(repaired([]byte(strings.ReplaceAll(from, "MANY", many)))), many, "MANY"); got != want {
			t.Errorf("%s became %d bytes, %.300s, not %s", from, len(got), got, want)
		}
	}
}

// TestToolsBeyondTheMost: no work is done for tools that are left out.
func TestToolsBeyondTheMost(t *testing.T) {
	t.Parallel()
	list := "[null," + strings.Repeat(`{"name":"a"},`, 10*mostTools) + "null]"
	kept, ok := repairedTools([]byte(list))
	if n := strings.Count(string(kept), "name"); !ok || n != mostTools+1 {
		t.Errorf("%d tools are kept, %v", n, ok)
	}
}

// TestEventBody: the messages of events are repaired, however they are cut into lines and reads.
func TestEventBody(t *testing.T) {
	long := "data: " + strings.Repeat("x", mostMessage) + "\n\n"
	from := "\uFEFFevent: endpoint\ndata: /messages?id=1\n\n" + "id: 5\nevent: message\ndata: {\"id\":\"1\",\r\ndata: \"result\":{}}\r\n\r\n" + long + "data: {\"id\":\"2\",\"result\":{}}\n\n: end"
	want := "event: endpoint\ndata: /messages?id=1\n\n" + "id: 5\nevent: message\ndata: {\"id\":1,\"result\":{}}\n\n" + long + "data: {\"id\":2,\"result\":{}}\n\n: end"
	got, err := io.ReadAll(newEventBody(io.NopCloser(iotest.HalfReader(strings.NewReader(from))), func([]byte) error { return nil }))
	if err != nil || string(got) != want {
		t.Errorf("%d bytes came, not %d: %v, %.300q", len(got), len(want), err, got)
	}
}

// TestPlainError: neither a key in an address nor the id of a session is told.
func TestPlainError(t *testing.T) {
	err := errors.New(`sending "tools/call": failed to reconnect (session ID: SECRET): connection failed after 5 attempts: ` +
		`Get "https://SECRET@example.com/mcp?key=SECRET": dial tcp 127.0.0.1:1: connection refused`)
	want := `failed to reconnect: connection failed after 5 attempts: Get "https://…": dial tcp 127.0.0.1:1: connection refused`
	if got := plainError(err); got != want {
		t.Errorf("it is told as %q", got)
	}
}
