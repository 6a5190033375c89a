package backendtest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/backends"
)

// Call is one request that a server received. It is safe for concurrent use;
// nobody changes it.
type Call struct {
	// Number counts the calls of a server, from 1, in their order of arrival.
	Number int
	// Body is the request body as received.
	Body   []byte
	Header http.Header

	decode func() backends.Request
}

// NewCall makes a Call from what a server of any protocol received. decode reads
// the body into the vocabulary of backends; it runs at most once, and only if
// somebody asks, so that a server in a benchmark does not pay for it.
func NewCall(number int, body []byte, header http.Header, decode func([]byte) backends.Request) Call {
	return Call{
		Number: number,
		Body:   body,
		Header: header,
		decode: sync.OnceValue(func() backends.Request { return decode(body) }),
	}
}

// Request returns what the body says: model, messages, tools and parameters.
// Its Key is empty, since that is never sent.
func (c Call) Request() backends.Request { return c.decode() }

// Model returns the model that was asked for.
func (c Call) Model() string { return c.decode().Model }

// Messages returns the messages, in order.
func (c Call) Messages() []backends.Message { return c.decode().Messages }

// System returns the text of the first system message, or "".
func (c Call) System() string {
	for _, m := range c.decode().Messages {
		if m.Role == backends.RoleSystem {
			return m.Text()
		}
	}
	return ""
}

// User returns the text of the last user message, or "".
// The message about the last turn does not count.
func (c Call) User() string {
	text := ""
	for _, m := range c.decode().Messages {
		if m.Role == backends.RoleUser && !strings.HasPrefix(m.Text(), "This is your FINAL turn.") {
			text = m.Text()
		}
	}
	return text
}

// ToolNames returns the names of the tools that were offered, in order.
func (c Call) ToolNames() []string {
	var names []string
	for _, t := range c.decode().Tools {
		names = append(names, t.Name)
	}
	return names
}

// Reply is what a server answers to a call, in no protocol's terms. The zero
// Reply is an empty message that ends well.
type Reply struct {
	Text      string
	Reasoning string
	// Signature is something that only the model can read and that has to come back
	// unchanged: of Claude's thinking block, or of Gemini's first call or empty last part.
	// OpenAI's protocol has no signature.
	Signature string
	// Hosted is what tools of the service did before the text; nil for nothing. OpenAI's chat
	// completions have no word for it.
	Hosted *Hosted
	// ToolCalls follow the text, in order. A call without an id is sent without one.
	ToolCalls []backends.ToolCall
	// Usage is sent if it is not nil.
	Usage *backends.Usage
	// Finish is the finish reason. Empty means the protocol's usual word for what
	// the reply holds.
	Finish string
	// Delay passes before the first byte.
	Delay time.Duration
	// Error, if it is not nil, is sent in place of everything above.
	Error *ReplyError
	// Fault breaks the reply.
	Fault Fault
	// Hold runs between the two halves of the stream, if it is not nil: the second half follows when it returns. Its
	// context ends when the client has gone. The halves part where a fault of the stream parts them. All protocols but
	// Gemini's know it, for a reply without reasoning.
	Hold func(ctx context.Context)
	// Raw, if it is not empty, is sent as the body of the stream, as it stands. A
	// fault of a stream then comes after it.
	Raw string
}

// ReplyError is an answer with an HTTP status other than 200.
type ReplyError struct {
	Status int
	// Code is the provider's word, as in "context_length_exceeded".
	Code    string
	Message string
	// Body, if it is not empty, is sent in place of the protocol's error object.
	Body   string
	Header http.Header
}

// Fault is a way in which a service breaks.
type Fault string

// The faults. A stream that is broken off in the middle has sent the first half
// of its text, or of its first tool call's arguments if there is no text.
const (
	// NoFault: the reply is sent whole.
	NoFault Fault = ""
	// CutStream ends the response in the middle of the stream as if it were
	// complete: no finish reason, no end mark, no error of the connection.
	CutStream Fault = "cut stream"
	// AbortStream drops the connection in the middle of the stream.
	AbortStream Fault = "abort stream"
	// ErrorInStream sends an error object in the middle of the stream.
	ErrorInStream Fault = "error in stream"
	// HangBefore sends nothing, until the client or the server closes.
	HangBefore Fault = "hang before first byte"
	// HangMidStream falls silent in the middle of the stream.
	HangMidStream Fault = "hang in mid-stream"
	// Reset resets the connection before the first byte.
	Reset Fault = "reset"
	// HTMLPage answers with a web page and status 200, as a captive portal does.
	HTMLPage Fault = "html page"
)
